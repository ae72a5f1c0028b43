//! Assignments and labels of an issue: who did what, in one order with comments.

use crate::support::forges::Lab;
use caisson::forge::{Changed, ForgeReads, ForgeWrites, IssueEdit};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The fields of a timeline entry in Gitea 1.25.4.
const FIELDS: [&str; 29] = [
    "assignee",
    "assignee_team",
    "body",
    "created_at",
    "dependent_issue",
    "html_url",
    "id",
    "issue_url",
    "label",
    "milestone",
    "new_ref",
    "new_title",
    "old_milestone",
    "old_project_id",
    "old_ref",
    "old_title",
    "project_id",
    "pull_request_url",
    "ref_action",
    "ref_comment",
    "ref_commit_sha",
    "ref_issue",
    "removed_assignee",
    "resolve_doer",
    "review_id",
    "tracked_time",
    "type",
    "updated_at",
    "user",
];

/// Each change as its author and what it did.
async fn told(lab: &Lab, repo: &caisson::forge::RepoRef, number: u64) -> Vec<String> {
    let changes = lab.bot.changes(repo, number).await.unwrap();
    assert!(changes.is_sorted_by_key(|change| change.id));
    let sign = |added: bool| if added { '+' } else { '-' };
    let one = |change: &caisson::forge::Change| match &change.what {
        Changed::Assignee { account, added } => format!("{} {}@{}", change.by.login, sign(*added), account.login),
        Changed::Label { name, added } => format!("{} {}{name}", change.by.login, sign(*added)),
    };
    changes.iter().map(one).collect()
}

pub async fn assignments_and_labels_are_told_with_who_did_them(lab: Arc<Lab>) {
    let place = lab.place("signs").await;
    let repo = &place.repo;
    let (alice, bob) = (lab.hand("alice"), lab.hand("bob"));
    lab.bot.ensure_label(repo, "agent", "#00aabb", "").await.unwrap();
    let number = bob.open_issue(repo, "t", "b").await;
    let issue = format!("/repos/{repo}/issues/{number}");
    assert!(told(&lab, repo, number).await.is_empty());
    let before = lab.bot.issue(repo, number).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1100)).await;
    // A refused request does not always get an error, but it changes nothing.
    let (status, said) = bob.call("PATCH", &issue, json!({ "assignees": ["caisson"] })).await;
    assert_eq!((status, &said["assignees"]), (201, &Value::Null));
    assert_eq!(bob.call("POST", &format!("{issue}/labels"), json!({ "labels": ["agent"] })).await.0, 403);
    assert_eq!(alice.call("PATCH", &issue, json!({ "assignees": ["nobody-here"] })).await.0, 500);
    for _ in 0..2 {
        let (status, said) = alice.call("PATCH", &issue, json!({ "assignees": ["caisson"] })).await;
        assert_eq!((status, said["assignee"]["login"].as_str()), (201, Some("caisson")));
        assert_eq!(said["assignees"].as_array().map(Vec::len), Some(1));
    }
    assert!(lab.bot.issue(repo, number).await.unwrap().updated_at > before.updated_at, "a round of reading finds it");
    let comment = lab.as_account("alice").post_comment(repo, number, "please").await.unwrap();
    let (status, labels) = alice.call("POST", &format!("{issue}/labels"), json!({ "labels": ["agent"] })).await;
    assert_eq!(status, 200, "{labels}");
    for _ in 0..2 {
        let path = format!("{issue}/labels/{}", labels[0]["id"]);
        assert_eq!(alice.call("DELETE", &path, json!({})).await.0, 204);
    }
    assert_eq!(alice.call("PATCH", &issue, json!({ "assignees": ["alice"] })).await.0, 201);
    let wanted = ["alice +@caisson", "alice +agent", "alice -agent", "alice -@caisson", "alice +@alice"];
    assert_eq!(told(&lab, repo, number).await, wanted);
    let changes = lab.bot.changes(repo, number).await.unwrap();
    assert!(changes[0].id < comment.id && comment.id < changes[1].id, "one sequence");
    assert!(changes.iter().all(|change| change.at > before.updated_at && change.by.id > 0));
    let (_, entries) = lab.hand("caisson").call("GET", &format!("{issue}/timeline"), json!({})).await;
    for entry in entries.as_array().unwrap().iter().filter(|entry| entry["type"] != "comment") {
        let fields: BTreeSet<&str> = entry.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(fields, BTreeSet::from(FIELDS), "{entry}");
    }
}

