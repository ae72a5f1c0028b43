use super::*;
use domain::*;

fn request() -> Request {
    let person = Account { id: 7, login: "alice".into() };
    Request {
        kind: Kind::Fix,
        repository: "shop".into(),
        issue: 3,
        title: "Compare versions as numbers".into(),
        body: "x".repeat(6000),
        words: String::new(),
        asker: person.clone(),
        issue_author: person,
        source: Source::Issue(3),
        number: 0,
        branch: "agent/3-compare".into(),
        base_branch: "main".into(),
        budget: Budget::default(),
        every: 5,
        has_upstream: true,
        hosts: Vec::new(),
    }
}

pub(crate) async fn created(store: &Store, key: &str) -> Task {
    created_in("shop", store, key).await
}

pub(crate) async fn created_in(repository: &str, store: &Store, key: &str) -> Task {
    let request = Box::new(Request { repository: repository.into(), ..request() });
    let envelope = Envelope { key: key.into(), now: 10, input: Input::Requested { request } };
    let (task, step) = transition(&Task::new(TaskId(0)), &envelope);
    let new = NewTask { task, input_key: envelope.key.clone(), now: 10, step, epoch: 1 };
    let id = store.create(new).await.expect("stored").expect("new");
    store.task(id).await.expect("folded")
}

async fn feed(store: &Store, task: &Task, key: &str, input: Input) -> Appended {
    feed_at(20, store, task, key, input).await
}

