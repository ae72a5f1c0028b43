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

#[tokio::test(flavor = "multi_thread")]
async fn one_whose_tree_may_be_in_no_commit_stays_until_its_work_can_be_kept() {
    let turn = |command: &str| {
        format!("[[turn]]\ncall = [{{ name = \"bash\", arguments = {{ command = \"{command}\" }} }}]\n")
    };
    let (bad, good) = (turn("ln -s /etc/hostname out"), turn("rm out; echo 1 > notes.txt"));
    let sandbox = "image = \"local\"\ndisk_floor_mib = 0\nevict_after_s = 1\n[budget]\nactions = 1";
    let world = World::in_image(&format!("name = \"half a work\"\n{bad}{good}{good}"), sandbox).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until("its work was refused", |task| task.not_kept).await;
    let paused = world.task().await;
    assert_eq!((paused.state.name(), paused.suspension, paused.kept.is_some()), ("paused", None, false));
    let left = world.broker.list().await.expect("listed");
    assert!(left.iter().any(|container| container.purpose == Purpose::Task), "it has the only copy: {left:?}");
    let log = world.log().await;
    let refused = log.iter().find_map(|event| match event {
        Event::WorkNotKept { reasons } => Some(reasons.join("; ")),
        _ => None,
    });
    assert!(refused.as_ref().is_some_and(|why| why.contains("out")), "{refused:?}");
    world.alice().comment(REPO, issue, "/budget 1 actions").expect("said");
    let kept = world.until("the sandbox is put away", |task| task.suspension == Some(Suspension::Evicted)).await;
    assert!(kept.kept.is_some() && kept.actions == 2, "after the link was gone");
    world.nothing_left().await;
}
