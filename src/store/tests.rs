//! Tests of SQLite's file, and helpers for the contract's tests.

use super::*;
use domain::*;
use sqlx::{Row, SqlitePool};
use std::path::Path;

fn request() -> Request {
    let person = Account { id: 7, login: "alice".into() };
    Request {
        kind: TaskKind::Fix,
        repository: "shop".into(),
        issue: 3,
        title: "Compare versions as numbers".into(),
        body: "x".repeat(6000),
        words: String::new(),
        asker: person.clone(),
        place: None,
        right: None,
        listed: Vec::new(),
        issue_author: person,
        edited: false,
        source: Source::Issue(3),
        number: 0,
        branch: "agent/3-compare".into(),
        base_branch: "main".into(),
        budget: Budget::default(),
        every: 5,
        has_upstream: true,
        hosts: Vec::new(),
        terms: Default::default(),
        earlier: None,
        own: None,
        trigger: None,
        pull: None,
    }
}

pub(crate) async fn created(store: &Store, key: &str) -> Task {
    created_in("shop", store, key).await
}

/// A task on the issue whose number its key ends with (`opened:3`), otherwise on issue 3.
pub(crate) async fn created_in(repository: &str, store: &Store, key: &str) -> Task {
    let issue = key.rsplit_once(':').and_then(|(_, number)| number.parse().ok()).unwrap_or(3);
    let request = Box::new(Request { repository: repository.into(), issue, ..request() });
    let envelope = Envelope { key: key.into(), now: 10, input: Input::Requested { request } };
    let (task, step) = transition(&Task::new(TaskId(0)), &envelope);
    let new = NewTask { task, input_key: envelope.key.clone(), now: 10, step, epoch: 1, host: "".into() };
    let id = store.create(new).await.expect("stored").expect("new");
    store.task(id).await.expect("folded")
}

pub(super) async fn feed(store: &Store, task: &Task, key: &str, input: Input) -> Appended {
    feed_at(20, store, task, key, input).await
}

pub(crate) async fn feed_at(now: i64, store: &Store, task: &Task, key: &str, input: Input) -> Appended {
    let (after, step) = transition(task, &Envelope { key: key.into(), now, input });
    let append = Append {
        task: after,
        expected_seq: task.seq,
        input_key: key.into(),
        now,
        step,
        close: None,
        epoch: 1,
        host: "".into(),
    };
    store.append(append).await.expect("answered")
}

/// A task whose first action ran from 100 to 200 and whose second runs since 300.
pub(crate) async fn acting(store: &Store) -> TaskId {
    let id = created(store, "opened:3").await.id;
    let call = |n: u32| CallRequest {
        id: format!("c{n}"),
        name: "bash".into(),
        arguments: serde_json::Value::Null,
        call: Call::Action { action: Action::Bash { command: format!("echo {n}") } },
    };
    let answered = |turn| Input::ModelAnswered {
        turn,
        text: String::new(),
        calls: vec![call(turn)],
        usage: Usage::default(),
        micro_usd: 0,
        duration_ms: 1,
        model: "m".into(),
        vendor: None,
    };
    let outcome = Outcome { duration_ms: 1, ..Outcome::new(OutcomeStatus::Ok, "") };
    let base = Commit::parse(&"a".repeat(40)).expect("a commit");
    let inputs = [
        (50, Input::SlotFree),
        (
            60,
            Input::Prepared {
                base,
                boot: "b".into(),
                image: "i".into(),
                every: 5,
                note: None,
                budget: None,
                rules: domain::Rules::default(),
                pictures: Vec::new(),
                difference: None,
                scan: None,
                on_base: None,
                conflicts: Vec::new(),
            },
        ),
        (100, answered(1)),
        (200, Input::ActionEnded { number: 1, outcome }),
        (300, answered(2)),
    ];
    for (n, (now, input)) in (0..).zip(inputs) {
        let task = store.task(id).await.expect("folded");
        feed_at(now, store, &task, &format!("k{n}"), input).await;
    }
    id
}

