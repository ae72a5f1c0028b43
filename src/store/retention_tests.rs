use super::tests::{acting, created, feed_at};
use super::*;
use domain::*;
use sqlx::Row;

async fn other(dir: &Path) -> SqlitePool {
    SqlitePool::connect(&format!("sqlite://{}", dir.join("caisson.db").display())).await.expect("open")
}

/// Rows of every table, by its name.
async fn rows(pool: &SqlitePool) -> Vec<(String, i64)> {
    let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '_sqlx%' ORDER BY name";
    let names: Vec<String> = sqlx::query_scalar(sql).fetch_all(pool).await.expect("read");
    let mut rows = Vec::new();
    for name in names {
        let sql = sqlx::AssertSqlSafe(format!("SELECT COUNT(*) FROM {name}"));
        rows.push((name, sqlx::query_scalar(sql).fetch_one(pool).await.expect("read")));
    }
    rows
}

async fn ended(store: &Store, id: TaskId, at: i64) {
    let task = store.task(id).await.expect("folded");
    feed_at(at, store, &task, &format!("issue-closed:{id}"), Input::IssueClosed).await;
}

#[tokio::test]
async fn a_deleted_task_leaves_no_row_and_no_byte_and_begins_nothing_anew() {
    let dir = tempfile::tempdir().expect("dir");
    let store = Store::open(dir.path()).await.expect("open");
    let pool = other(dir.path()).await;
    let before = rows(&pool).await;
    let id = acting(&store).await;
    store.keep_egress(id, vec![(1, 1, "{}".to_owned())]).await.expect("kept");
    store.remember_post(id, "review:1", 5).await.expect("kept");
    assert_eq!(store.delete_task(id).await.expect("asked"), Deleted::Live);
    assert_eq!(store.delete_task(TaskId(99)).await.expect("asked"), Deleted::Unknown);
    ended(&store, id, 400).await;
    // 6,000 times an x stand in the request's body.
    let holds = |dir: &Path| {
        let files = ["caisson.db", "caisson.db-wal"].map(|name| std::fs::read(dir.join(name)).unwrap_or_default());
        files.iter().any(|bytes| bytes.windows(64).any(|window| window == [b'x'; 64]))
    };
    assert!(holds(dir.path()));
    assert_eq!(store.delete_task(id).await.expect("deleted"), Deleted::Gone { repository: "shop".into() });
    assert!(!holds(dir.path()), "what was deleted still stands in the store's files");
    let mut left = rows(&pool).await;
    left.retain(|(name, count)| !before.contains(&(name.clone(), *count)));
    // The id of the text that asked for it; the number that nobody gets again; how many tasks the issue had.
    assert_eq!(left, [("floors", 1), ("inputs", 1), ("retired", 1)].map(|(name, count)| (name.to_owned(), count)));
    assert!(store.knows_input("opened:3").await.expect("read"));
    assert_eq!(store.tasks_of_issue("shop", 3).await.expect("read"), 1);
    assert_eq!(store.delete_task(id).await.expect("asked"), Deleted::Unknown);
    let next = created(&store, "opened:4").await;
    assert_eq!(next.id, TaskId(id.0 + 1), "its marks on the forge are nobody else's");
}

#[tokio::test]
async fn a_body_that_another_task_has_too_stays() {
    let dir = tempfile::tempdir().expect("dir");
    let store = Store::open(dir.path()).await.expect("open");
    let (one, two) = (created(&store, "opened:3").await.id, created(&store, "opened:4").await.id);
    let blobs = async || {
        sqlx::query_scalar::<_, i64>("SELECT COUNT(*) FROM blobs").fetch_one(&store.readers).await.expect("read")
    };
    assert_eq!(blobs().await, 1);
    ended(&store, one, 20).await;
    store.delete_task(one).await.expect("deleted");
    assert_eq!(store.task(two).await.expect("folded").request.expect("a request").body.len(), 6000);
    ended(&store, two, 20).await;
    store.delete_task(two).await.expect("deleted");
    assert_eq!(blobs().await, 0);
}

