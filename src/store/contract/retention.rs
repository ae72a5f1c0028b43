//! What is deleted, and what is kept.

use super::*;
use domain::*;
use std::path::Path;

/// Number of rows of every table, by name.
pub(super) async fn rows(pool: &AnyPool) -> Vec<(&'static str, i64)> {
    let mut rows = Vec::new();
    for name in copy::TABLES {
        let sql = sqlx::AssertSqlSafe(format!("SELECT COUNT(*) FROM {name}"));
        rows.push((name, sqlx::query_scalar(sql).fetch_one(pool).await.expect("read")));
    }
    rows
}

async fn ended(store: &Store, id: TaskId, at: i64) {
    let task = store.task(id).await.expect("folded");
    feed_at(at, store, &task, &format!("issue-closed:{id}"), Input::IssueClosed).await;
}

pub async fn a_deleted_task_leaves_no_row_and_no_byte_and_begins_nothing_anew(fresh: Fresh) {
    let store = fresh.open().await;
    let pool = fresh.by_hand().await;
    let before = rows(&pool).await;
    let id = acting(&store).await;
    store.keep_egress(id, vec![(1, 1, "{}".to_owned())]).await.expect("kept");
    store.remember_post(id, "review:1", 5).await.expect("kept");
    store.keep_pack(id, &Commit::parse(&"1".repeat(40)).expect("an id"), b"pack".to_vec()).await.expect("kept");
    assert_eq!(store.delete_task(id).await.expect("asked"), Deleted::Live);
    assert_eq!(store.delete_task(TaskId(99)).await.expect("asked"), Deleted::Unknown);
    ended(&store, id, 400).await;
    // The request's body contains 6,000 times an x.
    let holds = |dir: &Path| {
        let files = ["caisson.db", "caisson.db-wal"].map(|name| std::fs::read(dir.join(name)).unwrap_or_default());
        files.iter().any(|bytes| bytes.windows(64).any(|window| window == [b'x'; 64]))
    };
    let file = fresh.directory.as_ref().map(|dir| dir.path());
    assert!(file.is_none_or(holds));
    assert_eq!(store.delete_task(id).await.expect("deleted"), Deleted::Gone { repository: "shop".into() });
    assert!(!file.is_some_and(holds), "what was deleted still stands in the store's files");
    let mut left = rows(&pool).await;
    left.retain(|row| !before.contains(row));
    // The id of the text that asked for it; the number that is not given again; the number of tasks of the issue.
    assert_eq!(left, [("floors", 1), ("inputs", 1), ("retired", 1)]);
    assert!(store.knows_input("opened:3").await.expect("read"));
    assert_eq!(store.tasks_of_issue("shop", 3).await.expect("read"), 1);
    assert_eq!(store.delete_task(id).await.expect("asked"), Deleted::Unknown);
    let next = created(&store, "opened:4").await;
    assert_eq!(next.id, TaskId(id.0 + 1), "its marks on the forge are nobody else's");
}

pub async fn a_body_that_another_task_has_too_stays(fresh: Fresh) {
    let store = fresh.open().await;
    let one = created(&store, "opened:3").await.id;
    ended(&store, one, 20).await;
    let two = created(&store, "again:3").await.id;
    let blobs = async || {
        sqlx::query_scalar::<_, i64>("SELECT COUNT(*) FROM blobs").fetch_one(&store.readers()).await.expect("read")
    };
    assert_eq!(blobs().await, 1);
    store.delete_task(one).await.expect("deleted");
    assert_eq!(store.task(two).await.expect("folded").request.expect("a request").body.len(), 6000);
    ended(&store, two, 20).await;
    store.delete_task(two).await.expect("deleted");
    assert_eq!(blobs().await, 0);
}