/// Makes the first event of a task one that only a later version knows.
pub(crate) async fn make_unreadable(dir: &Path, task: TaskId) {
    let later = "UPDATE task_events SET body = '{\"event\":\"of_a_later_version\"}', blob = NULL \
                 WHERE task = $1 AND seq = 1";
    sqlx::query(later).bind(task.0).execute(&beside(dir).await).await.expect("changed");
}

pub(super) fn delivery(uuid: &str, received_at: i64, body: &[u8]) -> Delivery {
    let (repository, event_type) = ("shop".into(), "issues".into());
    Delivery { uuid: uuid.into(), repository, event_type, about: None, body: body.to_vec(), received_at }
}

/// Another program's connection to the same file.
async fn beside(dir: &Path) -> SqlitePool {
    SqlitePool::connect(&format!("sqlite://{}", dir.join("caisson.db").display())).await.expect("open")
}

/// Makes the test write of a store roll back the whole transaction.
const TRAP: &str = "CREATE TRIGGER trap BEFORE UPDATE ON epochs BEGIN SELECT RAISE(ROLLBACK, 'trap'); END";

/// A row whose column has another type than any version wrote makes reading it panic.
#[tokio::test]
async fn what_makes_the_writer_panic_is_refused_and_everybody_else_is_served() {
    let dir = tempfile::tempdir().expect("dir");
    let store = Store::open(dir.path()).await.expect("open");
    store.begin_epoch(1).await.expect("begun");
    let id = acting(&store).await;
    let other = beside(dir.path()).await;
    let damage = "UPDATE task_events SET version = 'one' WHERE task = $1 AND kind = 'turn_completed'";
    sqlx::query(damage).bind(id.0).execute(&other).await.expect("damaged");
    let row = sqlx::query_scalar("SELECT seq FROM tasks WHERE id = $1").bind(id.0);
    let seq: i64 = row.fetch_one(&other).await.expect("read");
    let mut task = Task::new(id);
    task.seq = seq as u32;
    let started = Event::ActionStarted { number: 3, turn: 3, index: 0 };
    let step = Step { events: vec![started], effects: Vec::new() };
    let append = Append {
        task,
        expected_seq: seq as u32,
        input_key: "k".into(),
        now: 9,
        step,
        close: None,
        epoch: 1,
        host: "".into(),
    };
    let (refused, served) = tokio::join!(store.append(append), store.note_input("comment:1#0", 9));
    assert!(matches!(refused, Err(StoreError::Broken(_))), "{refused:?}");
    assert!(served.expect("served"), "what stood in the same transaction");
    assert!(!store.knows_input("k").await.expect("read"), "nothing of what was refused is there");
    store.ready().await.expect("ready");
}

/// A transaction that fails in the middle, as by a full disk or another program.
#[tokio::test]
async fn a_transaction_that_fails_is_told_to_whoever_asked_and_the_next_one_goes_on() {
    let dir = tempfile::tempdir().expect("dir");
    let store = Store::open(dir.path()).await.expect("open");
    store.begin_epoch(1).await.expect("begun");
    let other = beside(dir.path()).await;
    sqlx::query(TRAP).execute(&other).await.expect("laid");
    assert!(store.ready().await.is_err());
    assert!(store.ready().await.is_err(), "not ready as long as nothing can be written");
    sqlx::query("DROP TRIGGER trap").execute(&other).await.expect("taken up");
    store.ready().await.expect("ready by itself");
    assert!(store.note_input("comment:1#0", 9).await.expect("stored"));
}

