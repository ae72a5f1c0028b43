//! The bot is killed, hooks are lost, the forge is unavailable: the task ends as without these.

use crate::world::{FIX, PATIENCE, REPO, World, held};
use caisson::checkpoint::mark;
use caisson::config::Secret;
use caisson::forge::{ForgeReads as _, ForgeWrites as _, Gitea, NewReview, RepoRef, ReviewState};
use domain::{Event, Task};
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
    let world = World::new(&held()).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until("an action that runs", |task| task.running.is_some()).await;
    world.forge.set_outage(Some(502));
    std::fs::write(world.broker.workspace("task-1-1").join("go"), "").expect("let go");
    world.until_state("publishing").await;
    let met = world.forge.outage_met();
    let again = async {
        while world.forge.outage_met() < met + 3 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, again).await.expect("it was asked, and asked again");
    assert_eq!(world.task().await.state.name(), "publishing");
    world.forge.set_outage(None);
    let task = world.until_state("awaiting-review").await;
    let pull = task.pull.expect("a pull request");
    let standing = async |words: &str| world.said(pull).await.iter().filter(|text| text.contains(words)).count();
    assert_eq!(standing("### Checkpoint 1 ").await, 1);
    // After a review that was seen complete, the next is posted without a look first; what its interrupted try left is found nevertheless.
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

/// As after a copy of the state directory was put back: what was posted since stands on the forge, about work that is lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_review_of_another_commit_is_no_checkpoint_although_it_has_its_mark() {
    let mut world = World::new(FIX).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let pull = task.pull.expect("a pull request");
    world.stop().await;
    let token = Secret::new(world.forge.add_token("caisson").expect("a token"));
    let bot = Gitea::new(&world.forge.url().parse().expect("an address"), token, "test").expect("a client");
    let key = Secret::read(&world.config.mark_key_file()).expect("a key");
    let mark = mark::mark(key.bytes(), &format!("{}:review:{}", task.id, task.next_n()));
    let commit = task.base.as_ref().expect("a base").to_string();
    let lost = NewReview { commit, body: format!("### Of work that is lost\n\n{mark}"), notes: Vec::new() };
    let lost = bot.post_review(&RepoRef::new("lab", "shop"), pull, &lost).await.expect("posted");
    world.approve().await;
    world.start().await;
    let task = world.until_state("final-review").await;
    assert_ne!(task.checkpoint().map(|it| it.review), Some(lost.id), "nobody is shown that one for this work");
    let of_this = |text: &&String| text.contains("### Final review ");
    assert_eq!(world.said(pull).await.iter().filter(of_this).count(), 1);
}

/// A line of 64 KiB gets a note, and the forge fails at each note on its file.
#[tokio::test(flavor = "multi_thread")]
async fn notes_at_which_the_forge_fails_stand_in_the_reviews_text() {
    let list = r#"{ name = "list_files", arguments = { path = "." } },"#;
    let long = "head -c 70000 /dev/zero | tr '\\\\0' x > data.txt; echo >> data.txt";
    let script = FIX.replacen(list, &format!("{{ name = \"bash\", arguments = {{ command = \"{long}\" }} }},"), 1);
    let world = World::new(&script).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    let mut reviews = world.look().reviews(&RepoRef::new("lab", "shop"), pull).await.expect("reviews");
    reviews.retain(|review| review.author.login == "caisson");
    let [review] = &reviews[..] else { panic!("{reviews:#?}") };
    assert_eq!((review.state, review.comments), (ReviewState::Comment, 0));
    let words = "**Notes on lines** — the forge failed at them there:\n\n`data.txt:1` — A very long line";
    assert!(review.body.contains(words), "{}", review.body);
    world.approve().await;
    world.until_state("final-review").await;
}

/// Kills the bot at many moments of one task; it continues after each restart.
#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_moment_the_task_goes_on() {
    goes_on_through_kills(World::new(FIX).await).await;
}

pub async fn goes_on_through_kills(mut world: World) {
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until("a task", |task| task.seq > 0).await;
    let (mut approved, mut lives) = (0, 0);
    loop {
        // Each run of the bot gets at least three events further, or to where a person is asked.
        let further = world.task().await.seq + 3 + lives % 4;
        let asks = |task: &Task| {
            matches!(task.state.name(), "awaiting-review" | "final-review") && task.checkpoints.len() > approved
        };
        let ended = |task: &Task| task.state.name() == "approved";
        let task = world.until("more", |task| task.seq >= further || asks(task) || ended(task)).await;
        if ended(&task) {
            break;
        }
        if asks(&task) {
            approved = task.checkpoints.len();
            world.approve().await;
        }
        world.kill();
        world.start().await;
        lives += 1;
    }
    assert!(lives >= 5, "killed {lives} times");
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
