//! Answers where no task is at work stand once, whatever the forge does to the request, and a bot that is killed.

use crate::world::{FIX, PATIENCE, REPO, World};
use devforge::{Access, Fault};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
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
    let end = Instant::now() + PATIENCE;
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
async fn an_answer_beside_another_whose_response_is_lost_stands_once() {
    let world = World::new(FIX).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    world.alice().comment(REPO, issue, "/stop").expect("said");
    world.until_state("cancelled").await;
    world.alice().comment(REPO, issue, "/help").expect("said");
    world.until_said(issue, HELP).await;
    world.heard(issue).await;
    // The further commands of a text are answered first.
    let met = faulty(&world, 1, Fault::Unanswered);
    world.alice().comment(REPO, issue, "/cost\n\n/frobnicate").expect("said");
    until_met(&met, 1).await;
    world.until_said(issue, "`/frobnicate` is no command").await;
    world.heard(issue).await;
    world.read_now().await.expect("read");
    assert_eq!(times_said(&world, "`/frobnicate` is no command").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_refused_for_a_moment_is_given_later_and_once() {
    for status in [403, 404, 423] {
        let world = World::new(FIX).await;
        let met = faulty(&world, 2, Fault::Refused(status));
        let issue = world.alice().open_issue(REPO, "A question", "What is this?").expect("issue");
        world.alice().comment(REPO, issue, "/help").expect("said");
        until_met(&met, 2).await;
        world.until_said(issue, HELP).await;
        world.heard(issue).await;
        assert_eq!(times_said(&world, HELP).await, 1, "{status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_refused_for_good_holds_up_no_later_text() {
    let world = World::new(FIX).await;
    let issue = world.alice().open_issue(REPO, "A question", "What is this?").expect("issue");
    // Locked. The task begins once the answer before it is given up.
    let met = faulty(&world, u32::MAX, Fault::Refused(423));
    world.alice().comment(REPO, issue, "/help").expect("said");
    world.alice().comment(REPO, issue, "/fix").expect("said");
    until_met(&met, 3).await;
    let end = Instant::now() + PATIENCE;
    while world.store().tasks(5).await.expect("read").is_empty() {
        assert!(Instant::now() < end, "no task began");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    world.forge.set_faults(|_, _| None);
    world.until_said(issue, "is on it").await;
    assert_eq!(times_said(&world, HELP).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_that_people_have_read_stays_although_the_right_is_given_before_the_bot_knows_that_it_stands() {
    let world = World::only_hooked(FIX).await;
    let met = faulty(&world, 1, Fault::Unanswered);
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "See above.").expect("issue");
    world.bob().comment(REPO, issue, "/fix").expect("said");
    until_met(&met, 1).await;
    world.until_said(issue, "`bob`: `/fix` is for").await;
    world.forge.add_collaborator(REPO, "bob", Access::Write).expect("a right");
    world.read_now().await.expect("read");
    world.heard(issue).await;
    assert!(world.store().tasks(5).await.expect("read").is_empty(), "it was refused");
    assert_eq!(times_said(&world, "`bob`: `/fix` is for").await, 1);
    world.bob().comment(REPO, issue, "/fix").expect("said");
    world.until_said(issue, "is on it").await;
}

/// While it is set, the forge takes no comment of the bot.
fn mute(world: &World) -> Arc<AtomicBool> {
    let mute = Arc::new(AtomicBool::new(true));
    let asked = mute.clone();
    world.forge.set_faults(move |method, path| {
        let here = method == "POST" && path.starts_with("/api/") && path.ends_with("/comments");
        (here && asked.load(Ordering::SeqCst)).then_some(Fault::Refused(502))
    });
    mute
}

async fn at_review() -> (World, u64, u64) {
    let world = World::new(FIX).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    (world, issue, pull)
}

#[tokio::test(flavor = "multi_thread")]
async fn readings_of_an_issue_and_its_pull_request_at_the_same_time_answer_once() {
    let (mut world, issue, pull) = at_review().await;
    // Rounds are the test's own.
    world.reconfigure(|text| text.replace("poll_s = 1\n", "poll_s = 3600\n")).await;
    world.heard(pull).await;
    let mute = mute(&world);
    world.alice().comment(REPO, pull, "/sync").expect("said");
    world.alice().comment(REPO, issue, "A remark.").expect("said");
    let end = Instant::now() + PATIENCE;
    while world.store().unread().await.expect("read").len() < 2 {
        assert!(Instant::now() < end, "both could be read");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    mute.store(false, Ordering::SeqCst);
    world.read_now().await.expect("read");
    world.heard(pull).await;
    let answers = world.said(pull).await.iter().filter(|text| text.contains("`/sync` of")).count();
    assert_eq!(answers, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_counts_although_nothing_beside_or_before_it_can_be_answered() {
    let (world, _, pull) = at_review().await;
    let mute = mute(&world);
    world.alice().comment(REPO, pull, "/sync").expect("said");
    world.alice().comment(REPO, pull, "/stop\n/help").expect("said");
    world.until_state("cancelled").await;
    assert!(!world.said(pull).await.iter().any(|text| text.contains(HELP)));
    mute.store(false, Ordering::SeqCst);
    world.until_said(pull, HELP).await;
    world.until_said(pull, "`/sync` of").await;
    world.read_now().await.expect("read");
    for words in [HELP, "`/sync` of"] {
        assert_eq!(world.said(pull).await.iter().filter(|text| text.contains(words)).count(), 1, "{words}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_is_taken_back_although_nothing_beside_it_can_be_answered() {
    let world = World::networked(FIX, "").await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix\n\n/allow semver.org repo").expect("issue");
    world.until_state("awaiting-review").await;
    let talk = world.alice().open_issue(REPO, "What our tasks may reach", "Less, I think.").expect("issue");
    assert_eq!(world.store().grants("shop").await.expect("read").len(), 1);
    let mute = mute(&world);
    world.alice().comment(REPO, talk, "/deny semver.org\n/help").expect("said");
    let end = Instant::now() + PATIENCE;
    while !world.store().grants("shop").await.expect("read").is_empty() {
        assert!(Instant::now() < end, "it was not taken back");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    mute.store(false, Ordering::SeqCst);
    world.until_said(talk, HELP).await;
    world.heard(talk).await;
    assert_eq!(world.said(talk).await.iter().filter(|text| text.contains(HELP)).count(), 1);
}

/// The process that took hosts back is killed before its answer stands: the next one names them all the same.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_taken_back_before_the_bot_was_killed_is_told_by_the_next_process() {
    let mut world = World::networked(FIX, "").await;
    let talk = world.alice().open_issue(REPO, "What our tasks may reach", "Less, I think.").expect("issue");
    let issue =
        world.alice().open_issue(REPO, "Versions compare as text", "/fix\n\n/allow semver.org repo").expect("issue");
    world.until_state("awaiting-review").await;
    world.alice().comment(REPO, issue, "/stop").expect("said");
    world.until_state("cancelled").await;
    let met = faulty(&world, u32::MAX, Fault::Refused(500));
    world.alice().comment(REPO, talk, "/deny semver.org\n/deny nobody.example").expect("said");
    until_met(&met, 2).await;
    assert!(world.store().grants("shop").await.expect("read").is_empty(), "before it is answered");
    world.kill();
    world.forge.set_faults(|_, _| None);
    world.start().await;
    let answer = world.until_said(talk, "took back `semver.org` for this repository").await;
    assert!(answer.contains("nobody allowed `nobody.example`"), "{answer}");
    world.heard(talk).await;
    assert_eq!(times_said(&world, "took back `semver.org`").await, 1);
}

/// Options that are refused use their text up, so what became of the hosts that it denies stands in the same comment.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_text_denies_is_told_with_the_options_for_which_it_begins_nothing() {
    for fault in [Fault::Cut, Fault::Unanswered] {
        let mut world = World::networked(FIX, "").await;
        let met = faulty(&world, 1, fault);
        let issue = world.alice().open_issue(REPO, "A question", "What is this?").expect("issue");
        world.alice().comment(REPO, issue, "/fix --branch dev it\n/deny nobody.example").expect("said");
        until_met(&met, 1).await;
        world.kill();
        world.start().await;
        let told = world.until_said(issue, "nobody allowed `nobody.example`").await;
        assert!(told.contains("`--branch dev` is not to be had"), "{told}");
        world.heard(issue).await;
        let said = (times_said(&world, "nobody.example").await, times_said(&world, "--branch dev").await);
        assert_eq!(said, (1, 1), "{fault:?}");
    }
}

/// A refusal is said once to each person, so what the text denies has a comment of its own, which stands before the refusal uses the text up.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_refused_text_denies_is_told_once_wherever_the_bot_is_killed() {
    for nth in [1, 2] {
        let mut world = World::networked(FIX, "who.fix = [\"@bob\"]").await;
        let met = Arc::new(AtomicU32::new(0));
        let counted = met.clone();
        world.forge.set_faults(move |method, path| {
            let here = method == "POST" && path.ends_with("/issues/1/comments");
            (here && counted.fetch_add(1, Ordering::SeqCst) + 1 == nth).then_some(Fault::Unanswered)
        });
        let issue = world.alice().open_issue(REPO, "A question", "What is this?").expect("issue");
        world.alice().comment(REPO, issue, "/fix it\n/deny nobody.example").expect("said");
        until_met(&met, nth).await;
        world.kill();
        world.start().await;
        world.until_said(issue, "nobody allowed `nobody.example`").await;
        world.until_said(issue, "`/fix` is for bob here").await;
        world.heard(issue).await;
        let said = (times_said(&world, "nobody.example").await, times_said(&world, "is for bob here").await);
        assert_eq!(said, (1, 1), "killed at comment {nth}");
        world.alice().comment(REPO, issue, "/fix it now\n/deny other.example").expect("said");
        world.until_said(issue, "nobody allowed `other.example`").await;
        world.heard(issue).await;
        assert_eq!(times_said(&world, "is for bob here").await, 1);
    }
}
