//! Signed deliveries with Gitea's headers and habits: one try each, in order, possibly lost, late or doubled (see `traps`). Owns the queue
//! and the outer form of payloads; must not change the world.

use crate::plans::Route;
use crate::posting::{Counted, Posting};
use crate::traps::Switches;
use crate::world::{Hook, Issue, Repo, World};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;

/// Gitea's `DELIVER_TIMEOUT`.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The two names of an event, `X-Gitea-Event` (coarse) and `X-Gitea-Event-Type`, which differ irregularly.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HookKind(pub &'static str, pub &'static str);

pub(crate) const ISSUES: HookKind = HookKind("issues", "issues");
pub(crate) const ISSUE_LABEL: HookKind = HookKind("issues", "issue_label");
pub(crate) const ISSUE_ASSIGN: HookKind = HookKind("issues", "issue_assign");
pub(crate) const ISSUE_COMMENT: HookKind = HookKind("issue_comment", "issue_comment");
pub(crate) const PULL_COMMENT: HookKind = HookKind("issue_comment", "pull_request_comment");
pub(crate) const PULL: HookKind = HookKind("pull_request", "pull_request");
pub(crate) const PULL_SYNC: HookKind = HookKind("pull_request", "pull_request_sync");
pub(crate) const PULL_LABEL: HookKind = HookKind("pull_request", "pull_request_label");
pub(crate) const PULL_ASSIGN: HookKind = HookKind("pull_request", "pull_request_assign");
pub(crate) const REVIEW_REQUEST: HookKind = HookKind("pull_request", "pull_request_review_request");
pub(crate) const APPROVED: HookKind = HookKind("pull_request_approved", "pull_request_review_approved");
pub(crate) const REJECTED: HookKind = HookKind("pull_request_rejected", "pull_request_review_rejected");
pub(crate) const REVIEW_COMMENT: HookKind = HookKind("pull_request_comment", "pull_request_review_comment");
pub(crate) const PUSH: HookKind = HookKind("push", "push");
pub(crate) const CREATE: HookKind = HookKind("create", "create");
pub(crate) const DELETE: HookKind = HookKind("delete", "delete");
pub(crate) const STATUS: HookKind = HookKind("status", "status");

/// Whether a hook's list of events covers an event type, including the wide names that Gitea accepts.
fn covers(events: &[String], event_type: &str) -> bool {
    let is = |name: &str| events.iter().any(|e| e == name);
    match event_type {
        "issues" => is("issues") || is("issues_only"),
        other if other.starts_with("issue_") => is("issues") || is(other),
        "pull_request" => is("pull_request") || is("pull_request_only"),
        "pull_request_review_approved" | "pull_request_review_rejected" | "pull_request_review_comment" => {
            is("pull_request") || is("pull_request_review")
        }
        other if other.starts_with("pull_request") => is("pull_request") || is(other),
        other => is(other),
    }
}

impl World {
    fn emit(&self, at: usize, kind: HookKind, actor: i64, mut body: Map<String, Value>) {
        let repo = &self.repos[at];
        body.insert("repository".into(), self.repo_json(repo, Some(self.login_of(actor))));
        body.insert("sender".into(), self.user_json(actor));
        for hook in repo.hooks.iter().filter(|h| h.active && covers(&h.events, kind.1)) {
            self.post(hook, kind, &body);
        }
    }

    fn post(&self, hook: &Hook, HookKind(event, event_type): HookKind, body: &Map<String, Value>) {
        let body = serde_json::to_string_pretty(body).unwrap_or_default();
        let counted = Some(Counted::new(&self.underway));
        let (url, secret) = (hook.url.clone(), hook.secret.clone());
        let posting = Posting { url, secret, event, event_type, body, counted };
        // The queue ends with the forge, and later deliveries are dropped.
        let _ = self.postings.send(posting);
    }

    pub fn emit_issue(&self, at: usize, number: u64, kind: HookKind, action: &str, actor: i64, changes: Option<Value>) {
        let repo = &self.repos[at];
        let Some(issue) = repo.issues.get(&number) else { return };
        let mut body = fields(json!({ "action": action, "number": number, "commit_id": "" }));
        changes.map(|c| body.insert("changes".into(), c));
        if issue.pull.is_some() {
            body.insert("pull_request".into(), self.pull_json(repo, issue, None));
            body.insert("requested_reviewer".into(), Value::Null);
            body.insert("review".into(), Value::Null);
        } else {
            body.insert("issue".into(), self.issue_json(repo, issue));
        }
        self.emit(at, kind, actor, body);
    }