/// A message that rolls back the whole transaction (as on a full disk) also undoes those after it: none is stored alone.
#[tokio::test]
async fn what_stands_behind_an_undone_transaction_is_not_stored_and_told_as_if_it_were_not() {
    let dir = tempfile::tempdir().expect("dir");
    let store = Store::open(dir.path()).await.expect("open");
    store.begin_epoch(1).await.expect("begun");
    let other = beside(dir.path()).await;
    sqlx::query(TRAP).execute(&other).await.expect("laid");
    // Locked, so that all of them are in one transaction.
    let held = other.begin_with("BEGIN IMMEDIATE").await.expect("held");
    let first = tokio::spawn({
        let store = store.clone();
        async move { store.note_input("first", 1).await }
    });
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    let before = store.note_input("before", 9);
    let failing = store.writer.ask(|answer| queue::Write::Try { answer });
    let behind = store.note_input("behind", 9);
    let arrived = store.deliver(delivery("d", 1, b"{}"));
    let together = tokio::spawn(async move { held.rollback().await });
    let (before, failing, behind, arrived) = tokio::join!(before, failing, behind, arrived);
    together.await.expect("joined").expect("let go");
    assert!(first.await.expect("joined").expect("stored"));
    assert!(failing.is_err());
    for (key, told) in [("before", before), ("behind", behind)] {
        assert_eq!(store.knows_input(key).await.expect("read"), told.is_ok(), "{key}: {told:?}");
    }
    assert_eq!(store.open_deliveries(9, &[]).await.expect("read").len(), usize::from(arrived.is_ok()), "{arrived:?}");
}

/// Another program holds the lock longer than the writer waits, so no transaction begins.
#[tokio::test]
async fn a_store_that_is_held_by_somebody_else_is_written_to_again_afterwards() {
    let dir = tempfile::tempdir().expect("dir");
    let store = Store::open(dir.path()).await.expect("open");
    store.begin_epoch(1).await.expect("begun");
    let other = beside(dir.path()).await;
    let mut held = other.begin_with("BEGIN IMMEDIATE").await.expect("held");
    sqlx::query("UPDATE epochs SET started_at = 5").execute(&mut *held).await.expect("held");
    let refused = store.note_input("comment:1#0", 9).await;
    assert!(refused.is_err(), "{refused:?}");
    held.rollback().await.expect("let go");
    assert!(store.note_input("comment:1#0", 9).await.expect("stored"));
    store.ready().await.expect("ready");
}

/// Both kinds of migrations make the same tables; they differ only in two words that SQLite and PostgreSQL spell differently.
#[test]
fn the_migrations_of_both_databases_mean_the_same() {
    let read = |kind: &str| {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(kind);
        let files = std::fs::read_dir(dir).expect("there").map(|entry| entry.expect("read").path());
        let named = |path: std::path::PathBuf| {
            let text = std::fs::read_to_string(&path).expect("read");
            (path.file_name().expect("a file").to_owned(), text)
        };
        files.map(named).collect::<std::collections::BTreeMap<_, _>>()
    };
    let code = |text: &str| text.lines().filter(|line| !line.starts_with("--")).collect::<Vec<_>>().join("\n");
    let (sqlite, postgres) = (read("sqlite"), read("postgres"));
    assert!(sqlite.len() >= 10 && sqlite.keys().eq(postgres.keys()));
    for (name, text) in &sqlite {
        let own = code(text)
            .replace("INTEGER PRIMARY KEY AUTOINCREMENT", "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY");
        assert_eq!(own.replace(" BLOB", " BYTEA"), code(&postgres[name]), "{name:?}");
    }
}

