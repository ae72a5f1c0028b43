//! Leases that are lost and regained, and what happens in the engine meanwhile. Where no second host is needed, the test writes its rows
//! into the store.

use crate::second_host::SecondHost;
use crate::world::{FIX, PATIENCE, REPO, World, held, postgres};
use caisson::task::Boundary;
use domain::{Event, Loss};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The lock that every writer to a database takes for its transaction.
pub const LOCK: &str = "SELECT CAST(pg_advisory_lock(27973128230760303) AS TEXT)";
pub const UNLOCK: &str = "SELECT CAST(pg_advisory_unlock(27973128230760303) AS TEXT)";

pub async fn sql(world: &World, text: &'static str) {
    let db = world.by_hand().await;
    sqlx::raw_sql(text).execute(&db).await.expect("done");
    db.close().await;
}

pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < end, "waited for {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn world(script: &str) -> Option<World> {
    Some(World::with(script, &postgres()?).await)
}

fn stands(world: &World) -> bool {
    world.broker.workspace("task-1-1").exists()
}

/// Disconnected for longer than a lease, while another host moves the task on and disappears.
#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_another_host_had_meanwhile_is_put_in_order_again() {
    let Some(world) = world(FIX).await else { return };
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    // In one transaction, so that no intermediate state is seen.
    sql(
        &world,
        "BEGIN; UPDATE leases SET host = 'ghost', epoch = 999999, until = CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) - 5000; \
         UPDATE tasks SET owner = 'ghost'; COMMIT",
    )
    .await;
    until("the old sandbox to go", async || !stands(&world)).await;
    world.approve().await;
    world.until_state("final-review").await;
    let moved = |event: &Event| matches!(event, Event::SandboxLost { loss: Loss::Moved, .. });
    assert!(world.log().await.iter().any(moved), "what the other host did is not lost under an older sandbox");
}

/// The database does not answer for longer than a lease, without any other host.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_broken_off_while_the_database_was_silent_is_begun_again() {
    let Some(world) = world(FIX).await else { return };
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    let begun = Arc::new(AtomicBool::new(false));
    let seen = begun.clone();
    world.cuts.set(move |row, _| {
        let here = row.effect.kind() == "teardown";
        seen.fetch_or(here, Ordering::SeqCst);
        here
    });
    world.alice().close(REPO, issue).expect("closed");
    world.until("its end", |task| task.state.ended()).await;
    until("its end's effect", async || begun.load(Ordering::SeqCst)).await;
    let db = world.by_hand().await;
    let mut connection = db.acquire().await.expect("a connection");
    sqlx::query(LOCK).execute(&mut *connection).await.expect("held");
    tokio::time::sleep(Duration::from_secs(11)).await;
    world.cuts.clear();
    sqlx::query(UNLOCK).execute(&mut *connection).await.expect("let go");
    until("the ended task's effects", async || {
        world.store().tasks_with_effects().await.is_ok_and(|tasks| tasks.is_empty())
    })
    .await;
    world.nothing_left().await;
}

/// The new holder may have taken back what the sandbox may reach.
#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_whose_repository_is_lost_reaches_nothing_until_it_is_held_again() {
    let Some(store) = postgres() else { return };
    let world = World::networked(&held(), &store).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix\n\n/allow semver.org").expect("issue");
    world.until("an action that runs", |task| task.running.is_some()).await;
    let told = || world.doors.as_ref().expect("networked").told.lock().expect("whole").clone();
    assert_eq!(told().last().map(String::as_str), Some("open 0 semver.org"));
    let before = told().len();
    sql(
        &world,
        "UPDATE leases SET host = 'ghost', epoch = 999999, until = CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) + 12000",
    )
    .await;
    until("the way out to be closed", async || told()[before..].iter().any(|words| words == "close 0")).await;
    // The other host disappeared without moving the task on, so it continues where it was.
    until("the way out to be opened", async || told().last().is_some_and(|words| words == "open 0 semver.org")).await;
    std::fs::write(world.broker.workspace("task-1-1").join("go"), "").expect("let go");
    world.until_state("awaiting-review").await;
    assert!(!world.log().await.iter().any(|event| matches!(event, Event::SandboxLost { .. })));
}

