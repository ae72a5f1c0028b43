//! A task that waits for a person costs no requests of its own. What is said to it is still noticed, and what the forge does not report is
//! found within the hour, or before it matters.

use crate::world::{FIX, PATIENCE, REPO, World, next_second};
use domain::Event;
use std::time::{Duration, Instant};

const HELP: &str = "A command stands at the beginning of a line";
const HOUR_MS: i64 = 3_600_000;

/// Number of requests about the task's issue and pull request.
fn own(world: &World) -> u64 {
    let named = |path: &str, what: &str| path.contains(&format!("{what}/")) || path.ends_with(what);
    world.forge.requests(|path| named(path, "/issues/1") || named(path, "/issues/2") || named(path, "/pulls/2"))
}

/// Waits until the bot has made this many further rounds.
async fn rounds(world: &World, count: u64) {
    let seen = || world.forge.requests(|path| path.ends_with("/issues/comments"));
    let (before, end) = (seen(), Instant::now() + PATIENCE);
    while seen() < before + count {
        assert!(Instant::now() < end, "no round began");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A task at its first review, when nothing about it is new any more.
async fn parked() -> (World, u64) {
    let mut world = World::new(FIX).await;
    world.reconfigure(|text| text.replace("waiting_s = 1\n", "waiting_s = 3600\n")).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    world.until_said(pull, "### Checkpoint 1 ").await;
    let end = Instant::now() + PATIENCE;
    loop {
        world.forge.age(REPO, 600).expect("aged");
        rounds(&world, 2).await;
        let before = own(&world);
        rounds(&world, 3).await;
        if own(&world) == before {
            return (world, pull);
        }
        assert!(Instant::now() < end, "each round asks for it: {} requests", own(&world) - before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_waits_costs_no_request_of_its_own_and_hears_a_word_without_a_hook() {
    let (world, pull) = parked().await;
    let before = own(&world);
    rounds(&world, 5).await;
    assert_eq!(own(&world), before, "rounds that ask for it");
    world.forge.lose_hooks(1);
    world.alice().comment(REPO, pull, "/status").expect("said");
    world.until_said(pull, "Task 1 is waiting for an answer to checkpoint 1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_review_is_found_within_the_hour() {
    let (world, pull) = parked().await;
    let number = world.task().await.checkpoint().expect("one stands").number;
    world.forge.lose_hooks(1);
    next_second().await;
    world.alice().edit_review(REPO, number).expect("edited");
    rounds(&world, 3).await;
    assert_eq!(world.task().await.checkpoint().map(|checkpoint| checkpoint.n), Some(1), "nobody told the bot");
    world.clock_moves_on(HOUR_MS);
    world.until_said(pull, "### Checkpoint 2 ").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_of_a_review_that_was_edited_meanwhile_does_not_count() {
    let (world, pull) = parked().await;
    let number = world.task().await.checkpoint().expect("one stands").number;
    world.forge.lose_hooks(1);
    next_second().await;
    world.alice().edit_review(REPO, number).expect("edited");
    world.approve().await;
    world.until("the review stands anew", |task| task.checkpoint().is_some_and(|checkpoint| checkpoint.n == 2)).await;
    world.until_said(pull, "this approval doesn't count").await;
    let used = world.log().await.iter().any(|event| matches!(event, Event::DecisionUsed { .. }));
    assert!(!used, "an approval of what somebody had changed was used");
    world.approve().await;
    world.until_state("final-review").await;
}

/// Gives the configuration more repositories, in which nothing happens.
async fn with_idle_repositories(world: &mut World, count: u64) {
    let mut entries = String::new();
    for n in 0..count {
        let (repo, at) = (format!("lab/idle-{n}"), caisson::forge::RepoRef::new("lab", format!("idle-{n}")));
        world.forge.add_repository(&repo, false).await.expect("a repository");
        let id = caisson::forge::ForgeReads::repository(&world.look(), &at).await.expect("the repository").id;
        entries.push_str(&format!(
            "[[repositories]]\nkey = \"idle-{n}\"\nowner = \"lab\"\nname = \"idle-{n}\"\nid = {id}\nsecret_files = [\"shop.secret\"]\ndefault_branch = \"main\"\n"
        ));
    }
    // Rounds are the test's own, besides the one at the start.
    let rare =
        |text: String| text.replace("poll_s = 1\n", "poll_s = 300\n").replace("waiting_s = 1\n", "waiting_s = 86400\n");
    world.reconfigure(|text| format!("{}\n{entries}", rare(text))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_in_which_nothing_happens_costs_two_requests_a_round() {
    const IDLE: u64 = 12;
    let (mut world, pull) = parked().await;
    with_idle_repositories(&mut world, IDLE).await;
    // The round of the start, after which each address is known.
    let end = Instant::now() + PATIENCE;
    while world.store().watermark("idle-0").await.expect("read").is_none() {
        assert!(Instant::now() < end, "no round ended");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    world.forge.age(REPO, 600).expect("aged");
    world.read_now().await.expect("read");
    let (mut fewer, looks) = (0, |path: &str| path.starts_with("/api/v1/repositories/"));
    for _ in 0..25 {
        world.forge.clock_moves_on(300);
        let (before, looked) = (world.forge.requests(|_| true), world.forge.requests(looks));
        world.read_now().await.expect("read");
        // Two for each repository, among them the one with a task that waits, and one for the forge's clock. Where an address is looked up,
        // nothing is listed.
        let looked = world.forge.requests(looks) - looked;
        assert_eq!(world.forge.requests(|_| true) - before, 2 * (IDLE + 1) + 1 - looked);
        fewer += looked;
    }
    assert!(
        (2 * (IDLE + 1)..=3 * (IDLE + 1)).contains(&fewer),
        "each address is looked up in every tenth round: {fewer}"
    );
    let round = async || {
        world.forge.clock_moves_on(300);
        let before = world.forge.requests(looks);
        world.read_now().await.expect("read");
        world.forge.requests(looks) - before
    };
    let mut rounds = 0;
    while round().await == 0 {
        rounds += 1;
        assert!(rounds < 20, "no address is looked up");
    }
    for _ in 0..9 {
        assert_eq!(round().await, 0, "each tenth round");
    }
    // What is said before a round that lists nothing is found by the next one, though it lies further back than two rounds overlap.
    world.forge.lose_hooks(1);
    world.alice().comment(REPO, pull, "/status").expect("said");
    let answered = "Task 1 is waiting for an answer to checkpoint 1";
    assert_eq!(round().await, IDLE + 1);
    assert!(!world.said(pull).await.iter().any(|text| text.contains(answered)), "nothing was listed");
    round().await;
    world.until_said(pull, answered).await;
}

/// Nobody tells the bot of the new name: a later round looks it up.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_while_another_repository_had_the_name_is_heard_once_the_address_is_looked_up() {
    let world = World::only_hooked(FIX).await;
    let issue = world.alice().open_issue(REPO, "A question", "What is this?").expect("issue");
    world.heard(issue).await;
    // A reading that is under way would look the address up.
    let end = Instant::now() + PATIENCE;
    while world.forge.hooks_underway() > 0 || !world.store().open_deliveries(1, &[]).await.expect("read").is_empty() {
        assert!(Instant::now() < end, "its deliveries are still open");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    world.forge.rename(REPO, "store").expect("renamed");
    world.forge.add_repository(REPO, false).await.expect("another one");
    world.forge.lose_hooks(1);
    world.alice().comment("lab/store", issue, "/help").expect("said");
    // Two rounds list the other repository's changes. No delivery of so old a text is waited for any more.
    for _ in 0..2 {
        world.forge.clock_moves_on(600);
        world.read_now().await.expect("read");
    }
    assert!(!world.said_in("lab/store", issue).await.iter().any(|text| text.contains(HELP)));
    // Ten times as long as one round waits for the next.
    world.forge.clock_moves_on(10 * 3600);
    world.read_now().await.expect("read");
    world.until_said_in("lab/store", issue, HELP).await;
}
