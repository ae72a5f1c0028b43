//! What a test run may reach: nothing, unless the operator grants hosts for the repository's test runs.

use crate::test_runs::{branch, issue, of_a_fork, say, until_answered, until_lines};
use crate::world::{FIX, World};

const GRANT: &str = "[repositories.tests]\nhosts = [\"registry.test:443\", \"shut.test\"]\n";
const EVERY: &str = "egress.allow = [\"mirror.test:443\"]\negress.deny = [\"shut.test\"]";

/// What was opened by the router, and whether all of it is closed.
fn told(world: &World) -> (Vec<String>, bool) {
    let told = world.doors.as_ref().expect("a router").told.lock().expect("told").clone();
    let opened: Vec<String> = told.iter().filter(|it| it.starts_with("open")).cloned().collect();
    (opened, told.last().is_none_or(|it| it.starts_with("close")))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_reaches_what_the_operator_grants_and_its_answer_names_it() {
    let mut world = World::networked(FIX, EVERY).await;
    branch(&world, "mend", &[("semver.py", "x = 1\n")]);
    let (one, other) = (issue(&world), issue(&world));
    // A text grants nothing, nor does what is allowed to tasks.
    say(&world, one, "/allow registry.test");
    say(&world, one, "/test-pr \"true\" mend");
    let said = world.until_said(one, "**passes**").await;
    assert!(said.contains("sandbox that had no network"), "{said}");
    assert!(told(&world).0.is_empty());
    world.reconfigure(|text| text + GRANT).await;
    say(&world, other, "/test-pr-bug \"true\" mend");
    let said = world.until_said(other, "`mend`").await;
    assert!(said.contains("It could reach, as the operator grants: `mirror.test:443`, `registry.test:443`."), "{said}");
    let (opened, closed) = told(&world);
    assert_eq!(opened.len(), 2, "once on the branch, once on the base: {opened:?}");
    assert!(opened.iter().all(|it| it.ends_with(" mirror.test:443,registry.test:443")) && closed, "{opened:?}");
    until_answered(&world).await;
    world.nothing_left().await;
}

/// `kill -9` while a run has its network: the next life closes that and begins the run again.
#[tokio::test(flavor = "multi_thread")]
async fn a_network_ends_with_the_run_that_was_killed_in_it() {
    let mut world = World::networked(FIX, EVERY).await;
    world.reconfigure(|text| text + GRANT).await;
    branch(&world, "mend", &[("semver.py", "x = 1\n")]);
    let (ran, go) = (world.dir.path().join("ran"), world.dir.path().join("go"));
    let issue = issue(&world);
    let wait = format!("echo run >> {}; while [ ! -e {} ]; do sleep 0.02; done", ran.display(), go.display());
    say(&world, issue, &format!("/test-pr \"{wait}\" mend"));
    until_lines(&ran, 1).await;
    assert!(!told(&world).1, "it is open while it runs");
    world.kill();
    std::fs::write(&go, "").expect("written");
    world.start().await;
    world.until_said(issue, "**passes**").await;
    until_answered(&world).await;
    assert!(told(&world).1 && told(&world).0.len() == 2);
    world.nothing_left().await;
}

/// Who pushes to a fork may not write here, so nothing is granted to what stands there.
#[tokio::test(flavor = "multi_thread")]
async fn a_forks_head_has_no_network() {
    let mut world = World::networked(FIX, EVERY).await;
    world.reconfigure(|text| text + GRANT).await;
    let (pull, _) = of_a_fork(&world).await;
    say(&world, pull, "/test-pr \"true\"");
    let said = world.until_said(pull, "**passes**").await;
    assert!(said.contains("sandbox that had no network") && told(&world).0.is_empty(), "{said}");
}