/// A newer version had the repository meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_cannot_be_read_keeps_no_repository_from_being_worked_for() {
    let Some(world) = world(&held()).await else { return };
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until("an action that runs", |task| task.running.is_some()).await;
    let pauses = || world.broker.faults.pauses.load(Ordering::SeqCst);
    let before = pauses();
    sql(
        &world,
        "BEGIN; UPDATE effects SET body = '{\"effect\":\"of_a_later_version\"}' WHERE kind = 'act' AND state = 'started'; \
         UPDATE leases SET host = 'ghost', epoch = 999999, until = CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) + 12000; COMMIT",
    )
    .await;
    until("its sandbox to stand still", async || pauses() > before).await;
    let other = world.alice().open_issue(REPO, "Versions compare as text, again", "/fix").expect("issue");
    let begun = async || world.store().live_task_of("shop", other).await.is_ok_and(|row| row.is_some());
    until("another task", begun).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_ends_on_another_host_leaves_no_sandbox_on_the_first() {
    let Some(world) = world(FIX).await else { return };
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    let mut beside = SecondHost::new(&world, |text| text);
    beside.start(&world).await;
    let other = "SELECT COUNT(*) FROM hosts WHERE address LIKE '%beside%'";
    let db = world.by_hand().await;
    until("the other host", async || sqlx::query_scalar::<_, i64>(other).fetch_one(&db).await.is_ok_and(|n| n > 0))
        .await;
    sql(
        &world,
        "UPDATE leases SET (host, epoch, until) = (SELECT id, epoch, until FROM hosts WHERE address LIKE '%beside%')",
    )
    .await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    world.alice().close(REPO, issue).expect("closed");
    world.until("its end", |task| task.state.ended()).await;
    until("the first host's sandbox to go", async || !stands(&world)).await;
}

/// The host that made it has not moved the task on yet, so the previous host is still its owner in the store.
#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_that_was_just_made_for_a_task_of_another_host_stays() {
    let Some(mut world) = world(FIX).await else { return };
    world.cuts.set(|row, at| row.effect.kind() == "prepare" && at == Boundary::Done);
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    until("a sandbox", async || stands(&world)).await;
    world.kill();
    sql(&world, "UPDATE tasks SET owner = 'ghost'").await;
    world.start().await;
    until("the older one to go", async || !stands(&world)).await;
    until("one of its own", async || stands(&world)).await;
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(35) {
        assert!(stands(&world), "removed after {:?}", began.elapsed());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// As with a single host: a request about it says why nothing continues.
#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_is_in_no_file_any_more_has_its_tasks_paused() {
    let Some(mut world) = world(&held()).await else { return };
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until("an action that runs", |task| task.running.is_some()).await;
    world.reconfigure(|text| text.replace("key = \"shop\"", "key = \"another\"")).await;
    world.until_state("paused").await;
}

/// A host that does not have a repository yet gets several of its tasks at once.
#[tokio::test(flavor = "multi_thread")]
async fn first_fetches_of_a_repository_do_not_disturb_each_other() {
    let dir = tempfile::tempdir().expect("dir");
    let from = caisson::git::Repos::new(dir.path().join("from"));
    let stream = "commit refs/heads/main\ncommitter a <a@b> 1 +0000\ndata 1\nx\nM 100644 inline a.txt\ndata 2\nx\n\n";
    from.fast_import("shop", stream.to_owned()).await.expect("made");
    let url = format!("file://{}", from.path("shop").expect("a path").display());
    let url = caisson::git::RemoteUrl::parse(&url).expect("an address");
    for round in 0..20 {
        let repos = caisson::git::Repos::new(dir.path().join(format!("to{round}")));
        let ensure = || {
            let repos = repos.clone();
            tokio::spawn(async move { repos.ensure("shop").await })
        };
        let all = [ensure(), ensure(), ensure()];
        for one in all {
            one.await.expect("done").expect("made");
        }
        repos.fetch("shop", &url, None).await.expect("fetched");
    }
}