#[tokio::test]
async fn what_is_old_goes_step_by_step_and_what_a_live_task_needs_stays() {
    let dir = tempfile::tempdir().expect("dir");
    let store = Store::open(dir.path()).await.expect("open");
    let (gone, live) = (created(&store, "opened:3").await.id, created(&store, "opened:4").await.id);
    store.note_input("comment:70#0", 20).await.expect("noted");
    store.note_input("comment:90#0", 2000).await.expect("noted");
    ended(&store, gone, 30).await;
    let all = async |before: Before| while store.prune(before).await.expect("pruned") {};
    let effects = async |id: TaskId| {
        let sql = "SELECT COUNT(*) FROM effects WHERE task = $1";
        sqlx::query_scalar::<_, i64>(sql).bind(id.0).fetch_one(&store.readers).await.expect("read")
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
    // Keys are gone, and still known by the floor under them; what is above it is new.
    let left: Vec<String> =
        sqlx::query_scalar("SELECT key FROM inputs ORDER BY key").fetch_all(&store.readers).await.expect("read");
    assert_eq!(left, ["comment:90#0", "opened:4"]);
    assert!(known("comment:70#0").await && known("comment:69#1").await && known("opened:3").await);
    assert!(!known("comment:71#0").await && !known("review:1").await);
    assert!(!store.note_input("comment:70#0", 3000).await.expect("asked"), "taken up once");
    let overdue = store.overdue_tasks(1000, 0).await.expect("read");
    assert_eq!(overdue, [(gone, "shop".to_owned())]);
}

#[tokio::test]
async fn handled_deliveries_go_in_slices_and_open_ones_stay() {
    let dir = tempfile::tempdir().expect("dir");
    let store = Store::open(dir.path()).await.expect("open");
    for at in 0..1201 {
        store.deliver(super::tests::delivery(&format!("d{at}"), at, b"{}")).await.expect("stored");
    }
    let uuids = (0..1200).map(|at| format!("d{at}")).collect();
    store.delivered(uuids, 5000).await.expect("marked");
    let before = Before { deliveries: Some(5001), ..Before::default() };
    let mut slices = 1;
    while store.prune(before).await.expect("pruned") {
        slices += 1;
    }
    let left: i64 =
        sqlx::query_scalar("SELECT COUNT(*) FROM deliveries").fetch_one(&store.readers).await.expect("read");
    assert_eq!((slices, left), (3, 1));
}

/// What is asked again and again walks no whole table, however many tasks there were.
#[tokio::test]
async fn every_periodic_statement_uses_an_index() {
    let dir = tempfile::tempdir().expect("dir");
    let store = Store::open(dir.path()).await.expect("open");
    let outbox = [outbox::NEXT, outbox::WITH_EFFECTS];
    let retention = [retention::HANDLED, retention::UNTRIMMED, retention::OVERDUE, retention::OLD_INPUTS];
    let read = [read::LIVE, read::LIVE_OF, read::KNOWN, read::WATERMARK, deliveries::OPEN, deliveries::ABOUT];
    let partial: Vec<String> =
        sqlx::query_scalar("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql LIKE '% WHERE %'")
            .fetch_all(&store.readers)
            .await
            .expect("read");
    for sql in outbox.iter().chain(&retention).chain(&read) {
        let explain = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
        let plan = sqlx::query(explain).fetch_all(&store.readers).await.expect("explained");
        for step in plan.iter().map(|row| row.get::<String, _>("detail")) {
            // Only an index of live, open, handled or ended rows may be walked: the primary key's holds all rows.
            let index = step.split_once(" INDEX ").map(|(_, rest)| rest.split(' ').next().unwrap_or_default());
            let small = index.is_some_and(|name| partial.iter().any(|known| known == name))
                || step == "SCAN CONSTANT ROW"
                || step.contains("VIRTUAL TABLE");
            assert!(!step.starts_with("SCAN") || small, "{step}:\n{sql}");
        }
    }
}
