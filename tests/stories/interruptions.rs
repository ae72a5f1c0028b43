//! The bot is killed, hooks are lost, the forge is away: the task ends as if nothing had happened.

use crate::world::{FIX, REPO, World};
use domain::Event;
use std::time::Duration;

fn count(log: &[Event], kind: impl Fn(&Event) -> bool) -> usize {
    log.iter().filter(|event| kind(event)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_given_while_the_bot_was_down_counts() {
    let mut world = World::new(FIX).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    world.stop().await;
    world.approve().await;
    world.start().await;
    world.until_state("final-review").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_hooks_are_found_by_reading_again() {
    let world = World::new(FIX).await;
    world.forge.lose_hooks(1000);
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    world.approve().await;
    world.until_state("final-review").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forge_that_is_away_while_publishing_is_no_verdict() {
    let world = World::new(FIX).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until("some work", |task| task.actions >= 2).await;
    world.forge.set_outage(Some(502));
    tokio::time::sleep(Duration::from_millis(1500)).await;
    world.forge.set_outage(None);
    let task = world.until_state("awaiting-review").await;
    let pull = task.pull.expect("a pull request");
    let standing = async |words: &str| world.said(pull).await.iter().filter(|text| text.contains(words)).count();
    assert_eq!(standing("### Checkpoint 1 ").await, 1);
    // Where the last one was seen whole, the next is posted without a look: its cut try is looked for all the same.
    world.forge.cut_next_review(0);
    world.approve().await;
    world.until_state("final-review").await;
    assert_eq!(standing("### Final review ").await, 1, "{:#?}", world.said(pull).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_review_leaves_exactly_one() {
    let world = World::new(FIX).await;
    world.forge.cut_next_review(0);
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let pull = task.pull.expect("a pull request");
    let reviews = world.said(pull).await.iter().filter(|text| text.contains("Checkpoint 1")).count();
    assert_eq!(reviews, 1);
}

/// Kills the bot at many moments of one task; each time the next life goes on.
#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_moment_the_task_goes_on() {
    let mut world = World::new(FIX).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let mut approved = 0;
    for round in 0u64..40 {
        tokio::time::sleep(Duration::from_millis(20 + (round * 37) % 300)).await;
        let task = world.task().await;
        if task.state.name() == "approved" {
            break;
        }
        let waiting = matches!(task.state.name(), "awaiting-review" | "final-review");
        if waiting && task.checkpoints.len() > approved {
            approved = task.checkpoints.len();
            world.approve().await;
        }
        world.kill();
        world.start().await;
    }
    let end = std::time::Instant::now() + Duration::from_secs(240);
    while world.task().await.state.name() != "approved" {
        assert!(std::time::Instant::now() < end, "{:?}", world.task().await.state);
        let task = world.task().await;
        let waiting = matches!(task.state.name(), "awaiting-review" | "final-review");
        if waiting && task.checkpoints.len() > approved {
            approved = task.checkpoints.len();
            world.approve().await;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let log = world.log().await;
    let task = world.task().await;
    assert_eq!(count(&log, |e| matches!(e, Event::DecisionUsed { .. })), 2, "no decision twice");
    assert_eq!(count(&log, |e| matches!(e, Event::ActionStarted { .. })), 6, "no action lost or repeated");
    assert_eq!(count(&log, |e| matches!(e, Event::ActionFinished { .. })), 6);
    let said = world.said(task.pull.expect("a pull request")).await;
    for n in 1..=2 {
        let reviews = said.iter().filter(|text| text.contains(&format!("caisson:1:review:{n} "))).count();
        assert_eq!(reviews, 1, "exactly one review of checkpoint {n}");
    }
    world.nothing_left().await;
}