/// Folds the tasks of a log that an earlier version wrote: name of the state, actions and tokens of each, and the kinds of its events.
fn folded(text: &str) -> (Vec<(&'static str, u32, u64)>, std::collections::BTreeSet<String>) {
    #[derive(serde::Deserialize)]
    struct Line {
        task: i64,
        seq: u32,
        version: i64,
        body: serde_json::Value,
    }
    let mut tasks: std::collections::BTreeMap<i64, Task> = Default::default();
    let mut kinds = std::collections::BTreeSet::new();
    for line in text.lines() {
        let line: Line = serde_json::from_str(line).expect("a line");
        let event = body::load_event(line.version, Some(line.body.to_string()), None).expect("it is read");
        let again = serde_json::to_value(&event).expect("written");
        // This version may add fields; existing ones are unchanged.
        for (key, value) in line.body.as_object().expect("an object") {
            assert_eq!(again.get(key), Some(value), "{key} of {}", line.body);
        }
        kinds.insert(line.body["event"].as_str().expect("a kind").to_owned());
        let task = tasks.entry(line.task).or_insert_with(|| Task::new(TaskId(line.task)));
        task.apply(&event);
        assert_eq!(task.seq, line.seq);
    }
    (tasks.values().map(|task| (task.state.name(), task.actions, task.spent.tokens)).collect(), kinds)
}

/// Logs written by 0.1.0, one task after the other, have to fold to the same result in every later version.
#[test]
fn the_log_of_an_earlier_version_still_folds() {
    let (states, mut kinds) = folded(include_str!("../../tests/fixtures/logs/0.1.0.jsonl"));
    let expected = [
        ("final-review", 6, 6173),
        ("running", 1, 3722),
        ("cancelled", 1, 1827),
        ("awaiting-review", 2, 5622),
        ("awaiting-review", 10, 3827),
        ("running", 1, 1870),
        ("verifying", 1, 2862),
        ("final-review", 3, 2726),
        ("final-review", 6, 6112),
        ("final-review", 4, 879),
    ];
    assert_eq!(states, expected);
    // Stories of November 2026, with the kinds that the first has not.
    let (states, more) = folded(include_str!("../../tests/fixtures/logs/0.1.0-2026-11.jsonl"));
    let expected = [
        ("awaiting-review", 5, 5661),
        ("awaiting-review", 5, 1400),
        ("awaiting-review", 5, 6263),
        ("approved", 1, 2725),
        ("final-review", 2, 3470),
        ("awaiting-review", 5, 5627),
        ("awaiting-review", 5, 5811),
        ("paused", 2, 28958),
        ("delivered", 5, 5723),
        ("final-review", 6, 8992),
        ("final-review", 5, 9084),
        ("awaiting-review", 10, 9097),
        ("final-review", 6, 8955),
        ("final-review", 6, 8942),
        ("delivered", 6, 8942),
        ("final-review", 10, 16545),
        ("final-review", 6, 10424),
    ];
    assert_eq!(states, expected);
    kinds.extend(more);
    // Composed by hand, of what no story brings about.
    let (states, more) = folded(include_str!("../../tests/fixtures/logs/0.1.0-by-hand.jsonl"));
    assert_eq!(states, [("final-review", 2, 5480), ("running", 2, 2740)]);
    kinds.extend(more);
    assert_eq!(kinds, every_kind(), "a new event needs a line in one of these logs");
}

/// The kinds of all events, as serde lists them where it meets another one.
fn every_kind() -> std::collections::BTreeSet<String> {
    let error = serde_json::from_str::<Event>("{\"event\":\"of_a_later_version\"}").expect_err("unknown").to_string();
    let (_, names) = error.split_once("expected one of").expect("their names");
    names.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn an_event_of_a_newer_version_is_refused_even_if_it_can_be_parsed() {
    let text = serde_json::to_string(&Event::SlotGranted).expect("written");
    let load = |version| body::load_event(version, Some(text.clone()), None);
    assert!(matches!(load(body::VERSION), Ok(Event::SlotGranted)));
    let newer = load(body::VERSION + 1).expect_err("refused");
    assert!(matches!(newer, StoreError::Newer { .. }) && newer.is_unreadable(), "{newer}");
}

/// A path may contain a symbolic link, which the driver's addresses cannot express; and the file is private even in a readable directory.
#[tokio::test]
async fn the_file_lies_where_its_directory_is_and_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().expect("dir");
    let deep = dir.path().join("real 100%25/deep");
    std::fs::create_dir_all(&deep).expect("made");
    std::os::unix::fs::symlink(&deep, dir.path().join("link")).expect("linked");
    let state = dir.path().join("link/../state");
    std::fs::create_dir(&state).expect("made");
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o755)).expect("open to all");
    created(&Store::open(&state).await.expect("open"), "opened:3").await;
    let look = Store::look(&state).await.expect("looked").expect("there");
    assert_eq!(look.tasks(9).await.expect("read").len(), 1);
    for name in ["caisson.db", "caisson.db-wal"] {
        let file = dir.path().join("real 100%25/state").join(name);
        let found = std::fs::metadata(&file).unwrap_or_else(|why| panic!("{}: {why}", file.display()));
        assert_eq!(found.permissions().mode() & 0o777, 0o600, "{name}");
    }
}

