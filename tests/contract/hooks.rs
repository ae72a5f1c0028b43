//! Deliveries as a listener gets them: signed, in the recorded shape, and naming what to read again.

use crate::pulls::open;
use crate::support::forges::Lab;
use axum::Router;
use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::routing::post;
use caisson::forge::event::WakeKind;
use caisson::forge::gitea::parse::parse_delivery;
use caisson::forge::{Forge, NewReview, verify};
use caisson::secret::Secret;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// What arrived: headers and raw body.
struct Listener {
    url: String,
    arrived: UnboundedReceiver<(HeaderMap, Bytes)>,
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
        Self { url, arrived, task }
    }

    /// Waits for a delivery of this type, verifying every one on the way; returns its wake.
    async fn wait(&mut self, secret: &Secret, event_type: &str) -> caisson::forge::event::Wake {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let (headers, body) = tokio::time::timeout(left, self.arrived.recv())
                .await
                .unwrap_or_else(|_| panic!("no {event_type}"))
                .unwrap();
            let of = |name: &str| headers.get(name).and_then(|v| v.to_str().ok());
            verify(std::slice::from_ref(secret), of("X-Hub-Signature-256"), &body).expect("a good signature");
            assert_eq!(of("X-Gitea-Delivery").map(str::len), Some(36));
            assert_eq!(of("Content-Type"), Some("application/json"));
            let wake = parse_delivery(of("X-Gitea-Event-Type").unwrap(), &body).expect("a known shape");
            if of("X-Gitea-Event-Type") == Some(event_type) {
                return wake;
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
    let test = listener.wait(&secret, "push").await;
    assert_eq!((test.kind, test.repo_id), (WakeKind::Test, id));
    let number = lab.hand("alice").open_issue(repo, "t", "/fix it").await;
    let opened = listener.wait(&secret, "issues").await;
    assert_eq!((opened.kind, opened.number, opened.repo_id), (WakeKind::Issue, Some(number), id));
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
