//! What becomes of inline comments after their review: resolved, deleted, dismissed.

use crate::people::gitea_minor;
use crate::pulls::open;
use crate::support::forges::{Lab, LabRepository};
use caisson::forge::gitea::admin::Admin;
use caisson::forge::{
    Access, ForgeReads as _, ForgeWrites as _, NewReview, Note, ReviewComment, ReviewState, own_remarks,
};
use caisson::secret::Secret;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A writer who can sign in on the page.
const PASSWORD: &str = "resolves-conversations-1";

/// A review by this account that requests changes, with an inline comment on each of these lines; returns its id.
async fn remarked(lab: &Lab, place: &LabRepository, pull: u64, login: &str, head: &str, lines: &[u64]) -> i64 {
    let note = |line: &u64| json!({ "path": "calc.txt", "body": format!("at {line}"), "new_position": line });
    let notes: Vec<Value> = lines.iter().map(note).collect();
    let body = json!({ "event": "REQUEST_CHANGES", "body": "not yet", "commit_id": head, "comments": notes });
    let path = format!("/repos/{}/pulls/{pull}/reviews", place.repo);
    let (status, made) = lab.hand(login).call("POST", &path, body).await;
    assert_eq!(status, 200, "{made}");
    made["id"].as_i64().expect("an id")
}

/// Resolves the conversation that begins with this comment, as the page does.
async fn resolve(lab: &Lab, place: &LabRepository, pull: u64, login: &str, comment: i64) {
    if let Some(forge) = lab.devforge() {
        return forge.as_person(login).resolve(&place.repo.to_string(), pull, comment).expect("resolved");
    }
    let mut page = signed_in(lab, login).await;
    let csrf = token(&page.get(&format!("{}/pulls/{pull}", place.repo)).await);
    let comment = comment.to_string();
    let form = [("origin", "timeline"), ("action", "Resolve"), ("comment_id", &comment), ("_csrf", csrf.as_str())];
    assert_eq!(page.post(&format!("{}/issues/resolve_conversation", place.repo), &form).await, 200);
}

/// Replies to the first comment of this review, as the page does.
async fn reply(lab: &Lab, place: &LabRepository, (pull, review): (u64, i64), (login, body): (&str, &str)) {
    if let Some(forge) = lab.devforge() {
        forge.as_person(login).reply(&place.repo.to_string(), pull, review, body).expect("said");
        return;
    }
    let mut page = signed_in(lab, login).await;
    let csrf = token(&page.get(&format!("{}/pulls/{pull}", place.repo)).await);
    let review = review.to_string();
    let form = [
        ("origin", "timeline"),
        ("side", "proposed"),
        ("line", "2"),
        ("path", "calc.txt"),
        ("reply", review.as_str()),
        ("single_review", "true"),
        ("content", body),
        ("_csrf", csrf.as_str()),
    ];
    assert_eq!(page.post(&format!("{}/pulls/{pull}/files/reviews/comments", place.repo), &form).await, 200);
}

async fn signed_in(lab: &Lab, login: &str) -> Page {
    let mut page = Page::new(lab);
    let csrf = token(&page.get("user/login").await);
    let form = [("user_name", login), ("password", PASSWORD), ("_csrf", csrf.as_str())];
    assert_eq!(page.post("user/login", &form).await, 303);
    page
}

/// Creates an account that can sign in, with write access.
async fn with_dora(lab: &Lab, place: &LabRepository) {
    let admin = Admin::new(&lab.url, lab.token("root"), "caisson-test").expect("a client");
    // Another case may have made it.
    let made = admin.create_account("dora", "dora@lab.test", &Secret::new(PASSWORD)).await;
    if let Err(error) = made {
        println!("dora: {error}");
    }
    lab.bot.ensure_collaborator(&place.repo, "dora", Access::Write).await.expect("a writer");
}

/// A browser of somebody who signs in: the forge has no API for what only its pages do.
struct Page {
    http: reqwest::Client,
    base: url::Url,
    cookies: BTreeMap<String, String>,
}

impl Page {
    fn new(lab: &Lab) -> Page {
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().expect("a client");
        Page { http, base: lab.url.clone(), cookies: BTreeMap::new() }
    }

