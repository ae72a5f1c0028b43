//! The run of the checks on a base is made once, and used by later callers.

use std::sync::Arc;

use caisson::sandbox::checks::{ChecksResult, standing};
use caisson::sandbox::{EgressControl, Sandboxes, Settings, VerifySpec};
use domain::{Commit, Verdict, VerdictKind};

use crate::world::{KEY, World, commit, url};

/// After the previous verification was removed, because one of the same task and commit has the same name.
async fn verified(world: &World, sandboxes: &Sandboxes, spec: &VerifySpec) -> Verdict {
    let verdict = sandboxes.verification.verify(spec).await.expect("verified");
    sandboxes.leave().await;
    assert!(world.left().await.is_empty(), "a container is left");
    verdict
}

async fn changed(world: &World, text: &str) -> Commit {
    let head = commit(&world.upstream(), &[("sum.py", text)], "work");
    world.repos.fetch(KEY, &url(&world.upstream()), None).await.expect("fetched");
    head
}

/// Sandboxes in which the base's checks ran.
fn runs(world: &World) -> usize {
    let of_base = |name: &&String| ["-base", "-start"].iter().any(|side| name.contains(side));
    world.broker.created.lock().unwrap().iter().filter(of_base).count()
}

#[tokio::test]
async fn one_run_serves_the_start_every_verification_and_a_new_life() {
    let world = World::new().await;
    let command = "python3 -m unittest -v";
    let known = world
        .sandboxes
        .base_runs
        .checks_of_base(&world.checks(&world.base, Some(command)))
        .await
        .expect("run")
        .expect("known");
    assert_eq!(standing(&known.1), ChecksResult::Fail { tests: 1 });
    let mended = changed(&world, "def add(a, b):\n    return a + b\n").await;
    let verdict = verified(&world, &world.sandboxes, &world.checks(&mended, Some(command))).await;
    assert_eq!((verdict.kind, verdict.base_exit_code, verdict.looked_for), (VerdictKind::Passed, Some(1), 1));
    assert_eq!((verdict.against_base.new_errors, verdict.against_base.gone), (0, 1), "{:?}", verdict.against_base);
    let broken = changed(&world, "def add(a, b):\n    return a +\n").await;
    let worse = verified(&world, &world.sandboxes, &world.checks(&broken, Some(command))).await.against_base;
    assert_eq!(worse.new_errors, 1, "{worse:?}");
    assert!(worse.new[0].message.contains("SyntaxError"), "{worse:?}");
    let again = changed(&world, "def add(a, b):\n    return b + a\n").await;
    let verdict = verified(&world, &world.sandboxes, &world.checks(&again, Some(command))).await;
    assert_eq!((verdict.kind, verdict.base_exit_code), (VerdictKind::Passed, Some(1)));
    assert_eq!(runs(&world), 1, "{:?}", world.broker.created.lock().unwrap());

    let control: Arc<dyn EgressControl> = Arc::clone(&world.doors) as _;
    let settings = Settings::new(world.dir.path().join("state"), "local");
    let next = Sandboxes::new(Arc::clone(&world.broker) as _, Some(control), world.repos.clone(), settings, 2)
        .expect("sandboxes");
    let verdict = verified(&world, &next, &world.checks(&again, Some(command))).await;
    assert_eq!((verdict.base_exit_code, runs(&world)), (Some(1), 1));
    verified(&world, &next, &world.checks(&again, Some("python3 -m unittest"))).await;
    assert_eq!(runs(&world), 2, "another command is another run");
}

#[tokio::test]
async fn a_run_that_was_stopped_is_made_again() {
    let world = World::new().await;
    let slow = VerifySpec { wall_ms: 300, ..world.checks(&world.base, Some("sleep 60")) };
    for times in 1..=2 {
        let (_, outcome) = world.sandboxes.base_runs.checks_of_base(&slow).await.expect("run").expect("known");
        assert!(matches!(standing(&outcome), ChecksResult::Stopped(_)), "{outcome:?}");
        assert_eq!(runs(&world), times);
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_no_run() {
    let world = World::new().await;
    let base = world.checks(&world.base, Some("python3 -m unittest -v"));
    world.sandboxes.base_runs.checks_of_base(&base).await.expect("run");
    for entry in std::fs::read_dir(world.dir.path().join("state/base-runs")).expect("kept") {
        std::fs::write(entry.expect("read").path(), "{").expect("spoiled");
    }
    let (_, outcome) = world.sandboxes.base_runs.checks_of_base(&base).await.expect("run").expect("known");
    assert_eq!((standing(&outcome), runs(&world)), (ChecksResult::Fail { tests: 1 }, 2));
}
