//! Every recorded delivery of a real Gitea verifies and is parsed; the built-in forge's deliveries have the same outer shape.

use caisson::forge::event::{Wake, WakeKind};
use caisson::forge::gitea::parse::parse_delivery;
use caisson::forge::verify;
use caisson::secret::Secret;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The recording's secret, as in `tests/fixtures/README.md`.
const SECRET: &str = "sekret";

struct Recorded {
    name: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

fn recorded() -> Vec<Recorded> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/gitea-1.25.4");
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "json"));
    files.sort();
    let read = |file: &PathBuf| {
        let headers = std::fs::read_to_string(file.with_extension("headers")).unwrap();
        let headers = headers.lines().filter_map(|l| l.split_once(": ")).map(|(k, v)| (k.to_owned(), v.to_owned()));
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        Recorded { name, headers: headers.collect(), body: std::fs::read(file).unwrap() }
    };
    files.iter().map(read).collect()
}

#[test]
fn every_recorded_signature_verifies() {
    let all = recorded();
    assert_eq!(all.len(), 24);
    for one in all {
        let header = one.headers["X-Hub-Signature-256"].as_str();
        assert_eq!(
            verify(&[Secret::new("other"), Secret::new(SECRET)], Some(header), &one.body),
            Ok(()),
            "{}",
            one.name
        );
        assert!(verify(&[Secret::new("other")], Some(header), &one.body).is_err(), "{}", one.name);
        let mut changed = one.body.clone();
        changed.push(b' ');
        assert!(verify(&[Secret::new(SECRET)], Some(header), &changed).is_err(), "{}", one.name);
    }
}

#[test]
fn every_recorded_delivery_wakes_as_it_should() {
    let wanted: &[(&str, WakeKind, Option<u64>)] = &[
        ("create", WakeKind::Ignored, None),
        ("delete", WakeKind::Ignored, None),
        ("issue_assign-assigned", WakeKind::Issue, Some(3)),
        ("issue_assign-unassigned", WakeKind::Issue, Some(3)),
        ("issue_comment-created", WakeKind::Comment, Some(3)),
        ("issue_comment-deleted", WakeKind::Comment, Some(3)),
        ("issue_comment-edited", WakeKind::Comment, Some(3)),
        ("issue_label-label_cleared", WakeKind::Issue, Some(3)),
        ("issue_label-label_updated", WakeKind::Issue, Some(3)),
        ("issues-closed", WakeKind::Issue, Some(1)),
        ("issues-edited", WakeKind::Issue, Some(3)),
        ("issues-opened", WakeKind::Issue, Some(3)),
        ("issues-reopened", WakeKind::Issue, Some(3)),
        ("pull_request-closed", WakeKind::Pull, Some(2)),
        ("pull_request-edited", WakeKind::Pull, Some(2)),
        ("pull_request-opened", WakeKind::Pull, Some(2)),
        ("pull_request-reopened", WakeKind::Pull, Some(2)),
        ("pull_request_comment-created", WakeKind::Comment, Some(2)),
        ("pull_request_review_approved-reviewed", WakeKind::Review, Some(2)),
        ("pull_request_review_comment-reviewed", WakeKind::Review, Some(2)),
        ("pull_request_review_rejected-reviewed", WakeKind::Review, Some(2)),
        ("pull_request_sync-synchronized", WakeKind::Pull, Some(2)),
        ("push", WakeKind::Push, None),
        ("status", WakeKind::Ignored, None),
    ];
    let all = recorded();
    assert_eq!(all.iter().map(|r| r.name.as_str()).collect::<Vec<_>>(), wanted.iter().map(|w| w.0).collect::<Vec<_>>());
    for (one, (name, kind, number)) in all.iter().zip(wanted) {
        let wake = parse_delivery(&one.headers["X-Gitea-Event-Type"], &one.body);
        let value: serde_json::Value = serde_json::from_slice(&one.body).unwrap();
        let by = value["sender"]["id"].as_i64();
        assert!(by.is_some(), "{name} does not say whose doing it was");
        assert_eq!(wake, Ok(Wake { repo_id: 2, number: *number, kind: *kind, by }), "{name}");
    }
}

/// Headers aren't signed, so a body must not be accepted under another event type.
#[test]
fn a_recorded_body_under_another_type_is_refused_or_harmless() {
    for one in recorded() {
        for event_type in ["issues", "issue_comment", "pull_request", "pull_request_review_approved", "push"] {
            let Ok(wake) = parse_delivery(event_type, &one.body) else { continue };
            let value: serde_json::Value = serde_json::from_slice(&one.body).unwrap();
            let fits = match wake.kind {
                WakeKind::Issue => value["issue"].is_object(),
                WakeKind::Comment => value["comment"].is_object(),
                WakeKind::Review => value["review"].is_object(),
                WakeKind::Pull => value["pull_request"].is_object(),
                _ => value["after"].is_string(),
            };
            assert!(fits, "{} as {event_type}: {wake:?}", one.name);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_builtin_forge_posts_what_was_recorded() {
    use axum::{Router, body::Bytes, http::HeaderMap, routing::post};
    let (send, mut arrived) = tokio::sync::mpsc::unbounded_channel();
    let take = move |headers: HeaderMap, body: Bytes| {
        let _ = send.send((headers, body));
        async {}
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let serve = tokio::spawn(async move { axum::serve(listener, Router::new().fallback(post(take))).await });
    let forge = devforge::Devforge::start(devforge::Options::quiet()).await.unwrap();
    let alice = forge.add_person("alice", "pw").unwrap();
    forge.add_repository("alice/shop", true).await.unwrap();
    forge.add_hook("alice/shop", &url, SECRET).unwrap();
    let number = alice.open_issue("alice/shop", "t", "b").unwrap();
    let comment = alice.comment("alice/shop", number, "c").unwrap();
    alice.edit_comment("alice/shop", comment, "d").unwrap();
    alice.delete_comment("alice/shop", comment).unwrap();
    alice.assign("alice/shop", number, &["alice"]).unwrap();
    alice.assign("alice/shop", number, &[]).unwrap();
    alice.close("alice/shop", number).unwrap();
    let recorded: BTreeMap<String, Recorded> = recorded().into_iter().map(|r| (r.name.clone(), r)).collect();
    for name in [
        "issues-opened",
        "issue_comment-created",
        "issue_comment-edited",
        "issue_comment-deleted",
        "issue_assign-assigned",
        "issue_assign-unassigned",
        "issues-closed",
    ] {
        let (headers, body): (HeaderMap, Bytes) = arrived.recv().await.unwrap();
        let one = &recorded[name];
        let known: BTreeSet<String> = one.headers.keys().map(|k| k.to_lowercase()).collect();
        let given: BTreeSet<String> = headers.keys().map(|k| k.as_str().to_owned()).collect();
        assert_eq!(known.difference(&given).collect::<Vec<_>>(), Vec::<&String>::new(), "{name}");
        assert_eq!(headers["X-Gitea-Event-Type"].to_str().unwrap(), one.headers["X-Gitea-Event-Type"], "{name}");
        let keys = |bytes: &[u8], at: &str| -> BTreeSet<String> {
            let value: serde_json::Value = serde_json::from_slice(bytes).unwrap();
            let object = if at.is_empty() { &value } else { &value[at] };
            object.as_object().map(|o| o.keys().cloned().collect()).unwrap_or_default()
        };
        for at in ["", "issue", "comment", "sender"] {
            assert_eq!(keys(&body, at), keys(&one.body, at), "{name} {at}");
        }
    }
    serve.abort();
}
