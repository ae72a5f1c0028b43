//! Limits that tasks share: slots, subnets, budgets; and a conversation that became too long.

use crate::world::{FIX, PATIENCE, REPO, World, held};
use caisson::sandbox::broker::Broker as _;
use domain::{Event, State, Suspension, Task, TaskId};
use protocol::broker::Purpose;
use std::time::{Duration, Instant};

async fn other(world: &World, what: &str, holds: impl Fn(&Task) -> bool) -> Task {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Ok(task) = world.store().task(TaskId(2)).await
            && holds(&task)
        {
            return task;
        }
        assert!(Instant::now() < end, "waited for {what}: {:?}", world.store().task(TaskId(2)).await);
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
}

fn let_go(world: &World, name: &str) {
    std::fs::write(world.broker.workspace(name).join("go"), "").expect("let go");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_approved_takes_a_turn_as_who_begins_does() {
    let world = World::with(&held(), "max_tasks = 1").await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until("an action that runs", |task| task.running.is_some()).await;
    let_go(&world, "task-1-1");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    other(&world, "the second at work", |task| task.running.is_some()).await;
    world.approve().await;
    world.until_state("queued").await;
    world.alice().comment(REPO, pull, "/status").expect("said");
    world.until_said(pull, "Task 1 is in line for a free place").await;
    assert_eq!(world.task().await.state, State::Queued, "answered after the approval, and still in line");
    let_go(&world, "task-2-1");
    world.until_state("final-review").await;
    let log = world.log().await;
    let granted = log.iter().filter(|event| **event == Event::SlotGranted).count();
    assert_eq!(granted, 2, "one to begin, one after the approval");
}

/// Exactly four actions, of which the fourth is the edit.
const FOUR: &str = "[router]\nsubnets = 1\n[budget]\nactions = 4";

#[tokio::test(flavor = "multi_thread")]
async fn the_sandbox_that_waits_longest_makes_room_and_its_work_is_kept() {
    let world = World::networked(FIX, FOUR).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let paused = world.until_state("paused").await;
    assert!(paused.uncommitted && paused.pushed.is_none(), "an edit that no commit has");
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    other(&world, "the second in the one subnet", |task| task.state.name() == "paused").await;
    let kept = world.task().await;
    assert_eq!((kept.suspension, kept.kept.is_some()), (Some(Suspension::Evicted), true));
    let held: Vec<_> = world.broker.list().await.expect("listed");
    let held: Vec<_> = held.into_iter().filter(|container| container.purpose == Purpose::Task).collect();
    assert_eq!(held.len(), 1, "one subnet, one sandbox: {held:?}");
    world.alice().comment(REPO, 1, "/budget 20 actions").expect("said");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    let review = world.until_said(pull, "### Checkpoint 1 ").await;
    assert!(review.contains("return parse(a) > parse(b)"), "what was done before is in the checkpoint: {review}");
    assert!(world.store().task(TaskId(2)).await.expect("read").kept.is_some(), "now the other one made room");
    world.approve().await;
    world.until_state("final-review").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_the_budget_is_granted_by_name_within_the_ceiling_and_by_nothing_else() {
    let world = World::with(FIX, "[budget]\nmost_actions = 30").await;
    world.push(&[(".caisson.toml", "[budget]\nactions = 3\n")]);
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let paused = world.until_state("paused").await;
    assert_eq!((paused.granted.actions, paused.spent.actions), (3, 3), "the repository's own, narrower budget");
    world.alice().comment(REPO, issue, "/resume").expect("said");
    world.until_said(issue, "it would pause again at once").await;
    world.bob().comment(REPO, issue, "/budget 5 actions").expect("said");
    world.until_said(issue, "`bob`: `/budget` is for").await;
    world.alice().comment(REPO, issue, "/budget 28 actions").expect("said");
    world.until_said(issue, "30 actions in all, and 27 actions of it may still be granted").await;
    assert_eq!(world.task().await.granted.actions, 3, "nothing was granted so far");
    world.alice().comment(REPO, issue, "/budget 27 actions").expect("said");
    world.until_state("awaiting-review").await;
    let givers: Vec<(String, u64)> = world.log().await.iter().filter_map(giver).collect();
    assert_eq!(givers, [("alice".to_owned(), 27)]);
}

fn giver(event: &Event) -> Option<(String, u64)> {
    match event {
        Event::BudgetGranted { more, decision: Some(decision) } => Some((decision.poster.login.clone(), more.actions)),
        _ => None,
    }
}

/// The second turn does not fit into the model; a restarted conversation is shorter.
const TOO_LONG: &str = r#"
name = "a window that is full after one turn"
[[turn]]
expects = ["Versions compare as text"]
text = "I compare numbers."
call = [
  { name = "update_plan", arguments = { plan = "- [x] compare numbers\n- [ ] run the tests" } },
  { name = "edit_file", arguments = { path = "semver.py", old = "    return a > b\n", new = "    return parse(a) > parse(b)\n\n\ndef parse(text):\n    return [int(part) for part in text.split('.')]\n" } },
]
[[turn]]
error = "context_full"
[[conversation]]
when = "it begins here anew"
[[conversation.turn]]
expects = ["Versions compare as text", "Files you have changed so far", "semver.py", "run the tests"]
forbids = ["I compare numbers."]
text = "Only the tests are left."
call = [
  { name = "bash", arguments = { command = "python3 -m unittest -q tests.test_semver" } },
  { name = "done", arguments = { summary = "newer() compares the parsed numbers." } },
]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_grew_too_long_shows_its_work_and_begins_anew() {
    let world = World::new(TOO_LONG).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let shown = world.until_state("awaiting-review").await;
    assert_eq!(shown.used, 1, "a checkpoint before the fifth action: nothing is kept back");
    let pull = shown.pull.expect("a pull request");
    let review = world.until_said(pull, "### Checkpoint 1 ").await;
    assert!(review.contains("had become too long") && review.contains("return parse(a) > parse(b)"), "{review}");
    world.approve().await;
    world.until_state("final-review").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_too_long_with_nothing_new_done_waits_and_a_resume_begins_it_anew() {
    let script: Vec<&str> = TOO_LONG.lines().filter(|line| !line.contains("edit_file")).collect();
    let script = script.join("\n").replace("\"Files you have changed so far\", \"semver.py\", ", "");
    let world = World::new(&script).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("paused").await;
    world.until_said(issue, "`/resume` begins a new conversation").await;
    world.alice().comment(REPO, issue, "/resume").expect("said");
    world.until("an action of the new conversation", |task| task.actions == 1).await;
}
