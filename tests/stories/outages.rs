//! Long outages: failed tries do not make anything grow.

use crate::world::{FIX, PATIENCE, REPO, World};
use caisson::store::TABLES;
use domain::{Queue, Task};
use std::time::{Duration, Instant};

/// Number of rows of every table except the deliveries.
async fn rows(world: &World) -> Vec<(&'static str, i64)> {
    let store = world.by_hand().await;
    let mut rows = Vec::new();
    for name in TABLES.into_iter().filter(|name| *name != "deliveries") {
        let sql = sqlx::AssertSqlSafe(format!("SELECT COUNT(*) FROM {name}"));
        rows.push((name, sqlx::query_scalar(sql).fetch_one(&store).await.expect("read")));
    }
    store.close().await;
    rows
}

/// Those rows once nothing but tries goes on: the status comment stands and was heard of, and what a round notes is noted.
async fn settled_rows(world: &World, issue: u64) -> Vec<(&'static str, i64)> {
    world.until_said(issue, "### Task 1: ").await;
    world.heard(issue).await;
    let end = Instant::now() + PATIENCE;
    loop {
        let before = rows(world).await;
        tokio::time::sleep(Duration::from_millis(1500)).await;
        if rows(world).await == before {
            return before;
        }
        assert!(Instant::now() < end, "rows are added on and on: {before:?}");
    }
}

/// Waits until the task's next effect of this queue failed this many times.
async fn in_vain(world: &World, queue: Queue, times: i64) {
    let task = world.task().await.id;
    let tried = async {
        while world.store().next_effect(task, queue).await.expect("read").is_none_or(|row| row.failures < times) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, tried).await.expect("tried in vain");
}

/// How often that effect failed so far.
async fn tries(world: &World) -> i64 {
    let next = world.store().next_effect(world.task().await.id, Queue::Work).await.expect("read");
    next.expect("work that is tried again").failures
}

/// An outage's charge is kept for the next try, which is not made after the operator lowered the window.
#[tokio::test(flavor = "multi_thread")]
async fn the_charge_of_an_outage_is_taken_back_where_the_conversation_no_longer_fits() {
    let mut world = World::new(FIX).await;
    world.model.set_away(true);
    world.model.set_price(3_000_000, 15_000_000);
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    in_vain(&world, Queue::Work, 1).await;
    assert!(world.task().await.model_worst > 0, "kept");
    let small = "style = \"tools\"\nprompt = \"long\"\ncontext_tokens = 2048\nmax_output_tokens = 1000\n";
    world.reconfigure(|text| text.replacen("style = \"tools\"\n", small, 1)).await;
    let task = world.until_state("paused").await;
    assert_eq!((task.spent.micro_usd, task.model_worst, task.model_starts), (0, 0, 0));
}

/// Nor is the next try made once somebody stopped the task, while a call waits to be sent again or between two tries.
#[tokio::test(flavor = "multi_thread")]
async fn the_charge_of_an_outage_is_taken_back_where_the_task_is_stopped() {
    for failures in [0, 1] {
        stopped_in_vain(failures).await;
    }
}

async fn stopped_in_vain(failures: i64) {
    let world = World::new(FIX).await;
    world.model.set_away(true);
    world.model.set_price(3_000_000, 15_000_000);
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until("a charge", |task| task.model_worst > 0).await;
    in_vain(&world, Queue::Work, failures).await;
    world.alice().comment(REPO, issue, "/stop").expect("said");
    let settled = |task: &Task| task.state.ended() && task.spent.micro_usd == 0;
    let task = world.until("an end that costs nothing", settled).await;
    assert_eq!((task.model_worst, task.model_starts), (0, 0));
    assert_eq!(world.store().spent_since(0, None).await.expect("read"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_is_away_adds_no_row_for_each_try_and_costs_nothing() {
    let mut world = World::new(FIX).await;
    world.model.set_away(true);
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    in_vain(&world, Queue::Work, 1).await;
    let before = (settled_rows(&world, issue).await, world.log().await.len());
    let so_far = tries(&world).await;
    in_vain(&world, Queue::Work, so_far + 1).await;
    // A bot that is killed between two tries has not asked anybody.
    world.kill();
    world.start().await;
    in_vain(&world, Queue::Work, so_far + 2).await;
    assert_eq!((rows(&world).await, world.log().await.len()), before);
    world.model.set_away(false);
    world.until_state("awaiting-review").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forge_and_an_engine_that_are_away_add_no_row_for_each_try() {
    let world = World::new(FIX).await;
    world.broker.set_away(true);
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    in_vain(&world, Queue::Work, 4).await;
    // At the fourth failure a person is told, once.
    world.until_said(issue, "tries again by itself").await;
    // A reading that the outage cuts off is noted once; here none is under way.
    let before = settled_rows(&world, issue).await;
    let so_far = tries(&world).await;
    world.forge.set_outage(Some(502));
    in_vain(&world, Queue::Work, so_far + 1).await;
    assert_eq!(rows(&world).await, before);
    world.forge.set_outage(None);
    world.broker.set_away(false);
    world.until_state("awaiting-review").await;
}
