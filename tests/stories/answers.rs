//! Answers where no task is at work stand once, whatever the forge does to the request, and a bot that is killed.

use crate::world::{FIX, REPO, World};
use devforge::Fault;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const HELP: &str = "A command stands at the beginning of a line";

/// The first so many comments of the bot on issue 1 meet this fault; the number of those that did.
fn faulty(world: &World, times: u32, fault: Fault) -> Arc<AtomicU32> {
    let met = Arc::new(AtomicU32::new(0));
    let counted = met.clone();
    world.forge.set_faults(move |method, path| {
        let here = method == "POST" && path.ends_with("/issues/1/comments") && counted.load(Ordering::SeqCst) < times;
        counted.fetch_add(u32::from(here), Ordering::SeqCst);
        here.then_some(fault)
    });
    met
}

async fn until_met(met: &AtomicU32, times: u32) {
    let end = Instant::now() + Duration::from_secs(60);
    while met.load(Ordering::SeqCst) < times {
        assert!(Instant::now() < end, "{} of {times} requests met it", met.load(Ordering::SeqCst));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn times_said(world: &World, words: &str) -> usize {
    world.said(1).await.iter().filter(|text| text.contains(words)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_whose_request_failed_is_given_later_and_once() {
    for fault in [Fault::Refused(502), Fault::Cut, Fault::Unanswered] {
        let world = World::new(FIX).await;
        let met = faulty(&world, 2, fault);
        let issue = world.alice().open_issue(REPO, "A question", "What is this?").expect("issue");
        world.alice().comment(REPO, issue, "/help").expect("said");
        world.bob().comment(REPO, issue, "/fix").expect("said");
        world.until_said(issue, HELP).await;
        world.until_said(issue, "`bob`: `/fix` is for").await;
        world.heard(issue).await;
        let said = (times_said(&world, HELP).await, times_said(&world, "`bob`: `/fix` is for").await);
        assert_eq!(said, (1, 1), "{fault:?}");
        assert!(met.load(Ordering::SeqCst) > 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_was_under_way_when_the_bot_was_killed_is_given_once() {
    for fault in [Fault::Cut, Fault::Unanswered] {
        let mut world = World::new(FIX).await;
        let met = faulty(&world, 1, fault);
        let issue = world.alice().open_issue(REPO, "A question", "What is this?").expect("issue");
        world.alice().comment(REPO, issue, "/help").expect("said");
        until_met(&met, 1).await;
        world.kill();
        world.start().await;
        world.until_said(issue, HELP).await;
        world.heard(issue).await;
        assert_eq!(times_said(&world, HELP).await, 1, "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_refused_for_good_holds_up_no_later_text() {
    let world = World::new(FIX).await;
    let issue = world.alice().open_issue(REPO, "A question", "What is this?").expect("issue");
    // Locked for a moment.
    world.forge.refuse(&[("POST /issues/1/comments", 423)]);
    world.alice().comment(REPO, issue, "/help").expect("said");
    let end = Instant::now() + Duration::from_secs(60);
    while world.forge.times_refused() == 0 {
        assert!(Instant::now() < end, "it was never tried");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    world.forge.refuse(&[]);
    world.alice().comment(REPO, issue, "/fix").expect("said");
    world.until_said(issue, "is on it").await;
    assert_eq!(times_said(&world, HELP).await, 0);
}
