//! Labels, statuses, branches, and other readers of a push.

use crate::support::forges::Lab;
use caisson::forge::{ForgeError, ForgeReads, ForgeWrites, NewStatus, StatusState};
use serde_json::json;
use std::sync::Arc;

pub async fn an_exclusive_label_takes_the_others_place(lab: Arc<Lab>) {
    let place = lab.place("labels").await;
    let repo = &place.repo;
    let number = lab.hand("alice").open_issue(repo, "t", "b").await;
    for (name, color) in [("caisson/running", "#1d76db"), ("caisson/review", "#fbca04"), ("bug", "#ee0701")] {
        lab.bot.ensure_label(repo, name, color, "made by a test").await.unwrap();
        lab.bot.ensure_label(repo, name, color, "made by a test").await.unwrap();
    }
    lab.bot.add_label(repo, number, "bug").await.unwrap();
    lab.bot.add_label(repo, number, "caisson/running").await.unwrap();
    lab.bot.add_label(repo, number, "caisson/review").await.unwrap();
    let mut labels = lab.bot.labels(repo, number).await.unwrap();
    labels.sort();
    assert_eq!(labels, ["bug", "caisson/review"]);
    lab.bot.remove_label(repo, number, "bug").await.unwrap();
    lab.bot.remove_label(repo, number, "bug").await.unwrap();
    assert_eq!(lab.bot.labels(repo, number).await.unwrap(), ["caisson/review"]);
}

pub async fn an_unknown_label_is_not_found(lab: Arc<Lab>) {
    let place = lab.place("nolabel").await;
    let number = lab.hand("alice").open_issue(&place.repo, "t", "b").await;
    let missing = lab.bot.add_label(&place.repo, number, "caisson/none").await.unwrap_err();
    assert!(matches!(missing, ForgeError::NotFound(_)), "{missing:?}");
    assert!(lab.bot.labels(&place.repo, number).await.unwrap().is_empty());
    // A label of the organisation serves as well as one of the repository.
    let body = json!({ "name": "org/one", "color": "#00aabb", "exclusive": true });
    let (status, said) = lab.hand("caisson").call("POST", "/orgs/lab/labels", body).await;
    assert_eq!(status, 201, "{said}");
    lab.bot.add_label(&place.repo, number, "org/one").await.unwrap();
    assert_eq!(lab.bot.labels(&place.repo, number).await.unwrap(), ["org/one"]);
}

fn status(context: &str, state: StatusState) -> NewStatus {
    NewStatus {
        context: context.into(),
        state,
        description: "by a test".into(),
        target_url: "http://127.0.0.1/x".into(),
    }
}

pub async fn the_newest_status_of_a_context_counts(lab: Arc<Lab>) {
    let place = lab.place("statuses").await;
    let repo = &place.repo;
    assert!(lab.bot.statuses(repo, &place.main).await.unwrap().is_empty());
    for (context, state) in [
        ("caisson/verify", StatusState::Pending),
        ("other", StatusState::Skipped),
        ("caisson/verify", StatusState::Success),
    ] {
        lab.bot.post_status(repo, &place.main, &status(context, state)).await.unwrap();
    }
    let mut found = lab.bot.statuses(repo, &place.main).await.unwrap();
    found.sort_by(|a, b| a.context.cmp(&b.context));
    assert_eq!(found, [status("caisson/verify", StatusState::Success), status("other", StatusState::Skipped)]);
    let unknown = lab.bot.post_status(repo, &"1".repeat(40), &status("x", StatusState::Success)).await;
    assert!(unknown.is_err());
    let short = lab.bot.statuses(repo, "main").await.unwrap_err();
    assert!(matches!(short, ForgeError::Invalid(_)), "{short:?}");
}

/// A CI that never ran: its pages lead nowhere, whatever status names them.
pub async fn a_page_that_is_no_jobs_has_no_log(lab: Arc<Lab>) {
    let place = lab.place("jobs").await;
    let repo = &place.repo;
    for page in [
        format!("http://127.0.0.1:9/{repo}/actions/runs/1/jobs/0"),
        format!("/{repo}/actions/runs/1/jobs/0"),
        "https://ci.example.com/1".to_owned(),
    ] {
        assert_eq!(lab.bot.job_log(repo, &place.main, &page, 1000).await.unwrap(), None, "{page}");
    }
}

