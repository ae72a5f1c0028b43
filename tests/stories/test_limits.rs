//! How long a test run may take: `sandbox.verify_wall_s`, after which it is ended and answered. And what its commit's status is while others
//! are answered, or wait for room; and what stays of it here.

use crate::test_runs::{branch, issue, of_a_fork, push, say, until_answered, until_status, watched};
use crate::world::{FIX, World, git};
use caisson::forge::StatusState;

const SHORT: &str = "image = \"local\"\ndisk_floor_mib = 0\nverify_wall_s = 2";

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_hangs_is_ended_and_its_answer_says_so() {
    let world = World::in_image(FIX, SHORT).await;
    let commit = branch(&world, "mend", &[("semver.py", "x = 1\n")]);
    let (one, other) = (issue(&world), issue(&world));
    say(&world, one, "/test-pr \"echo begun; sleep 600\" mend");
    let said = world.until_said(one, "**fails on the branch**").await;
    for words in ["| none: it was ended |", "[the tests took longer than they may and were stopped]", "begun\n"] {
        assert!(said.contains(words), "{words} is missing:\n{said}");
    }
    until_status(&world, &commit, "caisson/test", StatusState::Failure).await;
    say(&world, other, "/test-pr \"true\" mend --setup \"sleep 600\"");
    let said = world.until_said(other, "**the setup fails on the branch**").await;
    assert!(said.contains("| none: the setup was ended |"), "{said}");
    until_answered(&world).await;
    world.nothing_left().await;
}

/// A run that hangs on the base alone shows no bug: there the test may not have begun.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_hangs_on_the_base_shows_no_bug() {
    let world = World::in_image(FIX, SHORT).await;
    let commit = branch(&world, "mend", &[("semver.py", "x = 1\n")]);
    let issue = issue(&world);
    say(&world, issue, "/test-pr-bug \"grep -q 'x = 1' semver.py || sleep 600\" mend");
    let said = world.until_said(issue, "could not be run to its end on the base").await;
    assert!(said.contains("| none: it was ended |") && said.contains("took longer than they may"), "{said}");
    until_status(&world, &commit, "caisson/test-bug", StatusState::Error).await;
    until_answered(&world).await;
    world.nothing_left().await;
}

/// A run that is answered after a later one of its commit does not take the status back.
#[tokio::test(flavor = "multi_thread")]
async fn an_older_runs_late_answer_leaves_the_newer_ones_status() {
    let world = World::new(FIX).await;
    let commit = branch(&world, "mend", &[("semver.py", "x = 1\n")]);
    let (one, other) = (issue(&world), issue(&world));
    let first: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    world.forge.set_faults(move |method, path| {
        let upload = method == "POST" && path.ends_with("/assets");
        (upload && first.get_or_init(|| path.to_owned()) == path).then_some(devforge::Fault::Refused(502))
    });
    say(&world, one, "/test-pr \"false\" mend");
    until_status(&world, &commit, "caisson/test", StatusState::Failure).await;
    say(&world, other, "/test-pr \"true\" mend");
    until_status(&world, &commit, "caisson/test", StatusState::Success).await;
    world.forge.set_faults(|_, _| None);
    until_answered(&world).await;
    until_status(&world, &commit, "caisson/test", StatusState::Success).await;
    world.until_said(one, "**fails on the branch**").await;
}

/// Where the hour has no room for a push and nothing is to be run there any more, its commit's status waits for nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_waits_for_room_is_not_waited_for_once_that_is_taken_back() {
    let world = World::with(FIX, "tests.per_hour = 1").await;
    let pull = watched(&world, "true").await;
    let commit = push(&world, "notes.txt", "one\n");
    let line = until_status(&world, &commit, "caisson/test", StatusState::Pending).await;
    assert!(line.starts_with("waits for room"), "{line}");
    say(&world, pull, "/test-pr --off");
    let line = until_status(&world, &commit, "caisson/test", StatusState::Error).await;
    assert!(line.contains("nothing is run at pushes here any more"), "{line}");
    world.until_said(pull, "nothing is run at pushes here from now on").await;
    assert_eq!(world.store().watermarks("test-waits:").await.expect("read"), [], "nothing is noted of it any more");
}

/// A commit that was pushed over is tested no more, so its status waits for nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_waits_for_room_is_not_waited_for_once_another_commit_took_its_place() {
    let world = World::with(FIX, "tests.per_hour = 1").await;
    watched(&world, "true").await;
    let first = push(&world, "notes.txt", "one\n");
    until_status(&world, &first, "caisson/test", StatusState::Pending).await;
    let second = push(&world, "notes.txt", "two\n");
    let line = until_status(&world, &first, "caisson/test", StatusState::Error).await;
    assert!(line.contains("a newer commit took its place"), "{line}");
    let line = until_status(&world, &second, "caisson/test", StatusState::Pending).await;
    assert!(line.starts_with("waits for room"), "{line}");
}

/// What was pushed to a fork does not stay in the bot's repository: tidying forgets the refs of every number that no task has.
#[tokio::test(flavor = "multi_thread")]
async fn the_head_of_a_fork_is_kept_under_the_runs_number_alone() {
    let world = World::new(FIX).await;
    let (pull, commit) = of_a_fork(&world).await;
    say(&world, pull, "/test-pr \"true\"");
    world.until_said(pull, "**passes**").await;
    until_answered(&world).await;
    let repo = world.config.state_dir.join("repos").join("shop.git");
    let refs = git(&repo, &["for-each-ref", "--format=%(refname)", "--points-at", &commit]);
    assert_eq!(refs, format!("refs/caisson/{}/brought", caisson::store::sandbox_number(1).0));
}
