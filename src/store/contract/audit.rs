//! What was decided about texts where no task is at work.

use super::*;
use domain::{Account, Source};

/// A comment with this number that gives a command.
pub(super) fn asked(repository: &str, comment: i64, command: &str) -> RequestText {
    RequestText {
        repository: repository.into(),
        key: format!("comment:{comment}#0"),
        number: 3,
        source: Source::Comment(comment),
        author: Account { id: 7, login: "alice".into() },
        command: command.into(),
    }
}

fn decided(asked: RequestText, outcome: AuditOutcome, detail: &str, now: i64) -> NewAudit {
    NewAudit { asked, outcome, detail: detail.into(), now }
}

/// What is kept of a repository, the oldest first.
async fn kept(store: &Store, repository: &str) -> Vec<String> {
    let rows = store.audit(repository, 99).await.expect("read");
    rows.iter().map(|row| format!("{} {} {} {}", row.source, row.command, row.outcome, row.detail)).collect()
}

pub async fn a_decision_is_kept_once_and_the_newest_are_shown(fresh: Fresh) {
    let store = fresh.open().await;
    assert!(store.audit("shop", 9).await.expect("read").is_empty());
    let refused = || decided(asked("shop", 1, "fix"), AuditOutcome::Refused, "no\0", 10);
    for new in [
        refused(),
        decided(asked("shop", 2, "test-pr"), AuditOutcome::TakenUp, "make test", 9),
        NewAudit { now: 11, ..refused() },
        decided(asked("shop", 1, "fix"), AuditOutcome::Refused, "another reason", 12),
        decided(asked("till", 1, "fix"), AuditOutcome::Refused, "no", 13),
    ] {
        store.note_decided(new).await.expect("stored");
    }
    let all = [
        "comment:1 fix refused no\u{fffd}",
        "comment:2 test-pr taken-up make test",
        "comment:1 fix refused another reason",
    ];
    assert_eq!(kept(&store, "shop").await, all);
    let newest = store.audit("shop", 1).await.expect("read");
    let expected = AuditRow {
        at: 12,
        number: 3,
        source: "comment:1".into(),
        account: 7,
        login: "alice".into(),
        command: "fix".into(),
        outcome: "refused".into(),
        detail: "another reason".into(),
    };
    assert_eq!(newest, [expected]);
    let json = serde_json::to_value(&newest[0]).expect("an object");
    assert_eq!(json["at_ms"], 12);
    assert_eq!(json["login"], "alice");
}

pub async fn another_hosts_decisions_are_not_kept(fresh: Fresh) {
    let store = fresh.open().await;
    let by_hand = fresh.by_hand().await;
    let sql = "INSERT INTO leases (repository, host, epoch, until) VALUES ('shop', 'two', 99, 0)";
    sqlx::query(sql).execute(&by_hand).await.expect("another host's");
    let refused = store.note_decided(decided(asked("shop", 1, "fix"), AuditOutcome::Refused, "no", 10)).await;
    assert!(matches!(refused, Err(StoreError::Elsewhere { .. })), "{refused:?}");
    assert!(store.audit("shop", 9).await.expect("read").is_empty());
}

pub async fn a_host_that_is_taken_back_is_kept_with_it(fresh: Fresh) {
    let store = fresh.open().await;
    let by_hand = fresh.by_hand().await;
    for host in ["a.test", "a.test:22", "b.test"] {
        let sql = "INSERT INTO grants (repository, host, by_id, by_login, source, at) VALUES ('shop', $1, 7, 'alice', 'comment:1', 1)";
        sqlx::query(sql).bind(host).execute(&by_hand).await.expect("allowed");
    }
    let hosts = vec!["a.test".to_owned(), "nobody.test".to_owned()];
    for now in [5, 6] {
        let (asked, input_key) = (asked("shop", 2, "deny"), "comment:2#0~taken".to_owned());
        let taken = store.take_back(TakeBack { asked, input_key, hosts: hosts.clone(), now }).await.expect("written");
        assert_eq!(taken, ["a.test", "a.test:22"]);
    }
    let all = ["comment:2 deny denied-host a.test", "comment:2 deny denied-host a.test:22"];
    assert_eq!(kept(&store, "shop").await, all, "once, and nothing of what was not allowed");
}

pub async fn a_task_that_began_is_kept_until_it_is_deleted(fresh: Fresh) {
    let store = fresh.open().await;
    let (one, two) = (created(&store, "opened:3").await, created(&store, "opened:4").await);
    let named = |id: domain::TaskId| format!("issue:3 fix began task {id}");
    assert_eq!(kept(&store, "shop").await, [named(one.id), named(two.id)]);
    feed(&store, &one, "closed", domain::Input::IssueClosed).await;
    assert_eq!(store.delete_task(one.id).await.expect("deleted"), Deleted::Gone { repository: "shop".into() });
    assert_eq!(kept(&store, "shop").await, [named(two.id)]);
}

pub async fn old_decisions_go_in_slices_with_ended_tasks(fresh: Fresh) {
    let store = fresh.open().await;
    for comment in 0..502 {
        let new = decided(asked("shop", comment, "fix"), AuditOutcome::Refused, "no", comment);
        store.note_decided(new).await.expect("stored");
    }
    assert!(!store.prune(Before { details: Some(5_000), deliveries: Some(5_000), tasks: None }).await.expect("pruned"));
    let before = Before { tasks: Some(501), ..Before::default() };
    let mut slices = 1;
    while store.prune(before).await.expect("pruned") {
        slices += 1;
    }
    assert_eq!((slices, kept(&store, "shop").await.len()), (2, 1), "that of this very time stays");
}
