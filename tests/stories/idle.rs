//! What happens to the sandbox of a task that waits long.

use crate::world::{FIX, REPO, World};
use caisson::sandbox::broker::Broker as _;
use domain::{Event, Suspension};
use protocol::broker::Purpose;

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_that_waits_long_is_removed_and_made_anew_when_work_goes_on() {
    let world = World::in_image(FIX, "image = \"local\"\nevict_after_s = 1").await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    world.until("the sandbox is put away", |task| task.suspension == Some(Suspension::Evicted)).await;
    world.nothing_left().await;
    world.approve().await;
    world.until_state("final-review").await;
    let log = world.log().await;
    assert!(
        log.iter().any(|event| matches!(event, Event::SandboxLost { .. })),
        "the agent is told that it is a new one"
    );
    world.approve().await;
    world.until_state("approved").await;
    world.nothing_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_on_disk_is_stopped_first_and_wakes_with_what_git_ignores() {
    let script = FIX.replace("git diff --stat || true", "test -e kept.log && rm kept.log");
    let script =
        script.replace("python3 -m unittest -q tests.test_semver", "echo kept > kept.log; echo '*.log' > .gitignore");
    let world = World::in_image(&script, "image = \"local\"\nstop_after_s = 1").await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    world.until("the sandbox is stopped", |task| task.suspension == Some(Suspension::Stopped)).await;
    // It gets a new network, so it is inspected again; with a mismatch it keeps its work and runs nothing.
    world.inspector.0.lock().expect("whole").push("check 9 (routes): routes: default via 10.0.0.1".to_owned());
    let before = world.task().await.actions;
    world.approve().await;
    let pull = world.until_state("paused").await.pull.expect("a pull request");
    world.inspector.0.lock().expect("whole").clear();
    assert_eq!(world.task().await.actions, before, "nothing ran");
    let left = world.broker.list().await.expect("listed");
    assert!(left.iter().any(|container| container.purpose == Purpose::Task), "it is still there: {left:?}");
    world.alice().comment(REPO, pull, "/resume").expect("said");
    world.until_state("final-review").await;
    let log = world.log().await;
    assert!(!log.iter().any(|event| matches!(event, Event::SandboxLost { .. })), "nothing was lost");
    let ends: Vec<bool> = log
        .iter()
        .filter_map(|event| match event {
            Event::ActionFinished { outcome, .. } => Some(outcome.status.succeeded()),
            _ => None,
        })
        .collect();
    assert_eq!(ends.last(), Some(&true), "{ends:?}");
}
