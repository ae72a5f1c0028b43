//! An issue and the pull requests of its attempts are read each by itself: whatever stands on one of them, one task is at work, and nothing that
//! was written is used up without an answer.

use crate::groups::in_core;
use crate::retry::second;
use crate::world::{FIX, PATIENCE, REPO, World};
use domain::{Event, TaskId};
use std::time::{Duration, Instant};

/// A task that was stopped, with its issue and pull request. `text` begins it.
async fn stopped(world: &World, text: &str) -> (u64, u64) {
    let issue = world.alice().open_issue(REPO, "Versions compare as text", text).expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    world.alice().comment(REPO, pull, "/stop").expect("said");
    world.until_state("cancelled").await;
    world.settled().await;
    (issue, pull)
}

async fn tasks(world: &World) -> usize {
    world.store().tasks(9).await.expect("read").len()
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < end, "waited for {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_texts_on_two_pages_one_begins_the_attempt_and_the_other_is_answered() {
    let mut world = World::new(FIX).await;
    let (issue, pull) = stopped(&world, "/fix").await;
    world.stop().await;
    world.alice().comment(REPO, pull, "/retry").expect("said");
    world.alice().comment(REPO, issue, "/retry").expect("said");
    world.start().await;
    // Whichever was taken up first, the other one was written before anybody could see the attempt that it began.
    until("both", async || {
        let said = [world.said(issue).await, world.said(pull).await].concat();
        let answers = ["is at work on this issue", "is the new attempt that `alice` asked for"];
        said.iter().any(|text| answers.iter().any(|words| text.contains(words)))
    })
    .await;
    world.read_now().await.expect("read");
    assert_eq!(tasks(&world).await, 2);
    let rows = world.store().tasks(9).await.expect("read");
    assert_eq!(rows.iter().filter(|row| row.state != "cancelled").count(), 1, "{rows:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_text_takes_back_is_answered_so_by_the_task_that_it_begins() {
    let world = World::networked(FIX, "").await;
    stopped(&world, "/fix\n\n/allow semver.org repo").await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix\n\n/deny semver.org").expect("issue");
    let task = second(&world, "awaiting-review").await;
    let pull = task.pull.expect("a pull request");
    until("the answer", async || {
        let said = [world.said(issue).await, world.said(pull).await].concat();
        said.iter().any(|text| text.contains("took back `semver.org`"))
    })
    .await;
    let said = [world.said(issue).await, world.said(pull).await].concat();
    assert!(said.iter().all(|text| !text.contains("nobody allowed")), "{said:#?}");
    assert!(world.store().grants("shop").await.expect("read").is_empty());
    let log = world.store().log(task.id).await.expect("read");
    assert!(log.iter().any(|(_, event)| matches!(event, Event::HostDenied { host, .. } if host == "semver.org")));
}

/// The denial is on the issue, and an attempt begins from the pull request of the one before.
#[tokio::test(flavor = "multi_thread")]
async fn a_denial_from_before_an_attempt_is_carried_out_while_it_works() {
    let mut world = World::networked(FIX, "who.deny = [\"team:lab/core\"]").await;
    let cody = in_core(&world);
    let (issue, pull) = stopped(&world, "/fix\n\n/allow semver.org repo\n/allow other.example repo").await;
    world.forge.refuse(&[("/orgs/lab/teams", 503)]);
    world.kill();
    cody.comment(REPO, issue, "/deny semver.org").expect("said");
    cody.comment(REPO, issue, "/allow evil.example\n/deny nobody.example").expect("said");
    cody.comment(REPO, issue, "/stop\n/deny other.example").expect("said");
    world.alice().comment(REPO, pull, "/retry").expect("said");
    world.start().await;
    let task = second(&world, "awaiting-review").await;
    assert!(world.forge.times_refused() > 0, "the denial was not judged");
    world.forge.refuse(&[]);
    until("it to be taken back", async || world.store().grants("shop").await.expect("read").is_empty()).await;
    let place = task.pull.expect("a pull request");
    until("its answer", async || {
        let said = [world.said(issue).await, world.said(place).await].concat();
        said.iter().any(|text| text.contains("took back `semver.org`"))
    })
    .await;
    let log = world.store().log(task.id).await.expect("read");
    let allowed =
        log.iter().any(|(_, event)| matches!(event, Event::HostAllowed { host, .. } if host == "evil.example"));
    assert!(!allowed, "what was allowed before it was for no task");
    world.until_said(issue, "`evil.example` was not allowed").await;
    assert_eq!(second(&world, "awaiting-review").await.id, task.id, "a `/stop` from before it ends nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_retry_on_another_page_begins_nothing_behind_the_stop_of_a_later_attempt() {
    let mut world = World::with(FIX, "who.retry = [\"team:lab/core\"]").await;
    let cody = in_core(&world);
    let (issue, first) = stopped(&world, "/fix").await;
    cody.comment(REPO, issue, "/retry").expect("said");
    let later = second(&world, "awaiting-review").await.pull.expect("a pull request");
    world.forge.refuse(&[("/orgs/lab/teams", 503)]);
    world.kill();
    cody.comment(REPO, first, "/retry").expect("said");
    world.alice().comment(REPO, later, "/stop").expect("said");
    world.start().await;
    second(&world, "cancelled").await;
    world.forge.refuse(&[]);
    world.until_said(first, "`/retry` was written before task 2 began or was ended").await;
    assert_eq!(tasks(&world).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_retry_on_another_page_begins_nothing_behind_a_stop_that_found_no_task_at_work() {
    let mut world = World::with(FIX, "who.retry = [\"team:lab/core\"]").await;
    let cody = in_core(&world);
    let (issue, pull) = stopped(&world, "/fix").await;
    world.forge.refuse(&[("/orgs/lab/teams", 503)]);
    cody.comment(REPO, pull, "/retry").expect("said");
    world.alice().comment(REPO, issue, "/stop").expect("said");
    world.until_said(issue, "`/stop` has nothing to act on").await;
    // A process of its own judges the older text.
    world.kill();
    world.forge.refuse(&[]);
    world.start().await;
    world.until_said(pull, "or before a later `/stop`, and I could not carry it out in time").await;
    assert_eq!(tasks(&world).await, 1);
    cody.comment(REPO, pull, "/retry").expect("said");
    assert_eq!(second(&world, "awaiting-review").await.id, TaskId(2), "what is written after it begins a task");
}

/// A stranger's question that the forge takes no answer to, and a stranger's word that nobody can look up.
#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_write_holds_up_no_denial_and_no_beginning() {
    let world = World::networked(FIX, "").await;
    stopped(&world, "/fix\n\n/allow semver.org repo").await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "It does.").expect("issue");
    world.heard(issue).await;
    world.forge.refuse(&[("POST /comments", 503)]);
    world.bob().comment(REPO, issue, "/help").expect("said");
    world.alice().comment(REPO, issue, "/deny semver.org").expect("said");
    until("it to be taken back", async || world.store().grants("shop").await.expect("read").is_empty()).await;
    world.forge.refuse(&[]);
    world.until_said(issue, "took back `semver.org`").await;
    world.push(&[(".caisson/commands/compare.md", "+++\ndescription = \"d\"\n+++\nCompare {words}.\n")]);
    world.forge.refuse(&[("/info/refs", 503), ("/git-upload-pack", 503)]);
    world.bob().comment(REPO, issue, "/frobnicate").expect("said");
    world.alice().comment(REPO, issue, "/fix").expect("said");
    until("a task", async || tasks(&world).await == 2).await;
    assert!(world.store().task(TaskId(2)).await.expect("read").request.is_some());
}
