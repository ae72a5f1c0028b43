//! Leases that are lost and regained while the engine or the database is slow or unavailable.

use crate::leases::{LOCK, UNLOCK, sql, until};
use crate::second_host::SecondHost;
use crate::world::{FIX, PATIENCE, REPO, World, held, postgres};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Another host held the repository until now, and moved its tasks on.
const HAD: &str = "BEGIN; UPDATE leases SET host = 'ghost', epoch = 999999, until = CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) - 5000; UPDATE tasks SET owner = 'ghost'; COMMIT";
/// Another host holds it for a while.
const HAS: &str = "BEGIN; UPDATE leases SET host = 'ghost', epoch = 999999, until = CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) + 12000; COMMIT";

async fn number(world: &World, text: &'static str) -> i64 {
    let db = world.by_hand().await;
    let number = sqlx::query_scalar(text).fetch_one(&db).await.expect("a number");
    db.close().await;
    number
}

async fn waiting() -> Option<World> {
    let world = World::with(FIX, &postgres()?).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    Some(world)
}

/// Taking over a repository that fails is tried again after a pause.
#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_is_away_makes_no_host_ask_without_a_pause() {
    let Some(world) = waiting().await else { return };
    const CLAIMS: &str = "SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'hosts'";
    world.broker.set_away(true);
    sql(&world, HAD).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let before = number(&world, CLAIMS).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let claims = number(&world, CLAIMS).await - before;
    assert!(claims < 15, "{claims} in 10 s");
    world.broker.set_away(false);
    world.approve().await;
    world.until_state("final-review").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_removal_costs_no_lease() {
    let Some(world) = waiting().await else { return };
    world.broker.faults.slow_removal.store(20_000, Ordering::SeqCst);
    sql(&world, "BEGIN; UPDATE leases SET host = 'ghost', epoch = 999999, until = CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) + 600000; UPDATE tasks SET owner = 'ghost'; COMMIT").await;
    let began = Instant::now();
    while world.broker.workspace("task-1-1").exists() {
        let left = "SELECT MIN(until) - CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) FROM hosts";
        let left = number(&world, left).await;
        assert!(left > 0, "the host was silent for longer than its word lasts: {left}");
        assert!(began.elapsed() < PATIENCE, "never removed");
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    world.broker.faults.slow_removal.store(0, Ordering::SeqCst);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_that_could_not_be_paused_has_its_way_out_again_with_the_lease() {
    let Some(store) = postgres() else { return };
    let world = World::networked(&held(), &store).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix\n\n/allow semver.org").expect("issue");
    world.until("an action that runs", |task| task.running.is_some()).await;
    world.broker.faults.no_pause.store(true, Ordering::SeqCst);
    let told = || world.doors.as_ref().expect("networked").told.lock().expect("whole").clone();
    let before = told().len();
    sql(&world, HAS).await;
    until("the way out to be closed", async || told()[before..].iter().any(|words| words == "close 0")).await;
    until("the way out to be opened", async || told().last().is_some_and(|words| words == "open 0 semver.org")).await;
    world.broker.faults.no_pause.store(false, Ordering::SeqCst);
    std::fs::write(world.broker.workspace("task-1-1").join("go"), "").expect("let go");
    world.until_state("awaiting-review").await;
}

/// Answers take seconds, but none is missed.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_database_stops_no_sandbox() {
    let Some(store) = postgres() else { return };
    let world = World::with(&held(), &store).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until("an action that runs", |task| task.running.is_some()).await;
    let db = world.by_hand().await;
    let mut connection = db.acquire().await.expect("a connection");
    let before = world.broker.faults.pauses.load(Ordering::SeqCst);
    for _ in 0..7 {
        sqlx::query(LOCK).execute(&mut *connection).await.expect("held");
        tokio::time::sleep(Duration::from_millis(4_000)).await;
        sqlx::query(UNLOCK).execute(&mut *connection).await.expect("let go");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(world.broker.faults.pauses.load(Ordering::SeqCst), before);
    let tries = "SELECT MAX(tries) FROM effects WHERE kind = 'act'";
    assert_eq!(number(&world, tries).await, 1, "the action was begun once");
    std::fs::write(world.broker.workspace("task-1-1").join("go"), "").expect("let go");
    world.until_state("awaiting-review").await;
}

/// `caisson repo add` wrote into one host's file.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_away_for_long_finds_its_work_again() {
    let Some(store) = postgres() else { return };
    let mut world = World::with(&held(), &store).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until("an action that runs", |task| task.running.is_some()).await;
    let work = world.broker.workspace("task-1-1").join("uncommitted");
    std::fs::write(&work, "work").expect("written");
    let mut beside = SecondHost::new(&world, |text| text.replace("key = \"shop\"", "key = \"another\""));
    world.kill();
    sql(&world, "BEGIN; UPDATE leases SET until = until - 700000; UPDATE hosts SET until = until - 700000; COMMIT")
        .await;
    beside.start(&world).await;
    tokio::time::sleep(Duration::from_secs(8)).await;
    assert_eq!(world.task().await.state.name(), "running", "who is here has nothing of it in its file");
    world.start().await;
    until("its action to go on", async || world.task().await.running.is_some()).await;
    assert!(work.exists());
    std::fs::write(world.broker.workspace("task-1-1").join("go"), "").expect("let go");
    world.until_state("awaiting-review").await;
    assert!(work.exists());
}

/// A task that could not begin on a host continues on another.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_without_an_engine_gives_what_it_could_not_begin_to_one_that_has() {
    let Some(store) = postgres() else { return };
    let world = World::with(FIX, &store).await;
    let mut beside = SecondHost::new(&world, |text| text);
    until("a lease", async || number(&world, "SELECT COUNT(*) FROM leases").await > 0).await;
    beside.start(&world).await;
    world.broker.set_away(true);
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    assert!(!beside.broker.created.lock().expect("created").is_empty(), "it was done there");
}
