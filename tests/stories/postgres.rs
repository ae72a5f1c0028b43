//! The same bot with its store in PostgreSQL. With `CAISSON_STORE=postgres` every story runs that way.

use crate::orders::{caisson, said};
use crate::server::Server;
use crate::world::{FIX, REPO, World, postgres};
use crate::{interruptions, trip};
use domain::Event;

#[tokio::test(flavor = "multi_thread")]
async fn a_fix_becomes_a_reviewed_branch_with_its_log_in_postgres() {
    let Some(store) = postgres() else { return };
    trip::reviewed_branch(&World::with(FIX, &store).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bot_that_is_killed_at_any_moment_goes_on_from_postgres() {
    let Some(store) = postgres() else { return };
    interruptions::goes_on_through_kills(World::with(FIX, &store).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bot_whose_store_was_copied_goes_on_in_the_other_database() {
    let Some(store) = postgres() else { return };
    let url = store.split('"').nth(1).expect("quoted");
    let mut world = World::new(FIX).await;
    if world.config.store.url.is_some() {
        return;
    }
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    world.kill();
    let with_password = url.replacen("postgres:///", "postgres://caisson:hunter2@localhost/", 1);
    let refused = caisson(&world, &["store", "copy", &with_password]).await;
    assert!(!refused.status.success() && !said(&refused).contains("hunter2"), "{}", said(&refused));
    let copied = caisson(&world, &["store", "copy", url]).await;
    assert!(copied.status.success() && said(&copied).contains("task_events: "), "{}", said(&copied));
    let again = caisson(&world, &["store", "copy", url]).await;
    assert!(!again.status.success() && said(&again).contains("is not empty"), "{}", said(&again));
    std::fs::remove_file(world.config.state_dir.join("caisson.db")).expect("the old store is of no use");
    world.reconfigure(|text| format!("{store}\n{text}")).await;
    let looked = caisson(&world, &["task", "list"]).await;
    assert!(said(&looked).contains("awaiting-review"), "{}", said(&looked));
    world.approve().await;
    world.until_state("final-review").await;
    world.approve().await;
    world.until_state("approved").await;
    let used = world.log().await.into_iter().filter(|event| matches!(event, Event::DecisionUsed { .. })).count();
    assert_eq!(used, 2);
    world.nothing_left().await;
}

/// The server is restarted under a task: nothing is lost or done twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_restarted_under_a_task_costs_it_nothing() {
    let Some(server) = Server::alone() else { return };
    let world = World::with(FIX, &format!("store.url = \"{}\"", server.database())).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    for further in [4, 9, 14] {
        world.until("more", |task| task.seq >= further).await;
        server.restart();
    }
    let task = world.until_state("awaiting-review").await;
    server.restart();
    world.approve().await;
    world.until_state("final-review").await;
    world.approve().await;
    world.until_state("approved").await;
    let log = world.log().await;
    let count = |which: fn(&Event) -> bool| log.iter().filter(|event| which(event)).count();
    assert_eq!(count(|event| matches!(event, Event::ActionStarted { .. })), 6, "no action lost or repeated");
    assert_eq!(count(|event| matches!(event, Event::DecisionUsed { .. })), 2, "each decision once");
    let said = world.said(task.pull.expect("a pull request")).await;
    assert_eq!(said.iter().filter(|text| text.contains("Checkpoint 1")).count(), 1);
    world.nothing_left().await;
}