pub async fn what_is_old_goes_step_by_step_and_what_a_live_task_needs_stays(fresh: Fresh) {
    let store = fresh.open().await;
    let (gone, live) = (created(&store, "opened:3").await.id, created(&store, "opened:4").await.id);
    store.note_input("comment:70#0", 20).await.expect("noted");
    store.note_input("comment:90#0", 2000).await.expect("noted");
    store.note_input("change:50", 20).await.expect("noted");
    ended(&store, gone, 30).await;
    let all = async |before: Before| while store.prune(before).await.expect("pruned") {};
    let effects = async |id: TaskId| {
        let sql = "SELECT COUNT(*) FROM effects WHERE task = $1";
        sqlx::query_scalar::<_, i64>(sql).bind(id.0).fetch_one(&store.readers()).await.expect("read")
    };
    assert!(effects(gone).await > 0);
    all(Before { details: Some(30), ..Before::default() }).await;
    assert!(effects(gone).await > 0, "not old enough");
    all(Before { details: Some(31), ..Before::default() }).await;
    assert_eq!(effects(gone).await, 0);
    assert!(effects(live).await > 0);
    assert!(store.task(gone).await.expect("folded").request.is_some(), "its log stays");
    all(Before { tasks: Some(1000), ..Before::default() }).await;
    let known = async |key: &str| store.knows_input(key).await.expect("read");
    // Keys below the floor are deleted and still known; keys above it are new.
    let left: Vec<String> =
        sqlx::query_scalar("SELECT key FROM inputs ORDER BY key").fetch_all(&store.readers()).await.expect("read");
    assert_eq!(left, ["comment:90#0", "opened:4"]);
    assert!(known("comment:70#0").await && known("comment:69#1").await && known("opened:3").await);
    assert!(!known("comment:71#0").await && !known("review:1").await);
    assert!(known("change:50").await && known("change:49").await && !known("change:51").await);
    assert!(!store.note_input("comment:70#0", 3000).await.expect("asked"), "taken up once");
    let overdue = store.overdue_tasks(1000, 0).await.expect("read");
    assert_eq!(overdue, [(gone, "shop".to_owned())]);
}

pub async fn what_an_ended_task_was_asked_is_trimmed_as_well(fresh: Fresh) {
    let store = fresh.open().await;
    let id = created(&store, "opened:3").await.id;
    ended(&store, id, 30).await;
    let trimmed = async |at: i64| {
        while store.prune(Before { details: Some(at), ..Before::default() }).await.expect("pruned") {}
        let sql = "SELECT COUNT(*) FROM effects";
        sqlx::query_scalar::<_, i64>(sql).fetch_one(&store.readers()).await.expect("read")
    };
    assert_eq!(trimmed(31).await, 0);
    let task = store.task(id).await.expect("folded");
    let starting = Input::ReplyStarting { number: 9, call: 1, worst_micro_usd: 5 };
    feed_at(40, &store, &task, "reply:asks:1", starting).await;
    assert!(trimmed(40).await > 0, "not old enough");
    assert_eq!(trimmed(41).await, 0);
    // What leaves no event, as a question that cannot be paid, is no activity.
    let task = store.task(id).await.expect("folded");
    feed_at(50, &store, &task, "attached:1", Input::LogAttached).await;
    assert_eq!(store.task_row(id).await.expect("read").expect("there").updated_at, 40);
    assert!(trimmed(50).await > 0, "it is still to be done");
    assert_eq!(trimmed(51).await, 0);
}

pub async fn old_rows_of_many_tasks_go_at_once(fresh: Fresh) {
    let store = fresh.open().await;
    let mut tasks = Vec::new();
    for issue in 3..28 {
        tasks.push(created(&store, &format!("opened:{issue}")).await.id);
    }
    let (live, gone) = tasks.split_first().expect("tasks");
    for id in gone {
        ended(&store, *id, 30).await;
    }
    for n in 0..600 {
        store.note_input(&format!("{}:{n}#0", ["comment", "review", "place"][n % 3]), 20).await.expect("noted");
    }
    let before = Before { details: Some(31), tasks: Some(31), ..Before::default() };
    let mut slices = 1;
    while store.prune(before).await.expect("pruned") {
        slices += 1;
    }
    let count =
        async |sql: &'static str| sqlx::query_scalar::<_, i64>(sql).fetch_one(&store.readers()).await.expect("read");
    assert_eq!(slices, 2);
    assert_eq!(count("SELECT COUNT(*) FROM tasks WHERE trimmed").await, gone.len() as i64);
    assert_eq!(count("SELECT COUNT(DISTINCT task) FROM effects").await, 1, "of the live task {live}");
    assert_eq!(count("SELECT COUNT(*) FROM inputs").await, 1);
    assert_eq!(count("SELECT id FROM floors WHERE kind = 'comment'").await, 597);
    assert_eq!(count("SELECT id FROM floors WHERE kind = 'review'").await, 598);
}

pub async fn handled_deliveries_go_in_slices_and_open_ones_stay(fresh: Fresh) {
    let store = fresh.open().await;
    for at in 0..1201 {
        store.deliver(delivery(&format!("d{at}"), at, b"{}")).await.expect("stored");
    }
    let uuids = (0..1200).map(|at| format!("d{at}")).collect();
    store.delivered(uuids, 5000).await.expect("marked");
    let before = Before { deliveries: Some(5001), ..Before::default() };
    let mut slices = 1;
    while store.prune(before).await.expect("pruned") {
        slices += 1;
    }
    let left: i64 =
        sqlx::query_scalar("SELECT COUNT(*) FROM deliveries").fetch_one(&store.readers()).await.expect("read");
    assert_eq!((slices, left), (3, 1));
}