/// As one does on a full disk, or for a user of PostgreSQL who may not make tables.
#[tokio::test]
async fn a_migration_that_fails_is_not_taken_for_a_newer_version() {
    let dir = tempfile::tempdir().expect("dir");
    let by_hand = Location::from(dir.path()).by_hand().await.expect("opened");
    sqlx::query("CREATE TABLE tasks (id INTEGER)").execute(&by_hand).await.expect("made");
    by_hand.close().await;
    let error = Store::open(dir.path()).await.map(|_| ()).expect_err("a migration makes that table");
    let text = error.to_string();
    assert!(matches!(error, StoreError::Open { .. }) && text.contains("already exists"), "{text}");
    assert!(!text.contains("newer"), "{text}");
}

/// Permanent settings of a file are made at its creation; the others belong to the writing connection.
#[tokio::test]
async fn a_new_file_has_large_pages_and_a_write_ahead_log_and_its_writer_waits_for_the_disk() {
    let dir = tempfile::tempdir().expect("dir");
    let location = Location::from(dir.path());
    let _store = Store::open(location.clone()).await.expect("open");
    let mut writer = location.writer().await.expect("open");
    for (pragma, wanted) in [
        ("page_size", "8192"),
        ("journal_mode", "wal"),
        ("synchronous", "2"),
        ("secure_delete", "1"),
        ("foreign_keys", "1"),
    ] {
        let row =
            sqlx::query(sqlx::AssertSqlSafe(format!("PRAGMA {pragma}"))).fetch_one(&mut writer).await.expect("told");
        let told = row.try_get::<String, _>(0).or_else(|_| row.try_get::<i64, _>(0).map(|number| number.to_string()));
        assert_eq!(told.expect("a word or a number"), wanted, "{pragma}");
    }
}

/// Repeated queries must not scan whole tables, however many tasks there were.
#[tokio::test]
async fn every_periodic_statement_uses_an_index() {
    let dir = tempfile::tempdir().expect("dir");
    let store = Store::open(dir.path()).await.expect("open");
    let outbox = [outbox::NEXT, outbox::WITH_EFFECTS];
    let retention = [retention::HANDLED, retention::UNTRIMMED, retention::OVERDUE, retention::OLD_INPUTS, audit::OLD];
    let read = [read::LIVE, read::LIVE_OF, read::KNOWN, read::WATERMARK, deliveries::OPEN, deliveries::ABOUT];
    let all = [live::LIVE_ROWS, line::LINE, changed::SHARED];
    let partial: Vec<String> =
        sqlx::query_scalar("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql LIKE '% WHERE %'")
            .fetch_all(&store.readers())
            .await
            .expect("read");
    for sql in outbox.iter().chain(&retention).chain(&read).chain(&all) {
        let explain = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
        let plan = sqlx::query(explain).fetch_all(&store.readers()).await.expect("explained");
        for step in plan.iter().map(|row| row.get::<String, _>("detail")) {
            // Only indexes of live, open, handled or ended rows may be scanned; the primary key's has all rows.
            let index = step.split_once(" INDEX ").map(|(_, rest)| rest.split(' ').next().unwrap_or_default());
            let small = index.is_some_and(|name| partial.iter().any(|known| known == name))
                || step == "SCAN CONSTANT ROW"
                || step.contains("VIRTUAL TABLE");
            assert!(!step.starts_with("SCAN") || small, "{step}:\n{sql}");
        }
    }
}