    async fn send(&mut self, request: reqwest::RequestBuilder) -> reqwest::Response {
        let cookies: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let answer = request.header("Cookie", cookies.join("; ")).send().await.expect("an answer");
        for cookie in answer.headers().get_all("Set-Cookie").iter().filter_map(|it| it.to_str().ok()) {
            if let Some((name, value)) = cookie.split(';').next().and_then(|pair| pair.split_once('=')) {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    async fn get(&mut self, path: &str) -> String {
        let request = self.http.get(self.base.join(path).expect("an address"));
        self.send(request).await.text().await.expect("a page")
    }

    async fn post(&mut self, path: &str, form: &[(&str, &str)]) -> u16 {
        let request = self.http.post(self.base.join(path).expect("an address")).form(form);
        self.send(request).await.status().as_u16()
    }
}

/// The page's token against forged requests.
fn token(page: &str) -> String {
    let found = page.split_once("csrfToken: '").map(|(_, rest)| rest);
    found.and_then(|rest| rest.split('\'').next()).unwrap_or_default().to_owned()
}

pub async fn a_resolved_conversation_and_a_deleted_comment_show(lab: Arc<Lab>) {
    let place = lab.place("remarks").await;
    with_dora(&lab, &place).await;
    let head = lab.branch(&place, "agent/1-u", &[("calc.txt", "one\n2\nthree\nfour\n")]);
    let pull = open(&lab, &place, "agent/1-u", "WIP: u").await.number;
    let review = remarked(&lab, &place, pull, "alice", &head, &[2, 2, 4]).await;
    let read = async || lab.bot.review_comments(&place.repo, pull, review).await.expect("read");
    let seen = |all: &[ReviewComment]| all.iter().map(|it| (it.line, it.resolved)).collect::<Vec<_>>();
    let all = read().await;
    assert_eq!(seen(&all), [(Some(2), false), (Some(2), false), (Some(4), false)]);
    // The review has a higher number than what was submitted with it.
    let reviews = lab.bot.reviews(&place.repo, pull).await.expect("read");
    let whole = reviews.iter().find(|it| it.id == review).expect("listed");
    assert_eq!(own_remarks(whole, &all).len(), 3, "{whole:?} {all:?}");
    // Only the first comment of a conversation is marked.
    resolve(&lab, &place, pull, "dora", all[0].id).await;
    assert_eq!(seen(&read().await), [(Some(2), true), (Some(2), false), (Some(4), false)]);
    // A deleted comment is gone, the others of its review stay. Forgejo deletes one by its review, and answers Gitea's address for nothing.
    let gone = async |comment: &ReviewComment| {
        let hand = lab.hand("alice");
        let path = format!("/repos/{}/issues/comments/{}", place.repo, comment.id);
        assert_eq!(hand.call("DELETE", &path, json!(null)).await.0, 204);
        if read().await.iter().any(|it| it.id == comment.id) {
            let path = format!("/repos/{}/pulls/{pull}/reviews/{review}/comments/{}", place.repo, comment.id);
            let status = hand.call("DELETE", &path, json!(null)).await.0;
            // Gitea before 1.23 answers as Forgejo, and deletes none of a review by its API.
            if status == 405 && gitea_minor(&lab).await.is_some_and(|minor| minor < 23) {
                return false;
            }
            assert_eq!(status, 204);
        }
        true
    };
    if !gone(&all[2]).await {
        return;
    }
    assert_eq!(seen(&read().await), [(Some(2), true), (Some(2), false)]);
    for comment in &all[..2] {
        gone(comment).await;
    }
    // A review whose comments are all gone still stands.
    assert_eq!(seen(&read().await), []);
    let reviews = lab.bot.reviews(&place.repo, pull).await.expect("read");
    assert_eq!(reviews.iter().map(|it| (it.id, it.state)).collect::<Vec<_>>(), [(review, ReviewState::RequestChanges)]);
}

pub async fn a_later_verdict_dismisses_the_one_before(lab: Arc<Lab>) {
    let place = lab.place("replaced").await;
    let head = lab.branch(&place, "agent/1-v", &[("calc.txt", "one\n2\nthree\n")]);
    let pull = open(&lab, &place, "agent/1-v", "WIP: v").await.number;
    let first = remarked(&lab, &place, pull, "alice", &head, &[2]).await;
    let (second, third) = (
        remarked(&lab, &place, pull, "alice", &head, &[]).await,
        remarked(&lab, &place, pull, "alice", &head, &[2]).await,
    );
    // Nobody dismissed the first one, and its comment stands as before. One with inline comments leaves the one before it as it is.
    let reviews = lab.bot.reviews(&place.repo, pull).await.expect("read");
    let seen: Vec<_> = reviews.iter().map(|it| (it.id, it.state)).collect();
    let asks = ReviewState::RequestChanges;
    assert_eq!(seen, [(first, ReviewState::Dismissed), (second, asks), (third, asks)]);
    let notes = lab.bot.review_comments(&place.repo, pull, first).await.expect("read");
    assert_eq!(notes.iter().map(|it| (it.line, it.resolved)).collect::<Vec<_>>(), [(Some(2), false)]);
}

pub async fn a_reply_on_a_line_counts_under_its_review(lab: Arc<Lab>) {
    let place = lab.place("replies").await;
    with_dora(&lab, &place).await;
    let head = lab.branch(&place, "agent/1-w", &[("calc.txt", "one\n2\nthree\n")]);
    let pull = open(&lab, &place, "agent/1-w", "WIP: w").await;
    let number = pull.number;
    let note = Note { path: "calc.txt".to_owned(), line: 2, body: "mind this".to_owned() };
    let review = NewReview { commit: head, body: "A checkpoint.".to_owned(), notes: vec![note] };
    let review = lab.bot.post_review(&place.repo, number, &review).await.expect("posted").id;
    let count = async || {
        let reviews = lab.bot.reviews(&place.repo, number).await.expect("read");
        reviews.iter().map(|it| (it.id, it.comments)).collect::<Vec<_>>()
    };
    assert_eq!(count().await, [(review, 1)]);
    let before = lab.bot.pull(&place.repo, number).await.expect("read").updated_at;
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    reply(&lab, &place, (number, review), ("dora", "why so?")).await;
    // Neither another review nor a comment of the conversation: only the count tells.
    assert_eq!(count().await, [(review, 2)]);
    assert!(lab.bot.comments(&place.repo, number).await.expect("read").is_empty());
    let all = lab.bot.review_comments(&place.repo, number, review).await.expect("read");
    let seen: Vec<_> = all.iter().map(|it| (it.author.login.as_str(), it.body.as_str(), it.line)).collect();
    let me = lab.bot.whoami().await.expect("the bot").login;
    assert_eq!(seen, [(me.as_str(), "mind this", Some(2)), ("dora", "why so?", Some(2))]);
    assert!(all[1].id > all[0].id && all[1].created_at == all[1].updated_at, "{all:?}");
    let whole = lab.bot.reviews(&place.repo, number).await.expect("read").remove(0);
    assert_eq!(own_remarks(&whole, &all), [&all[0]]);
    assert!(whole.number > all[0].id && whole.number < all[1].id, "{whole:?} {all:?}");
    assert!(lab.bot.pull(&place.repo, number).await.expect("read").updated_at > before, "it is new since then");
}