    pub fn emit_comment(
        &self,
        at: usize,
        number: u64,
        comment: Value,
        action: &str,
        actor: i64,
        changes: Option<Value>,
    ) {
        let repo = &self.repos[at];
        let Some(issue) = repo.issues.get(&number) else { return };
        let is_pull = issue.pull.is_some();
        let mut body = fields(json!({ "action": action, "issue": self.issue_json(repo, issue), "comment": comment }));
        body.insert("is_pull".into(), is_pull.into());
        changes.map(|c| body.insert("changes".into(), c));
        if is_pull {
            body.insert("pull_request".into(), self.pull_json(repo, issue, None));
        }
        self.emit(at, if is_pull { PULL_COMMENT } else { ISSUE_COMMENT }, actor, body);
    }

    /// Delivery of a review, which names neither the review nor its commit, only its kind and text.
    pub fn emit_review(&self, at: usize, number: u64, kind: HookKind, content: &str, actor: i64) {
        let repo = &self.repos[at];
        let Some(issue) = repo.issues.get(&number) else { return };
        let body = fields(json!({
            "action": "reviewed", "number": number, "pull_request": self.pull_json(repo, issue, None), "commit_id": "",
            "requested_reviewer": self.user_json(actor), "review": { "type": kind.1, "content": content },
        }));
        self.emit(at, kind, actor, body);
    }

    pub fn emit_push(&self, at: usize, reference: &str, before: &str, after: &str, actor: i64) {
        let repo = &self.repos[at];
        self.emit(at, PUSH, actor, self.push_body(repo, reference, before, after, actor));
    }

    fn push_body(&self, repo: &Repo, reference: &str, before: &str, after: &str, actor: i64) -> Map<String, Value> {
        let compare = format!("{}/{}/{}/compare/{before}...{after}", self.base, repo.owner, repo.name);
        fields(json!({
            "ref": reference, "before": before, "after": after, "compare_url": compare, "commits": [], "total_commits": 1,
            "head_commit": null, "pusher": self.user_json(actor),
        }))
    }

    /// Delivery of `create` or `delete`, with the short name of the reference.
    pub fn emit_ref(&self, at: usize, kind: HookKind, reference: &str, sha: &str, actor: i64) {
        let (ref_type, short) = match reference.strip_prefix("refs/tags/") {
            Some(tag) => ("tag", tag),
            None => ("branch", reference.strip_prefix("refs/heads/").unwrap_or(reference)),
        };
        let body = match kind.0 {
            "create" => json!({ "sha": sha, "ref": short, "ref_type": ref_type }),
            _ => json!({ "ref": short, "ref_type": ref_type, "pusher_type": "user" }),
        };
        self.emit(at, kind, actor, fields(body));
    }

    pub fn emit_status(&self, at: usize, status: &crate::world::Status) {
        let body = json!({
            "commit": { "id": status.sha }, "context": status.context, "created_at": crate::json::time(status.created),
            "description": status.description, "id": status.id, "sha": status.sha, "state": status.state,
            "target_url": status.target_url, "updated_at": crate::json::time(status.created),
        });
        self.emit(at, STATUS, status.author, fields(body));
    }

    /// The forge's test delivery: a push from a commit to itself, to one hook.
    pub fn emit_test(&self, at: usize, hook: &Hook, actor: i64) {
        let repo = &self.repos[at];
        let tip =
            repo.refs.get(&format!("refs/heads/{}", repo.default_branch)).cloned().unwrap_or_else(|| "0".repeat(40));
        let mut body = self.push_body(repo, &format!("refs/heads/{}", repo.default_branch), &tip, &tip, actor);
        body.insert("repository".into(), self.repo_json(repo, None));
        body.insert("sender".into(), self.user_json(actor));
        self.post(hook, PUSH, &body);
    }
}

fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

pub(crate) fn changes(of: &Issue, title: Option<&str>, body: Option<&str>) -> Value {
    let mut changes = Map::new();
    title.filter(|t| *t != of.title).map(|_| changes.insert("title".into(), json!({ "from": of.title })));
    body.filter(|b| *b != of.body).map(|_| changes.insert("body".into(), json!({ "from": of.body })));
    Value::Object(changes)
}