pub async fn an_issue_that_is_opened_with_them_has_them_in_its_timeline(lab: Arc<Lab>) {
    let place = lab.place("opened-with").await;
    let repo = &place.repo;
    lab.bot.ensure_label(repo, "agent", "#00aabb", "").await.unwrap();
    let (_, labels) = lab.hand("alice").call("GET", &format!("/repos/{repo}/labels"), json!({})).await;
    let found = labels.as_array().unwrap().iter().find(|label| label["name"] == "agent");
    let new = json!({ "title": "t", "body": "b", "assignees": ["caisson"], "labels": [found.unwrap()["id"]] });
    for (login, wanted) in [("alice", &["alice +@caisson", "alice +agent"][..]), ("bob", &[])] {
        let (status, made) = lab.hand(login).call("POST", &format!("/repos/{repo}/issues"), new.clone()).await;
        assert_eq!(status, 201, "{made}");
        let mut found = told(&lab, repo, made["number"].as_u64().unwrap()).await;
        found.sort();
        assert_eq!(found, wanted, "{login}");
    }
}

/// An edit of the issue's text shows only in `updated_at`, which has whole seconds and moves with every later change; so the text is known
/// to be unedited only if a writer opened the issue.
pub async fn an_edit_after_an_assignment_is_told_apart_from_one_before(lab: Arc<Lab>) {
    let place = lab.place("edited-after").await;
    let repo = &place.repo;
    let (alice, bob) = (lab.hand("alice"), lab.hand("bob"));
    let mut numbers = Vec::new();
    for (who, title) in [(&bob, "left"), (&bob, "before"), (&bob, "edited"), (&bob, "retitled"), (&bob, "talked about")]
    {
        numbers.push(who.open_issue(repo, title, "b").await);
    }
    numbers.push(alice.open_issue(repo, "talked about", "b").await);
    let edit = async |number: u64, body: Value| {
        assert_eq!(bob.call("PATCH", &format!("/repos/{repo}/issues/{number}"), body).await.0, 201);
    };
    edit(numbers[1], json!({ "title": "earlier", "body": "more" })).await;
    tokio::time::sleep(Duration::from_millis(2100)).await;
    for number in &numbers {
        let body = json!({ "assignees": ["caisson"] });
        assert_eq!(alice.call("PATCH", &format!("/repos/{repo}/issues/{number}"), body).await.0, 201);
    }
    tokio::time::sleep(Duration::from_millis(2100)).await;
    edit(numbers[2], json!({ "body": "more" })).await;
    edit(numbers[3], json!({ "title": "another" })).await;
    for number in &numbers[4..] {
        lab.as_account("bob").post_comment(repo, *number, "me too").await.unwrap();
    }
    for (number, wanted) in numbers.iter().zip([false, false, false, false, false, true]) {
        let change = lab.bot.changes(repo, *number).await.unwrap().remove(0);
        let issue = lab.bot.issue(repo, *number).await.unwrap();
        assert_eq!(lab.bot.untouched_since(repo, &issue, change.id).await.unwrap(), wanted, "{}", issue.title);
    }
    let issue = lab.bot.issue(repo, numbers[0]).await.unwrap();
    assert!(!lab.bot.untouched_since(repo, &issue, 999_999).await.unwrap(), "an entry that is not there");
}

/// A commit's message closes in the name of whoever pushes it, whoever wrote it.
pub async fn an_issue_that_a_commit_closes_is_closed_by_whoever_pushed_it(lab: Arc<Lab>) {
    let place = lab.place("closing").await;
    let (repo, alice) = (&place.repo, lab.hand("alice"));
    let number = alice.open_issue(repo, "one", "text").await;
    assert_eq!(lab.bot.closed_by(repo, number).await.unwrap(), None);
    lab.commit_on_main(&place, &format!("Mend it\n\nFixes #{number}"));
    lab.push(&place, "caisson-sync", "main").unwrap();
    let end = Instant::now() + Duration::from_secs(300);
    while lab.bot.issue(repo, number).await.unwrap().open {
        assert!(Instant::now() < end, "it stays open");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let by = async || lab.bot.closed_by(repo, number).await.unwrap().map(|account| account.login);
    assert_eq!(by().await.as_deref(), Some("caisson-sync"));
    let open = IssueEdit { open: Some(true), ..IssueEdit::default() };
    lab.bot.edit_issue(repo, number, &open).await.unwrap();
    assert!(lab.bot.issue(repo, number).await.unwrap().open);
    alice.set_open(repo, number, false).await;
    assert_eq!(by().await.as_deref(), Some("alice"));
}
