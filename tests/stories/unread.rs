//! One thread that cannot be read affects nothing else; people are told where that is possible.

use crate::world::{FIX, PATIENCE, REPO, World};
use caisson::forge::ForgeReads;
use caisson::forge::RepoRef;
use devforge::Access;
use domain::{End, Event, PauseReason, State};
use std::time::{Duration, Instant};

/// A task at its first checkpoint; returns its issue and pull request.
async fn at_review(world: &World) -> (u64, u64) {
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    (issue, world.until_state("awaiting-review").await.pull.expect("a pull request"))
}

/// Waits until an issue that only a round can find is answered, to show that the repository is still read.
async fn others_are_heard(world: &World, repo: &str) {
    world.forge.lose_hooks(1000);
    let issue = world.alice().open_issue(repo, "Another one", "/fix").expect("issue");
    world.until_said_in(repo, issue, "is on it").await;
}

/// Waits until the forge has refused so many more requests.
pub async fn refused(world: &World, times: u64) {
    let (end, before) = (Instant::now() + PATIENCE, world.forge.times_refused());
    while world.forge.times_refused() < before + times {
        assert!(Instant::now() < end, "the bot asked only {} times", world.forge.times_refused() - before);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn paused(log: &[Event]) -> usize {
    log.iter().filter(|event| matches!(event, Event::Paused { .. })).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_whose_issue_was_deleted_ends_and_is_told_at_its_pull_request() {
    let world = World::new(FIX).await;
    let (issue, pull) = at_review(&world).await;
    world.forge.delete_issue(REPO, issue).expect("deleted");
    let task = world.until_state("failed").await;
    assert!(matches!(task.end(), Some(End::Failed { why }) if why.contains("its issue #1")), "{:?}", task.end());
    world.until_said(pull, "is not there any more").await;
    world.nothing_left().await;
    others_are_heard(&world, REPO).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_whose_pull_request_was_deleted_ends_and_is_told_at_its_issue() {
    let world = World::new(FIX).await;
    let (issue, pull) = at_review(&world).await;
    world.forge.delete_issue(REPO, pull).expect("deleted");
    world.until_state("failed").await;
    world.until_said(issue, "is not there any more").await;
    others_are_heard(&world, REPO).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_whose_repositorys_issues_are_switched_off_for_a_while_is_paused_and_goes_on() {
    let world = World::new(FIX).await;
    let (issue, pull) = at_review(&world).await;
    world.forge.switch_issues(REPO, false).expect("switched off");
    world.until_said(pull, "are switched off").await;
    let task = world.task().await;
    assert!(matches!(task.state, State::Paused { reason: PauseReason::Blocked { .. }, .. }), "{:?}", task.state);
    world.forge.switch_issues(REPO, true).expect("switched on");
    world.alice().comment(REPO, issue, "/resume").expect("said");
    world.until_state("awaiting-review").await;
    world.forge.delete_issue(REPO, issue).expect("deleted");
    world.until_state("failed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renamed_repository_is_followed_and_people_are_told() {
    let world = World::new(FIX).await;
    let (issue, pull) = at_review(&world).await;
    world.forge.rename(REPO, "store").expect("renamed");
    let told = world.until_said_in("lab/store", pull, "is `lab/store` now").await;
    assert!(told.contains("This repository was `lab/shop`"), "{told}");
    world.alice().comment("lab/store", issue, "/status").expect("said");
    world.until_said_in("lab/store", issue, "Task 1 is").await;
    let commit = world.task().await.checkpoint().and_then(|c| c.commit.clone()).expect("a commit");
    world.alice().approve("lab/store", pull, commit.as_str()).expect("approved");
    world.until_state("final-review").await;
    others_are_heard(&world, "lab/store").await;
    let moved =
        world.said_in("lab/store", pull).await.iter().filter(|text| text.contains("This repository was")).count();
    assert_eq!(moved, 1, "told once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_another_repository_took_gets_no_push() {
    let mut world = World::new(FIX).await;
    let (_, pull) = at_review(&world).await;
    world.stop().await;
    world.forge.rename(REPO, "store").expect("renamed");
    world.forge.add_repository(REPO, false).await.expect("another one");
    let commit = world.task().await.checkpoint().and_then(|c| c.commit.clone()).expect("a commit");
    world.alice().approve("lab/store", pull, commit.as_str()).expect("approved");
    world.start().await;
    world.until_state("final-review").await;
    assert_eq!(std::fs::read_dir(world.forge.repository_dir(REPO).join("refs/heads")).expect("read").count(), 0);
}

/// The bot polls only once, so it has not looked the name up since. What wakes it is said in the repository itself.
#[tokio::test(flavor = "multi_thread")]
async fn words_in_a_repository_that_took_the_name_a_moment_ago_count_for_nothing() {
    for closed in [false, true] {
        let world = World::only_hooked(FIX).await;
        let (issue, pull) = at_review(&world).await;
        world.forge.rename(REPO, "store").expect("renamed");
        world.forge.add_repository(REPO, false).await.expect("another one");
        for (login, access) in [("alice", Access::Write), ("caisson", Access::Admin)] {
            world.forge.add_collaborator(REPO, login, access).expect("added");
        }
        let same = world.alice().open_issue(REPO, "Something else", "Of the same number.").expect("an issue");
        assert_eq!(same, issue);
        if closed {
            world.alice().close(REPO, issue).expect("closed");
        } else {
            world.alice().comment(REPO, issue, "/stop").expect("said");
            // There is no delivery about it, and the bot waits for the delivery of so young a text.
            tokio::time::sleep(Duration::from_millis(4_500)).await;
        }
        world.alice().comment("lab/store", issue, "/status").expect("said");
        world.until_said_in("lab/store", issue, "Task 1 is waiting").await;
        assert_eq!(world.task().await.state.name(), "awaiting-review", "closed: {closed}");
        world.until_said_in("lab/store", pull, "is `lab/store` now").await;
        assert!(world.said_in(REPO, issue).await.is_empty(), "nothing is said to strangers");
    }
}

/// No task begins there either.
#[tokio::test(flavor = "multi_thread")]
async fn no_task_begins_in_a_repository_that_took_the_name_a_moment_ago() {
    let world = World::only_hooked(FIX).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "Look at it.").expect("issue");
    // So that no reading with the old name is still to come.
    world.heard(issue).await;
    world.forge.rename(REPO, "store").expect("renamed");
    world.forge.add_repository(REPO, false).await.expect("another one");
    for (login, access) in [("alice", Access::Write), ("caisson", Access::Admin)] {
        world.forge.add_collaborator(REPO, login, access).expect("added");
    }
    assert_eq!(world.alice().open_issue(REPO, "Something else", "Of the same number.").expect("an issue"), issue);
    world.alice().comment(REPO, issue, "/fix").expect("said");
    // The bot waits for the delivery of so recent a text.
    tokio::time::sleep(Duration::from_millis(4_500)).await;
    world.alice().comment("lab/store", issue, "/help").expect("said");
    world.until_said_in("lab/store", issue, "A command stands at the beginning of a line").await;
    assert!(world.store().live_tasks().await.expect("read").is_empty(), "a task began for strangers");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_bot_may_not_read_pauses_its_task_alone_and_stop_is_heard_where_it_can_be() {
    let world = World::new(FIX).await;
    let (issue, pull) = at_review(&world).await;
    world.forge.refuse(&[(&format!("/issues/{issue}/comments"), 403)]);
    let task = world.until_state("paused").await;
    let State::Paused { reason: PauseReason::Blocked { sentence }, .. } = &task.state else { panic!("{task:?}") };
    assert!(sentence.contains("its issue #1 cannot be read"), "{sentence}");
    world.until_said(pull, "cannot be read by the bot").await;
    others_are_heard(&world, REPO).await;
    world.forge.lose_hooks(0);
    world.alice().comment(REPO, pull, "/approve").expect("said");
    world.alice().comment(REPO, pull, "/stop").expect("said");
    let task = world.until_state("cancelled").await;
    assert!(task.checkpoints.iter().all(|checkpoint| !checkpoint.used), "an approval waits for the whole thread");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_that_is_too_long_pauses_its_task_alone_until_it_is_shorter() {
    let world = World::new(FIX).await;
    let (issue, pull) = at_review(&world).await;
    let megabyte = "x".repeat(1 << 20);
    let flood: Vec<i64> = (0..33).map(|_| world.bob().comment(REPO, issue, &megabyte).expect("said")).collect();
    world.until_state("paused").await;
    world.until_said(pull, "too long to be read").await;
    others_are_heard(&world, REPO).await;
    world.forge.lose_hooks(0);
    for id in flood {
        world.bob().delete_comment(REPO, id).expect("deleted");
    }
    world.alice().comment(REPO, issue, "/resume").expect("said");
    world.until_state("awaiting-review").await;
    world.approve().await;
    world.until_state("final-review").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forge_that_starts_or_renews_a_token_has_refused_nothing() {
    for status in [401, 403, 404] {
        let world = World::new(FIX).await;
        world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
        world.until("some work", |task| task.actions >= 2).await;
        world.forge.refuse(&[("", status)]);
        refused(&world, 30).await;
        world.forge.refuse(&[]);
        world.until_state("awaiting-review").await;
        world.forge.refuse(&[("", status)]);
        refused(&world, 12).await;
        world.forge.refuse(&[]);
        world.approve().await;
        world.until_state("final-review").await;
        assert_eq!(paused(&world.log().await), 0, "{status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_word_that_is_refused_waits_or_is_said_where_there_is_a_place() {
    let world = World::new(FIX).await;
    let (issue, pull) = at_review(&world).await;
    let post = format!("POST /issues/{issue}/comments");
    for (times, status) in [(1, 403), (2, 423)] {
        world.forge.refuse(&[(&post, status)]);
        world.alice().comment(REPO, issue, "/status").expect("said");
        refused(&world, if status == 403 { 3 } else { 1 }).await;
        world.forge.refuse(&[]);
        let answers = async || world.said(issue).await.iter().filter(|text| text.contains("Task 1 is waiting")).count();
        let end = Instant::now() + PATIENCE;
        while answers().await < times {
            assert!(Instant::now() < end, "{status}: {:#?}", world.said(issue).await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    world.forge.refuse(&[(&post, 404)]);
    world.alice().comment(REPO, issue, "/help").expect("said");
    world.until_said(pull, "A command stands at the beginning of a line").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_word_that_is_forbidden_holds_up_no_label_and_no_pull_request() {
    let world = World::new(FIX).await;
    let (issue, pull) = at_review(&world).await;
    let (here, there) = (format!("POST /issues/{issue}/comments"), format!("POST /issues/{pull}/comments"));
    world.forge.refuse(&[(&here, 403), (&there, 403)]);
    world.alice().comment(REPO, issue, "/status").expect("said");
    refused(&world, 3).await;
    world.alice().comment(REPO, pull, "/stop").expect("said");
    world.until_state("cancelled").await;
    let end = Instant::now() + PATIENCE;
    while world.look().pull(&RepoRef::new("lab", "shop"), pull).await.expect("the pull request").open {
        assert!(Instant::now() < end, "the pull request was never closed");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(world.forge.times_refused() > 0);
    world.forge.refuse(&[]);
    world.until_said(issue, "Task 1 is").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_that_is_no_other_name_is_tried_more_and_more_rarely_and_said() {
    let world = World::new(FIX).await;
    world.forge.refuse(&[("POST /pulls", 302)]);
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    refused(&world, 1).await;
    let first = Instant::now();
    let told = world.until_said(issue, "forge.url").await;
    assert!(told.contains("redirects"), "{told}");
    assert!(world.forge.times_refused() <= 5 && first.elapsed() > Duration::from_secs(3), "{:?}", first.elapsed());
    world.forge.refuse(&[]);
    world.until_state("awaiting-review").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_is_forbidden_for_certain_pauses_its_task() {
    let world = World::new(FIX).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until("some work", |task| task.actions >= 2).await;
    world.forge.refuse(&[("/git-receive-pack", 403), ("/info/refs", 403)]);
    let task = world.until_state("paused").await;
    assert!(matches!(task.state, State::Paused { reason: PauseReason::Blocked { .. }, .. }), "{:?}", task.state);
    world.forge.refuse(&[]);
    world.alice().comment(REPO, 1, "/resume").expect("said");
    world.until_state("awaiting-review").await;
}