/// Delivers until the forge ends. Answers are ignored, and nothing is retried, as in Gitea.
pub(crate) async fn deliver(mut queue: UnboundedReceiver<Posting>, switches: Arc<Switches>) {
    // The bot is on this machine.
    let Ok(http) = reqwest::Client::builder().no_proxy().timeout(TIMEOUT).build() else { return };
    let (mut count, mut held) = (0u32, Vec::new());
    loop {
        let mut posting = tokio::select! {
            biased;
            posting = queue.recv() => match posting {
                Some(posting) => posting,
                None => return,
            },
            () = switches.released.notified() => {
                for LateDelivery { posting, copies, .. } in held.drain(..) {
                    send_all(&http, &posting, copies).await;
                }
                continue;
            }
        };
        count = count.wrapping_add(1);
        let traps = switches.traps();
        let nth = |every: u32| every > 0 && count.is_multiple_of(every);
        if switches.take_lost_hook() || nth(traps.hook_lose_every) {
            tracing::debug!(event = posting.event_type, "delivery lost on purpose");
            continue;
        }
        tokio::time::sleep(traps.hook_delay).await;
        let Route { copies, behind } = switches.route(posting.event_type);
        match behind {
            0 => {
                send_all(&http, &posting, copies.saturating_mul(if nth(traps.hook_double_every) { 2 } else { 1 })).await
            }
            behind => {
                posting.counted = None;
                held.push(LateDelivery { posting, copies, behind });
                continue;
            }
        }
        held.iter_mut().for_each(|it| it.behind -= 1);
        for LateDelivery { posting, copies, .. } in held.extract_if(.., |it| it.behind == 0) {
            send_all(&http, &posting, copies).await;
        }
    }
}

/// A delivery that later ones overtake.
struct LateDelivery {
    posting: Posting,
    copies: u8,
    /// How many later ones are still to be sent before it.
    behind: u8,
}

async fn send_all(http: &reqwest::Client, posting: &Posting, copies: u8) {
    for _ in 0..copies {
        if let Err(e) = send(http, posting).await {
            tracing::debug!(event = posting.event_type, "delivery failed: {e}");
        }
    }
}

fn hex_mac<M: Mac + KeyInit>(secret: &str, body: &str) -> String {
    // An empty secret gives an empty signature, which a listener must refuse.
    if secret.is_empty() {
        return String::new();
    }
    <M as KeyInit>::new_from_slice(secret.as_bytes())
        .map(|mac| hex::encode(mac.chain_update(body.as_bytes()).finalize().into_bytes()))
        .unwrap_or_default()
}

async fn send(http: &reqwest::Client, posting: &Posting) -> reqwest::Result<()> {
    let uuid = uuid::Uuid::new_v4().to_string();
    let digest = hex_mac::<Hmac<sha2::Sha256>>(&posting.secret, &posting.body);
    let mut request = http.post(&posting.url).header("Content-Type", "application/json");
    for forge in ["Gitea", "Gogs", "GitHub"] {
        request = request
            .header(format!("X-{forge}-Delivery"), &uuid)
            .header(format!("X-{forge}-Event"), posting.event)
            .header(format!("X-{forge}-Event-Type"), posting.event_type);
    }
    for forge in ["Gitea", "GitHub"] {
        request = request.header(format!("X-{forge}-Hook-Installation-Target-Type"), "repository");
    }
    request = request.header("X-Gitea-Signature", &digest).header("X-Gogs-Signature", &digest);
    request = request.header("X-Hub-Signature-256", format!("sha256={digest}"));
    let old = hex_mac::<Hmac<sha1::Sha1>>(&posting.secret, &posting.body);
    request = request.header("X-Hub-Signature", format!("sha1={old}"));
    request.body(posting.body.clone()).send().await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::covers;

    #[test]
    fn wide_and_narrow_names_cover_what_gitea_says() {
        let wide = ["issues".to_owned(), "pull_request".to_owned()];
        let narrow = ["issues_only".to_owned(), "pull_request_only".to_owned()];
        for event in [
            "issues",
            "issue_comment",
            "issue_label",
            "issue_assign",
            "pull_request_comment",
            "pull_request_review_approved",
        ] {
            assert!(covers(&wide, event), "{event}");
        }
        assert!(covers(&narrow, "issues") && covers(&narrow, "pull_request"));
        assert!(!covers(&narrow, "issue_comment") && !covers(&narrow, "pull_request_review_approved"));
        assert!(covers(&["pull_request_review".to_owned()], "pull_request_review_rejected"));
    }
}
