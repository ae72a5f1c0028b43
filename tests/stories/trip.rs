//! From `/fix` to a delivered branch.

use crate::world::{FIX, PATIENCE, REPO, World, held};
use caisson::forge::ForgeReads;
use caisson::forge::{PullRequest, RepoRef};
use domain::{End, Event, VerdictKind};

#[tokio::test(flavor = "multi_thread")]
async fn a_fix_becomes_a_reviewed_branch() {
    reviewed_branch(&World::new(FIX).await).await;
}

pub async fn reviewed_branch(world: &World) {
    let issue = world
        .alice()
        .open_issue(REPO, "Versions compare as text", "`1.10` sorts before `1.9`.\n\n/fix")
        .expect("issue");
    let task = world.until_state("awaiting-review").await;
    let pull = task.pull.expect("a pull request");
    let review = world.until_said(pull, "Checkpoint 1").await;
    for words in ["edit_file", "semver.py", "exit 0", "/approve", "/revise"] {
        assert!(review.contains(words), "{words} is missing:\n{review}");
    }
    let plan = |text: &str| text.contains("- [ ] compare numbers (under way)") && text.contains("- [ ] run the tests");
    assert!(plan(&pull_request(world, pull).await.body), "the plan is a check list");
    assert!(review.contains("compare numbers"), "what comes next:\n{review}");
    assert!(world.said(issue).await.iter().any(|text| !text.is_empty()), "the asker is told that it began");
    world.approve().await;
    let task = world.until_state("final-review").await;
    assert_eq!(task.verdict.as_ref().map(|v| v.kind), Some(VerdictKind::Passed), "{:?}", task.verdict);
    assert_eq!(title(world, pull).await, "WIP: Versions compare as text");
    let newer = |text: &str| text.contains("- [x] compare numbers") && text.contains("- [ ] run the tests (under way)");
    let shown = async {
        while !newer(&pull_request(world, pull).await.body) {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, shown).await.expect("the list follows the plan");
    world.approve().await;
    let task = world.until_state("approved").await;
    let ready = async {
        while title(world, pull).await != "Versions compare as text" {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, ready).await.expect("it is no draft any more");
    assert_eq!(task.head, task.pushed);
    world.nothing_left().await;
    assert_eq!(task.actions, 6);
    let log = world.log().await;
    let used = log.iter().filter(|e| matches!(e, Event::DecisionUsed { .. })).count();
    assert_eq!(used, 2, "each decision once");
}

async fn pull_request(world: &World, pull: u64) -> PullRequest {
    world.look().pull(&RepoRef::new("lab", "shop"), pull).await.expect("the pull request")
}

async fn title(world: &World, pull: u64) -> String {
    pull_request(world, pull).await.title
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_the_issue_declines_and_leaves_nothing() {
    let world = World::new(FIX).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    world.alice().close(REPO, issue).expect("closed");
    let task = world.until("an end", |task| task.end().is_some()).await;
    assert_eq!(task.end(), Some(&End::Declined));
    world.nothing_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_agent_breaks_goes_back_to_it() {
    let script = r#"
name = "breaks the test first"
[[turn]]
call = [
  { name = "bash", arguments = { command = "echo 'def newer(a, b): return False' > semver.py" } },
  { name = "done", arguments = { summary = "done" } },
]
[[turn]]
expects = ["FAILED"]
call = [
  { name = "write_file", arguments = { path = "semver.py", content = "def newer(a, b):\n    return [int(x) for x in a.split('.')] > [int(x) for x in b.split('.')]\n" } },
  { name = "done", arguments = { summary = "now it compares numbers" } },
]
"#;
    let world = World::new(script).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("final-review").await;
    assert_eq!((task.failures, task.used), (1, 2));
    assert_eq!(task.verdict.map(|v| v.kind), Some(VerdictKind::Passed));
}

/// `running` and `publishing` get a label if they last.
#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_lasts_is_labelled_and_so_is_what_waits_for_a_person() {
    let world = World::new(&held()).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until("an action that runs", |task| task.running.is_some()).await;
    until_labelled(&world, issue, "caisson/running").await;
    std::fs::write(world.broker.workspace("task-1-1").join("go"), "").expect("let go");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    for number in [issue, pull] {
        until_labelled(&world, number, "caisson/awaiting-review").await;
    }
}

async fn until_labelled(world: &World, number: u64, label: &str) {
    let (forge, at) = (world.look(), RepoRef::new("lab", "shop"));
    let labelled = async {
        while forge.labels(&at, number).await.expect("labels") != [label] {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, labelled).await.expect(label);
}