pub async fn a_branch_has_a_tip(lab: Arc<Lab>) {
    let place = lab.place("tips").await;
    let tip = lab.branch(&place, "agent/1-a.b_c", &[("f", "f\n")]);
    assert_eq!(lab.bot.branch(&place.repo, "agent/1-a.b_c").await.unwrap(), Some(tip));
    assert_eq!(lab.bot.branch(&place.repo, "main").await.unwrap(), Some(place.main.clone()));
    assert_eq!(lab.bot.branch(&place.repo, "agent/none").await.unwrap(), None);
}

/// The address of the repository's own hook.
const OURS: &str = "http://127.0.0.1:9/webhooks/gitea/foreign";

pub async fn whatever_else_reads_a_push_is_named(lab: Arc<Lab>) {
    let place = lab.place("foreign").await;
    let repo = &place.repo;
    assert_eq!(lab.bot.foreign(repo, OURS).await.unwrap(), Vec::<String>::new());
    let hook = json!({ "type": "gitea", "active": true, "events": ["push"], "config": { "url": "http://127.0.0.1:9/ci/s3cret?token=s3cret", "content_type": "json" } });
    assert_eq!(lab.hand("root").call("POST", &format!("/repos/{repo}/hooks"), hook).await.0, 201);
    let ours = json!({ "type": "gitea", "active": true, "events": ["push"], "config": { "url": OURS, "content_type": "json" } });
    assert_eq!(lab.hand("root").call("POST", &format!("/repos/{repo}/hooks"), ours).await.0, 201);
    let key = json!({ "title": "ci key", "read_only": true, "key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBJdFCtfUFbPGnTHRtHSMHhOMVd4v7kbyFqdiVdCE2nV ci" });
    let (status, said) = lab.hand("root").call("POST", &format!("/repos/{repo}/keys"), key).await;
    assert_eq!(status, 201, "{said}");
    assert_eq!(lab.hand("root").call("PATCH", &format!("/repos/{repo}"), json!({ "has_actions": true })).await.0, 200);
    let found = lab.bot.foreign(repo, OURS).await.unwrap();
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found[0], "actions");
    assert!(found[1].starts_with("hook ") && found[1].contains(" to 127.0.0.1 ("), "{found:?}");
    assert!(found[2].starts_with("deploy key ") && found[2].contains("ci key"), "{found:?}");
    let hook = json!({ "type": "gitea", "active": true, "events": ["push"], "config": { "url": "http://127.0.0.1:9/all/s3cret", "content_type": "json" } });
    let (status, made) = lab.hand("root").call("POST", "/orgs/lab/hooks", hook).await;
    assert_eq!(status, 201, "{made}");
    let found = lab.bot.foreign(repo, OURS).await.unwrap();
    assert!(
        found.iter().any(|name| name.starts_with("organisation hook ") && name.contains(" to 127.0.0.1 (")),
        "{found:?}"
    );
    assert!(!found.concat().contains("s3cret"), "an address is a secret: {found:?}");
    let gone = lab.hand("root").call("DELETE", &format!("/orgs/lab/hooks/{}", made["id"]), json!({})).await.0;
    assert_eq!(gone, 204);
    let refused = lab.as_account("alice").foreign(repo, OURS).await.unwrap_err();
    assert!(matches!(refused, ForgeError::Forbidden(_)), "{refused:?}");
}

/// Hooks of a person's account get the pushes of all of that person's repositories, and nobody else is shown them.
pub async fn the_hooks_of_a_persons_account_are_named_where_they_are_not_shown(lab: Arc<Lab>) {
    let place = lab.place("persons").await;
    let theirs = lab.fork(&place, "alice").await.repo;
    let path = format!("/repos/{theirs}/collaborators/caisson");
    let (status, said) = lab.hand("alice").call("PUT", &path, json!({ "permission": "admin" })).await;
    assert_eq!(status, 204, "{said}");
    let found = lab.bot.foreign(&theirs, OURS).await.unwrap();
    assert!(found.iter().any(|name| name == "account hooks of alice: not shown to the bot"), "{found:?}");
    let own = lab.fork(&place, "caisson").await.repo;
    let found = lab.bot.foreign(&own, OURS).await.unwrap();
    assert!(!found.iter().any(|name| name.contains("hooks of")), "{found:?}");
}
