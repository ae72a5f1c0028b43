//! Internal faults of the bot: a panic, a row that cannot be read. Each is reported and affects nothing else.

use crate::hosts::told;
use crate::own_commands::until;
use crate::world::{FIX, PATIENCE, REPO, World, held, postgres};
use caisson::task::Boundary;
use domain::{Suspension, Task};
use std::time::Duration;

async fn readyz(world: &World) -> (u16, String) {
    let answer = reqwest::get(format!("{}/readyz", world.ops())).await.expect("answered");
    (answer.status().as_u16(), answer.text().await.expect("read"))
}

/// Waits until `/readyz` says this.
async fn until_ready_says(world: &World, words: &str) -> u16 {
    let seen = async {
        loop {
            let (status, text) = readyz(world).await;
            if text.contains(words) {
                return status;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, seen).await.expect(words)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_effect_that_panics_is_seen_and_tried_again_and_so_is_its_queue() {
    let world = World::new(FIX).await;
    let (mut effects, mut queues) = (1, 1);
    world.cuts.set(move |row, at| {
        match (row.effect.kind(), at) {
            ("act", Boundary::Begun) if effects > 0 => effects -= 1,
            ("push", Boundary::Closed) if queues > 0 => queues -= 1,
            _ => return false,
        }
        panic!("a fault at {}", row.key)
    });
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    assert_eq!(until_ready_says(&world, "act:1 panicked: a fault at act:1").await, 503);
    assert_eq!(until_ready_says(&world, "its queue panicked: a fault at push:1").await, 503);
    let task = world.until_state("awaiting-review").await;
    assert_eq!(task.actions, 5);
    assert_eq!(until_ready_says(&world, "ready").await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_effect_that_panics_again_and_again_waits_for_a_person() {
    let world = World::new(FIX).await;
    world.cuts.set(|row, at| match (row.effect.kind(), at) {
        ("prepare", Boundary::Begun) => panic!("a fault"),
        _ => false,
    });
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("paused").await;
    world.until_said(issue, "the bot itself failed while it did this").await;
    world.cuts.clear();
    world.alice().comment(REPO, issue, "/resume").expect("said");
    let task = world.until_state("awaiting-review").await;
    assert_eq!(task.actions, 5);
}

/// Kills the bot while it prepares its first task and sets a label; returns the issue.
async fn killed_in_two_queues(world: &mut World) -> u64 {
    let (met, mut reached) = tokio::sync::mpsc::unbounded_channel();
    world.cuts.set(move |row, at| {
        let here = at == Boundary::Begun && matches!(row.effect.kind(), "prepare" | "label");
        here && met.send(row.effect.kind()).is_ok()
    });
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let mut seen = std::collections::BTreeSet::new();
    while seen.len() < 2 {
        seen.insert(reached.recv().await.expect("reached"));
    }
    world.kill();
    world.cuts.clear();
    issue
}

/// Changes as many effects by hand.
async fn change_effects(world: &World, sql: &'static str, count: u64) {
    let store = world.by_hand().await;
    assert_eq!(sqlx::query(sql).execute(&store).await.expect("changed").rows_affected(), count);
    store.close().await;
}

/// No version reads a body with this before it.
const HIDE: &str = "UPDATE effects SET body = 'later:' || body WHERE state = 'started'";
/// As before, and due at once.
const SHOW: &str = "UPDATE effects SET body = substr(body, 7), not_before = 0 \
                    WHERE body LIKE 'later:%' AND state IN ('pending', 'started')";

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_effect_that_cannot_be_read_is_put_aside_and_said() {
    let mut world = World::new(FIX).await;
    // Where hosts share the store, a newer one may come.
    if world.config.store.url.is_some() {
        return;
    }
    let issue = killed_in_two_queues(&mut world).await;
    change_effects(&world, HIDE, 2).await;
    world.start().await;
    world.until_state("paused").await;
    // The queue of posts still works, and says why.
    world.until_said(issue, "a stored step (`prepare:").await;
    world.alice().comment(REPO, issue, "/resume").expect("said");
    world.until_state("awaiting-review").await;
    world.kill();
    // The text was not lost.
    change_effects(&world, SHOW, 1).await;
    world.start().await;
    world.settled().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_effect_that_one_host_cannot_read_is_left_to_another() {
    let Some(store) = postgres() else { return };
    let mut world = World::with(FIX, &store).await;
    let issue = killed_in_two_queues(&mut world).await;
    change_effects(&world, HIDE, 2).await;
    world.start().await;
    world.heard(issue).await;
    assert_eq!(world.task().await.state.name(), "preparing", "nothing was closed");
    world.kill();
    change_effects(&world, SHOW, 2).await;
    world.start().await;
    world.until_state("awaiting-review").await;
}

/// Makes the first event of task 1 one that only a later version knows.
async fn make_unreadable(world: &World) {
    let later = "UPDATE task_events SET body = '{\"event\":\"of_a_later_version\"}', blob = NULL \
                 WHERE task = 1 AND seq = 1";
    let store = world.by_hand().await;
    let changed = sqlx::query(later).execute(&store).await.expect("changed").rows_affected();
    assert_eq!(changed, 1);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_cannot_be_read_reaches_nothing_and_keeps_no_other_from_its_hosts() {
    let world = World::networked(&held(), "").await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until("an action that runs", |task| task.running.is_some()).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text, again", "/fix").expect("issue");
    until(&world, 2, |task| task.running.is_some()).await;
    make_unreadable(&world).await;
    world.alice().comment(REPO, issue, "/allow semver.org repo").expect("said");
    world.until_said(issue, "every later one of this repository").await;
    let told = told(&world);
    for subnet in ["close 0", "open 1 semver.org"] {
        assert!(told.iter().any(|words| words == subnet), "{subnet}: {told:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_cannot_be_read_keeps_no_other_from_being_put_away_or_from_following_its_repository() {
    let mut world = World::in_image(FIX, "image = \"local\"\nevict_after_s = 3600").await;
    for title in ["Versions compare as text", "Versions compare as text, again"] {
        world.alice().open_issue(REPO, title, "/fix").expect("issue");
    }
    world.until_state("awaiting-review").await;
    let waits = |task: &Task| task.state.name() == "awaiting-review";
    let pull = until(&world, 2, waits).await.pull.expect("a pull request");
    world.kill();
    make_unreadable(&world).await;
    world.reconfigure(|text| text.replace("evict_after_s = 3600", "evict_after_s = 1")).await;
    let away = |task: &Task| task.suspension == Some(Suspension::Evicted);
    until(&world, 2, away).await;
    assert_eq!(until_ready_says(&world, "degraded: 1 task cannot be read").await, 200, "for the others it is ready");
    world.forge.rename(REPO, "store").expect("renamed");
    world.until_said_in("lab/store", pull, "is `lab/store` now").await;
}

/// As where a newer version has begun to work on the same database.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_of_an_older_version_says_why_it_does_nothing() {
    let Some(store) = postgres() else { return };
    let world = World::with(FIX, &store).await;
    let later = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
                 SELECT 9999, 'later', success, checksum, 0 FROM _sqlx_migrations WHERE version = 1";
    let store = world.by_hand().await;
    sqlx::query(later).execute(&store).await.expect("migrated");
    store.close().await;
    let why = "this host: nothing is done here any more: the store has the shape of a newer version of caisson (9999;";
    assert_eq!(until_ready_says(&world, why).await, 503);
}