pub(crate) async fn feed_at(now: i64, store: &Store, task: &Task, key: &str, input: Input) -> Appended {
    let (after, step) = transition(task, &Envelope { key: key.into(), now, input });
    let append =
        Append { task: after, expected_seq: task.seq, input_key: key.into(), now, step, close: None, epoch: 1 };
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
    };
    let outcome = Outcome { duration_ms: 1, ..Outcome::new(OutcomeStatus::Ok, "") };
    let base = Commit::parse(&"a".repeat(40)).expect("a commit");
    let inputs = [
        (50, Input::PlaceFree),
        (60, Input::Prepared { base, boot: "b".into(), image: "i".into(), every: 5, note: None, budget: None }),
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

#[tokio::test]
async fn what_was_under_way_is_known_by_its_time() {
    let dir = tempfile::tempdir().expect("dir");
    let store = Store::open(dir.path()).await.expect("open");
    let id = acting(&store).await;
    let mut seen = Vec::new();
    for at in [99, 100, 150, 200, 250, 300, 9999] {
        seen.push(store.action_at(id, at).await.expect("read"));
    }
    assert_eq!(seen, [None, Some(1), Some(1), Some(1), None, Some(2), Some(2)]);
}

#[tokio::test]
async fn a_task_survives_in_its_log_even_with_a_large_body() {
    let dir = tempfile::tempdir().expect("dir");
    let id = {
        let store = Store::open(dir.path()).await.expect("open");
        created(&store, "opened:3").await.id
    };
    let store = Store::open(dir.path()).await.expect("open again");
    let task = store.task(id).await.expect("folded");
    assert_eq!(task.request.expect("request").body.len(), 6000);
    let row = store.next_effect(id, Lane::Talk).await.expect("read").expect("a comment is owed");
    assert_eq!(row.effect.kind(), "comment");
}

#[tokio::test]
async fn the_same_input_is_taken_up_once() {
    let dir = tempfile::tempdir().expect("dir");
    let store = Store::open(dir.path()).await.expect("open");
    let task = created(&store, "opened:3").await;
    assert_eq!(feed(&store, &task, "place:1", Input::PlaceFree).await, Appended::Done);
    assert_eq!(feed(&store, &task, "place:2", Input::PlaceFree).await, Appended::Conflict, "the log has moved on");
    let task = store.task(task.id).await.expect("folded");
    assert_eq!(feed(&store, &task, "place:1", Input::PlaceFree).await, Appended::Duplicate);
    assert_eq!(store.task(task.id).await.expect("folded").seq, task.seq);
}

pub(super) fn delivery(uuid: &str, received_at: i64, body: &[u8]) -> Delivery {
    let (repository, event_type) = ("shop".into(), "issues".into());
    Delivery { uuid: uuid.into(), repository, event_type, about: None, body: body.to_vec(), received_at }
}

#[tokio::test]
async fn what_was_delivered_about_a_text_is_found_again() {
    let dir = tempfile::tempdir().expect("dir");
    let store = Store::open(dir.path()).await.expect("open");
    for (uuid, about, body) in [("a", Some("comment:1"), "x"), ("b", Some("comment:12"), "y"), ("c", None, "z")] {
        let about = about.map(str::to_owned);
        store.deliver(Delivery { about, ..delivery(uuid, 1, body.as_bytes()) }).await.expect("stored");
    }
    store.delivered(vec!["a".into()], 2).await.expect("marked");
    let found = store.deliveries_about("shop", "comment:1").await.expect("read");
    assert_eq!(found.iter().map(|d| (d.uuid.as_str(), &d.body[..])).collect::<Vec<_>>(), [("a", &b"x"[..])]);
    assert!(store.deliveries_about("other", "comment:1").await.expect("read").is_empty());
}

#[tokio::test]
async fn bodies_come_back_byte_for_byte_also_those_of_earlier_versions() {
    let dir = tempfile::tempdir().expect("dir");
    let store = Store::open(dir.path()).await.expect("open");
    let real = include_bytes!("../../tests/fixtures/gitea-1.25.4/issue_comment-created.json");
    for (at, body) in [&real[..], b"", b"{}"].into_iter().enumerate() {
        assert!(store.deliver(delivery(&format!("d{at}"), at as i64, body)).await.expect("stored"));
    }
    let old = "INSERT INTO deliveries (uuid, repository, event_type, body, received_at) VALUES ('old', 'shop', 'issues', '{1}', 3)";
    let damaged = "UPDATE deliveries SET body = x'ffffffff00' WHERE uuid = 'd2'";
    let url = format!("sqlite://{}", dir.path().join("caisson.db").display());
    let other = SqlitePool::connect(&url).await.expect("open");
    for sql in [old, damaged] {
        sqlx::query(sql).execute(&other).await.expect("done");
    }
    let bodies: Vec<Vec<u8>> =
        store.open_deliveries(10, &[]).await.expect("read").into_iter().map(|d| d.body).collect();
    // One that cannot be unpacked keeps nobody else waiting.
    assert_eq!(bodies, [real.to_vec(), Vec::new(), Vec::new(), b"{1}".to_vec()]);
}

#[tokio::test]
async fn one_uuid_is_stored_once_however_often_and_at_once_it_comes() {
    let dir = tempfile::tempdir().expect("dir");
    let store = Store::open(dir.path()).await.expect("open");
    let mut works = Vec::new();
    for i in 0..64 {
        let store = store.clone();
        let delivery = delivery(&format!("d{}", i % 32), i, b"{}");
        works.push(tokio::spawn(async move { store.deliver(delivery).await.expect("stored") }));
    }
    let mut fresh = 0;
    for work in works {
        fresh += usize::from(work.await.expect("joined"));
    }
    assert_eq!(fresh, 32, "each uuid is stored once");
    assert_eq!(store.open_deliveries(100, &[]).await.expect("read").len(), 32);
}

#[tokio::test]
async fn an_end_drops_open_work_but_not_what_is_owed_to_people() {
    let dir = tempfile::tempdir().expect("dir");
    let store = Store::open(dir.path()).await.expect("open");
    let task = created(&store, "opened:3").await;
    feed(&store, &task, "place:1", Input::PlaceFree).await;
    let task = store.task(task.id).await.expect("folded");
    feed(&store, &task, "closed", Input::IssueClosed).await;
    let next = store.next_effect(task.id, Lane::Work).await.expect("read").expect("teardown is left");
    assert_eq!(next.effect, Effect::Teardown);
    assert!(store.next_effect(task.id, Lane::Talk).await.expect("read").is_some());
}

#[tokio::test]
async fn killed_tries_are_counted_apart_from_failures() {
    let dir = tempfile::tempdir().expect("dir");
    let store = Store::open(dir.path()).await.expect("open");
    let id = created(&store, "opened:3").await.id;
    let next = async || store.next_effect(id, Lane::Talk).await.expect("read").expect("a comment is owed");
    let row = next().await.id;
    for life in 1..=6 {
        assert!(store.effect_started(row, life).await.expect("begun"), "killed in life {life}");
    }
    let killed = next().await;
    assert_eq!((killed.tries, killed.failures), (6, 0), "an earlier try is seen, and costs no wait");
    store.effect_later(row, 5, "the forge is away").await.expect("later");
    let failed = next().await;
    assert_eq!((failed.tries, failed.failures, failed.not_before), (6, 1, 5));
}

#[tokio::test]
async fn what_is_set_aside_comes_after_everything_else_of_its_lane() {
    let dir = tempfile::tempdir().expect("dir");
    let store = Store::open(dir.path()).await.expect("open");
    let task = created(&store, "opened:3").await;
    let next = async || store.next_effect(task.id, Lane::Talk).await.expect("read").expect("more is owed");
    let first = next().await;
    assert!(store.effect_started(first.id, 1).await.expect("begun"));
    store.effect_aside(first.id, 5, "locked").await.expect("aside");
    let alone = next().await;
    let mut others = Vec::new();
    let (mut row, mut asides) = (alone.clone(), 0);
    while row.aside == 0 {
        others.push(row.id);
        assert!(store.effect_started(row.id, 1).await.expect("begun"));
        store.effect_aside(row.id, 9 + asides, "locked").await.expect("aside");
        asides += 1;
        row = next().await;
    }
    assert!(!others.is_empty() && others.iter().all(|id| *id > first.id), "a label is owed as well");
    assert_eq!((row.id, row.aside, row.not_before), (first.id, 1, 5), "the one that waits least");
}

#[tokio::test]
async fn a_repositorys_hosts_are_kept_until_they_are_taken_back() {
    let dir = tempfile::tempdir().expect("dir");
    let store = Store::open(dir.path()).await.expect("open");
    let mut task = created(&store, "opened:3").await;
    let mut say = async |number: i64, verb: Verb| {
        let decision = Decision {
            source: Source::Comment(number),
            number,
            at: 0,
            poster: Account { id: 7, login: "alice".into() },
            right: Access::Write,
            commit: None,
            head: None,
            base: None,
            text_hash: String::new(),
            edited: false,
            in_advance: false,
            verb,
        };
        let input = Input::Decided { decision: Box::new(decision) };
        assert_eq!(feed(&store, &task, &format!("comment:{number}"), input).await, Appended::Done);
        task = store.task(task.id).await.expect("folded");
        let grants = store.grants("shop").await.expect("read");
        grants.into_iter().map(|grant| format!("{} by {}", grant.host, grant.by.login)).collect::<Vec<_>>()
    };
    let allow = |host: &str, repo| Verb::Allow { host: host.into(), repo, bar: None };
    assert!(say(1, allow("a.test", false)).await.is_empty(), "for the task alone");
    assert_eq!(say(2, allow("b.test", true)).await, ["b.test by alice"]);
    assert_eq!(say(3, allow("b.test:22", true)).await, ["b.test by alice", "b.test:22 by alice"]);
    assert_eq!(say(4, allow("b.testing", true)).await.len(), 3);
    assert_eq!(say(5, Verb::Deny { host: "b.test".into(), kept: true }).await, ["b.testing by alice"]);
    assert!(store.grants("other").await.expect("read").is_empty());
    say(6, allow("b.test:22", true)).await;
    let take_back = async |key: &str, repository: &str, hosts: &[&str]| {
        let hosts = hosts.iter().map(|&host| host.to_owned()).collect();
        let wish = TakeBack { input_key: key.to_owned(), repository: repository.to_owned(), hosts, now: 7 };
        store.take_back(wish).await.expect("written")
    };
    let nothing: Vec<String> = Vec::new();
    assert_eq!(take_back("comment:7#0", "other", &["b.test"]).await, Some(vec![nothing.clone()]), "its own alone");
    assert_eq!(
        take_back("comment:8#0", "shop", &["b.test", "c.test"]).await,
        Some(vec![vec!["b.test:22".to_owned()], nothing])
    );
    assert_eq!(take_back("comment:8#0", "shop", &["b.testing"]).await, None, "a text is taken up once");
    assert_eq!(store.grants("shop").await.expect("read").len(), 1);
}

/// A stored row that makes the reading of it panic: its column has another type than this version ever wrote.
#[tokio::test]
async fn what_makes_the_writer_panic_is_refused_and_everybody_else_is_served() {
    let dir = tempfile::tempdir().expect("dir");
    let store = Store::open(dir.path()).await.expect("open");
    store.begin_epoch(1).await.expect("begun");
    let id = acting(&store).await;
    let url = format!("sqlite://{}", dir.path().join("caisson.db").display());
    let other = SqlitePool::connect(&url).await.expect("open");
    let damage = "UPDATE task_events SET version = 'one' WHERE task = $1 AND kind = 'turn_completed'";
    sqlx::query(damage).bind(id.0).execute(&other).await.expect("damaged");
    let row = sqlx::query_scalar("SELECT seq FROM tasks WHERE id = $1").bind(id.0);
    let seq: i64 = row.fetch_one(&other).await.expect("read");
    let mut task = Task::new(id);
    task.seq = seq as u32;
    let started = Event::ActionStarted { number: 3, turn: 3, index: 0 };
    let step = Step { events: vec![started], effects: Vec::new() };
    let append = Append { task, expected_seq: seq as u32, input_key: "k".into(), now: 9, step, close: None, epoch: 1 };
    let (refused, served) = tokio::join!(store.append(append), store.note_input("comment:1#0", 9));
    assert!(matches!(refused, Err(StoreError::Broken(_))), "{refused:?}");
    assert!(served.expect("served"), "what stood in the same transaction");
    assert!(!store.knows_input("k").await.expect("read"), "nothing of what was refused is there");
    store.ready().await.expect("ready");
}

/// A transaction that ends in the middle: so a disk or another program may end it.
#[tokio::test]
async fn a_transaction_that_fails_is_told_to_whoever_asked_and_the_next_one_goes_on() {
    let dir = tempfile::tempdir().expect("dir");
    let store = Store::open(dir.path()).await.expect("open");
    store.begin_epoch(1).await.expect("begun");
    let url = format!("sqlite://{}", dir.path().join("caisson.db").display());
    let other = SqlitePool::connect(&url).await.expect("open");
    let trap = "CREATE TRIGGER trap BEFORE UPDATE ON epochs BEGIN SELECT RAISE(ROLLBACK, 'trap'); END";
    sqlx::query(trap).execute(&other).await.expect("laid");
    assert!(store.ready().await.is_err());
    assert!(store.ready().await.is_err(), "not ready as long as nothing can be written");
    sqlx::query("DROP TRIGGER trap").execute(&other).await.expect("taken up");
    store.ready().await.expect("ready by itself");
    assert!(store.note_input("comment:1#0", 9).await.expect("stored"));
}

/// Somebody else holds the store for longer than a writer waits: no transaction begins.
#[tokio::test]
async fn a_store_that_is_held_by_somebody_else_is_written_to_again_afterwards() {
    let dir = tempfile::tempdir().expect("dir");
    let store = Store::open(dir.path()).await.expect("open");
    store.begin_epoch(1).await.expect("begun");
    let url = format!("sqlite://{}", dir.path().join("caisson.db").display());
    let other = SqlitePool::connect(&url).await.expect("open");
    let mut held = other.begin_with("BEGIN IMMEDIATE").await.expect("held");
    sqlx::query("UPDATE epochs SET started_at = 5").execute(&mut *held).await.expect("held");
    let refused = store.note_input("comment:1#0", 9).await;
    assert!(refused.is_err(), "{refused:?}");
    held.rollback().await.expect("let go");
    assert!(store.note_input("comment:1#0", 9).await.expect("stored"));
    store.ready().await.expect("ready");
}
