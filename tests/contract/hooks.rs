//! Deliveries as a listener receives them: signed, in the recorded shape, and identifying what to read again.

use crate::pulls::open;
use crate::support::forges::Lab;
use axum::Router;
use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::routing::post;
use caisson::forge::event::WakeKind;
use caisson::forge::gitea::parse::{Act, delivered_issue, delivered_text, parse_delivery, subject};
use caisson::forge::{ForgeReads, ForgeWrites, NewReview, verify};
use caisson::secret::Secret;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Received deliveries: headers and raw body.
struct Listener {
    url: String,
    arrived: UnboundedReceiver<(HeaderMap, Bytes)>,
    last: Bytes,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Listener {
    async fn start() -> Self {
        let (send, arrived) = unbounded_channel();
        let take = move |headers: HeaderMap, body: Bytes| {
            let _ = send.send((headers, body));
            async { axum::http::StatusCode::ACCEPTED }
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/webhooks/gitea/shop", listener.local_addr().unwrap());
        let task =
            tokio::spawn(async move { axum::serve(listener, Router::new().fallback(post(take))).await.unwrap() });
        Self { url, arrived, last: Bytes::new(), task }
    }

    /// Waits for a delivery of this type and returns its wake; verifies every delivery on the way.
    async fn wait(&mut self, secret: &Secret, event_type: &str) -> caisson::forge::event::Wake {
        let body = self.body(secret, event_type).await;
        parse_delivery(event_type, &body).expect("a known shape")
    }

    async fn body(&mut self, secret: &Secret, event_type: &str) -> Bytes {
        let end = Instant::now() + Duration::from_secs(300);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let (headers, body) = tokio::time::timeout(left, self.arrived.recv())
                .await
                .unwrap_or_else(|_| panic!("no {event_type}"))
                .unwrap();
            // The built-in forge sends some deliveries twice.
            if std::mem::replace(&mut self.last, body.clone()) == body {
                continue;
            }
            let of = |name: &str| headers.get(name).and_then(|v| v.to_str().ok());
            verify(std::slice::from_ref(secret), of("X-Hub-Signature-256"), &body).expect("a good signature");
            assert_eq!(of("X-Gitea-Delivery").map(str::len), Some(36));
            assert_eq!(of("Content-Type"), Some("application/json"));
            parse_delivery(of("X-Gitea-Event-Type").unwrap(), &body).expect("a known shape");
            if of("X-Gitea-Event-Type") == Some(event_type) {
                return body;
            }
        }
    }
}

pub async fn deliveries_are_signed_and_wake(lab: Arc<Lab>) {
    let place = lab.place("hooked").await;
    let repo = &place.repo;
    let id = lab.bot.repository(repo).await.unwrap().id;
    let secret = Secret::random().unwrap();
    let mut listener = Listener::start().await;
    let hook = lab.bot.replace_hook(repo, &listener.url, &secret).await.unwrap();
    lab.bot.test_hook(repo, hook.id).await.unwrap();
    let mut test = listener.wait(&secret, "push").await;
    if test.kind == WakeKind::Push {
        // A busy forge tells of the repository's first commit only now.
        test = listener.wait(&secret, "push").await;
    }
    assert_eq!((test.kind, test.repo_id), (WakeKind::Test, id));
    let number = lab.hand("alice").open_issue(repo, "t", "/fix it").await;
    let opened = listener.wait(&secret, "issues").await;
    assert_eq!((opened.kind, opened.number, opened.repo_id), (WakeKind::Issue, Some(number), id));
    let assigned = json!({ "assignees": ["caisson"] });
    assert_eq!(lab.hand("alice").call("PATCH", &format!("/repos/{repo}/issues/{number}"), assigned).await.0, 201);
    let body = listener.body(&secret, "issue_assign").await;
    let (wake, told) = (parse_delivery("issue_assign", &body).unwrap(), delivered_issue(&body).unwrap());
    assert_eq!((wake.kind, wake.number), (WakeKind::Issue, Some(number)));
    assert_eq!((told.edited, told.title.as_str(), told.body.as_str()), (false, "t", "/fix it"));
    // An assignment's time is that of its timeline entry.
    let change = lab.bot.changes(repo, number).await.unwrap().remove(0);
    assert!((0..=1000).contains(&(told.at - change.at)), "{} {}", told.at, change.at);
    lab.as_account("alice").post_comment(repo, number, "/status").await.unwrap();
    assert_eq!(listener.wait(&secret, "issue_comment").await.number, Some(number));
    let head = lab.branch(&place, "agent/1-h", &[("h.txt", "h\n")]);
    assert_eq!(listener.wait(&secret, "push").await.kind, WakeKind::Push);
    let pull = open(&lab, &place, "agent/1-h", "WIP: h").await.number;
    assert_eq!(listener.wait(&secret, "pull_request").await.number, Some(pull));
    lab.as_account("alice").post_comment(repo, pull, "/approve").await.unwrap();
    assert_eq!(listener.wait(&secret, "pull_request_comment").await.kind, WakeKind::Comment);
    let review = NewReview { commit: head.clone(), body: "checkpoint".into(), notes: vec![] };
    lab.bot.post_review(repo, pull, &review).await.unwrap();
    assert_eq!(listener.wait(&secret, "pull_request_review_comment").await.kind, WakeKind::Review);
    lab.hand("alice").review(repo, pull, "REQUEST_CHANGES", &head, "no").await;
    assert_eq!(listener.wait(&secret, "pull_request_review_rejected").await.number, Some(pull));
    lab.hand("alice").review(repo, pull, "APPROVED", &head, "yes").await;
    let approved = listener.wait(&secret, "pull_request_review_approved").await;
    assert_eq!((approved.kind, approved.number), (WakeKind::Review, Some(pull)));
    lab.branch(&place, "agent/1-h", &[("h.txt", "h2\n")]);
    let moved = listener.wait(&secret, "pull_request_sync").await;
    assert_eq!((moved.kind, moved.number), (WakeKind::Pull, Some(pull)));
}

pub async fn an_old_hook_is_replaced(lab: Arc<Lab>) {
    let place = lab.place("rehooked").await;
    let secrets = [Secret::random().unwrap(), Secret::random().unwrap()];
    let mut listener = Listener::start().await;
    let first = lab.bot.replace_hook(&place.repo, &listener.url, &secrets[0]).await.unwrap();
    let second = lab.bot.replace_hook(&place.repo, &listener.url, &secrets[1]).await.unwrap();
    assert_ne!(first.id, second.id);
    let ids: Vec<i64> = lab.bot.hooks(&place.repo).await.unwrap().iter().map(|h| h.id).collect();
    assert_eq!(ids, [second.id]);
    let none = lab.bot.replace_hook(&place.repo, &listener.url, &Secret::new("")).await;
    assert!(none.is_err(), "a hook without a secret must be refused");
    lab.hand("alice").open_issue(&place.repo, "t", "b").await;
    listener.wait(&secrets[1], "issues").await;
}

/// Within one second the forge's times do not show an edit; its deliveries contain the original text, and then the edit.
pub async fn an_edit_within_a_second_shows_in_the_deliveries(lab: Arc<Lab>) {
    let place = lab.place("same-second").await;
    let repo = &place.repo;
    let secret = Secret::random().unwrap();
    let mut listener = Listener::start().await;
    lab.bot.replace_hook(repo, &listener.url, &secret).await.unwrap();
    let number = lab.hand("alice").open_issue(repo, "title", "as opened").await;
    let opened = listener.body(&secret, "issues").await;
    let issue = lab.bot.issue(repo, number).await.unwrap();
    assert_eq!(subject("issues", &opened).unwrap(), Some(format!("issue:{}", issue.id)));
    let said = delivered_text("issues", &opened).unwrap();
    assert_eq!((said.act, said.title.as_str(), said.body.as_str()), (Act::Posted, "title", "as opened"));
    let mut unseen = false;
    for _ in 0..20 {
        let comment = lab.as_account("alice").post_comment(repo, number, "as posted").await.unwrap();
        lab.as_account("caisson").edit_comment(repo, comment.id, "/approve").await.unwrap();
        let now = lab.bot.comment(repo, comment.id).await.unwrap().unwrap();
        assert_eq!(now.body, "/approve");
        for (act, words) in [(Act::Posted, "as posted"), (Act::Edited, "/approve")] {
            let body = listener.body(&secret, "issue_comment").await;
            assert_eq!(subject("issue_comment", &body).unwrap(), Some(format!("comment:{}", comment.id)));
            let said = delivered_text("issue_comment", &body).unwrap();
            assert_eq!((said.act, said.body.as_str()), (act, words));
        }
        if now.updated_at == now.created_at {
            unseen = true;
            break;
        }
    }
    assert!(unseen, "never within one second");
}

/// A file that is attached is delivered as an edit, which left the text as it was.
pub async fn a_file_is_delivered_as_an_edit_that_changes_nothing(lab: Arc<Lab>) {
    let place = lab.place("file-edits").await;
    let repo = &place.repo;
    let number = lab.hand("alice").open_issue(repo, "title", "as opened").await;
    let comment = lab.bot.post_comment(repo, number, "as posted").await.unwrap();
    let secret = Secret::random().unwrap();
    let mut listener = Listener::start().await;
    lab.bot.replace_hook(repo, &listener.url, &secret).await.unwrap();
    lab.bot.attach(repo, number, "a.md", b"x".to_vec()).await.unwrap();
    let body = listener.body(&secret, "issues").await;
    let said = delivered_text("issues", &body).unwrap();
    assert_eq!((said.act, said.title.as_str(), said.body.as_str()), (Act::Other, "title", "as opened"));
    assert!(!delivered_issue(&body).unwrap().edited);
    lab.bot.attach_to_comment(repo, comment.id, "a.log", b"x".to_vec()).await.unwrap();
    let said = delivered_text("issue_comment", &listener.body(&secret, "issue_comment").await).unwrap();
    assert_eq!((said.act, said.body.as_str()), (Act::Other, "as posted"));
}

/// A delivery about an edit in a review identifies it too: the review's text by its number, an inline comment by its id.
pub async fn an_edit_of_a_review_names_its_number(lab: Arc<Lab>) {
    let place = lab.place("review-edits").await;
    let repo = &place.repo;
    let head = lab.branch(&place, "agent/1-e", &[("calc.txt", "one\n2\nthree\n")]);
    let pull = open(&lab, &place, "agent/1-e", "WIP: e").await.number;
    lab.hand("alice").review_with_note(repo, pull, &head, "calc.txt", 2, "use a word").await;
    let review = lab.bot.reviews(repo, pull).await.unwrap().remove(0);
    let remark = lab.bot.review_comments(repo, pull, review.id).await.unwrap().remove(0);
    assert!(remark.created_at <= review.submitted_at && remark.updated_at <= review.submitted_at, "nobody edited it");
    let secret = Secret::random().unwrap();
    let mut listener = Listener::start().await;
    lab.bot.replace_hook(repo, &listener.url, &secret).await.unwrap();
    for id in [review.number, remark.id] {
        lab.as_account("caisson").edit_comment(repo, id, "as forged").await.unwrap();
        let body = listener.body(&secret, "pull_request_comment").await;
        assert_eq!(subject("pull_request_comment", &body).unwrap(), Some(format!("comment:{id}")));
        assert_eq!(delivered_text("pull_request_comment", &body).unwrap().act, Act::Edited);
    }
    assert_eq!(lab.bot.review_comments(repo, pull, review.id).await.unwrap()[0].body, "as forged");
}
