//! The bot's own run of the project's checks.

use std::sync::Arc;

use caisson::sandbox::{Sandboxes, Settings, VerifySpec};
use domain::{BaseTests, Commit, Verdict, VerdictCase, VerdictKind};
use protocol::broker::ContainerLimits;

use crate::docker::{IMAGE, in_containers};
use crate::world::{FILES, KEY, World, commit, git, url};

async fn verify(world: &World, head: &Commit, command: Option<&str>, wall_ms: u64) -> Verdict {
    let spec = VerifySpec { wall_ms, ..world.checks(head, command) };
    let verdict = world.sandboxes.verification.verify(&spec).await.unwrap();
    assert!(world.left().await.is_empty(), "a container is left");
    verdict
}

async fn changed(world: &World, files: &[(&str, &str)]) -> Commit {
    let head = commit(&world.upstream(), files, "work");
    world.repos.fetch(KEY, &url(&world.upstream()), None).await.unwrap();
    head
}

#[tokio::test]
async fn detected_passing_and_failing() {
    let world = World::new().await;
    let fixed = changed(&world, &[("sum.py", "def add(a, b):\n    return a + b\n")]).await;
    let verdict = verify(&world, &fixed, None, 60_000).await;
    assert_eq!(verdict.kind, VerdictKind::Passed, "{verdict:?}");
    assert_eq!((verdict.exit_code, verdict.base_exit_code), (Some(0), Some(1)));
    assert_eq!(verdict.base_tests, BaseTests::Same, "no test was changed");
    assert_eq!(
        (verdict.command.as_deref(), verdict.origin.as_deref()),
        (Some("python3 -m unittest -v"), Some("test*.py"))
    );
    let verdict = verify(&world, &world.base.clone(), None, 60_000).await;
    assert_eq!((verdict.kind, verdict.exit_code), (VerdictKind::Failed, Some(1)));
    assert!(verdict.tail.contains("FAILED"), "{}", verdict.tail);
}

#[tokio::test]
async fn a_command_of_the_project_and_one_that_hangs() {
    let world = World::new().await;
    let head = changed(&world, &[("x", "y\n")]).await;
    let verdict = verify(&world, &head, Some("cat x && test ! -e build/junk"), 60_000).await;
    assert_eq!((verdict.kind, verdict.origin.as_deref()), (VerdictKind::Passed, Some(".caisson.toml")));
    assert_eq!(verdict.base_exit_code, Some(1), "the base has no x");
    let verdict = verify(&world, &head, Some("echo begun; sleep 60"), 400).await;
    assert_eq!((verdict.kind, verdict.exit_code), (VerdictKind::Failed, None));
    assert!(verdict.tail.starts_with("[the tests took longer") && verdict.tail.contains("begun"), "{}", verdict.tail);
}

fn ended_itself(verdict: &Verdict) {
    let codes = (verdict.kind, verdict.exit_code, verdict.base_exit_code);
    assert_eq!(codes, (VerdictKind::Failed, None, Some(0)), "{verdict:?}");
    assert!(verdict.tail.starts_with("[the sandbox's first process ended by itself]"), "{}", verdict.tail);
}

#[tokio::test(flavor = "multi_thread")]
async fn tests_that_end_their_own_sandbox_have_failed() {
    let world = World::new().await;
    let head = changed(&world, &[("end", "x\n")]).await;
    let command = "test ! -e end || { kill -KILL $PPID; sleep 5; }";
    ended_itself(&verify(&world, &head, Some(command), 60_000).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn in_containers_tests_that_end_their_own_sandbox_have_failed() {
    in_containers(
        "ended",
        |_| {},
        |world, broker, _| async move {
            let settings = Settings::new(world.dir.path().join("docker"), IMAGE);
            let sandboxes =
                Sandboxes::new(Arc::new(broker), None, world.repos.clone(), settings, 1).expect("sandboxes");
            let head = changed(&world, &[("end", "x\n")]).await;
            let limits = ContainerLimits { memory_bytes: 512 << 20, tmp_bytes: 32 << 20, ..ContainerLimits::default() };
            let checks = world.checks(&head, Some("test ! -e end || { kill -TERM 1; sleep 60; }"));
            let spec = VerifySpec { image: IMAGE.to_owned(), limits, wall_ms: 30_000, ..checks };
            ended_itself(&sandboxes.verification.verify(&spec).await.expect("a verdict"));
            sandboxes.leave().await;
        },
    )
    .await;
}

#[tokio::test]
async fn none_is_none_and_the_branch_cannot_choose() {
    let world = World::with(&[("README.md", "x\n"), ("Makefile", "all:\n\ttrue\n")], |_| {}).await;
    let head = changed(&world, &[("Makefile", "test:\n\ttrue\n"), ("README.md", "y\n")]).await;
    let verdict = verify(&world, &head, None, 60_000).await;
    assert_eq!((verdict.kind, verdict.command), (VerdictKind::None, None), "only the base is asked how it is tested");
    assert!(FILES.len() > 1 && !git(&world.upstream(), &["log", "--oneline"]).is_empty());
}

#[tokio::test]
async fn a_command_that_ends_well_and_ran_no_test_is_neither_green_nor_red() {
    let world = World::new().await;
    let head = changed(&world, &[("x", "y\n")]).await;
    let none = "echo '?   example.com/sum [no test files]'; echo; echo 'Ran 0 tests in 0.000s'; echo; echo OK";
    let verdict = verify(&world, &head, Some(none), 60_000).await;
    assert_eq!((verdict.kind, verdict.exit_code), (VerdictKind::None, Some(0)), "{verdict:?}");
    assert!(verdict.case() == VerdictCase::NoTest && verdict.tail.contains("Ran 0 tests"), "{verdict:?}");
    let verdict = verify(&world, &head, Some(&format!("{none}; exit 3")), 60_000).await;
    assert_eq!((verdict.kind, verdict.exit_code), (VerdictKind::Failed, Some(3)));
    let verdict = verify(&world, &head, Some("true"), 60_000).await;
    assert_eq!(verdict.kind, VerdictKind::Passed, "it says nothing of tests");
}

#[tokio::test]
async fn tests_that_were_changed_are_told_apart_from_sources_that_were_mended() {
    let world = World::new().await;
    let weakened = changed(
        &world,
        &[(
            "test_sum.py",
            "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_nothing(self):\n        pass\n",
        )],
    )
    .await;
    let verdict = verify(&world, &weakened, None, 60_000).await;
    assert_eq!((verdict.kind, verdict.exit_code), (VerdictKind::Passed, Some(0)));
    assert_eq!(verdict.base_tests, BaseTests::Ran { exit_code: Some(1) }, "the base's tests still fail");
    let mended = [("sum.py", "def add(a, b):\n    return a + b\n"), ("test_more.py", "raise SystemExit(3)\n")];
    let mended = changed(&world, &mended).await;
    let verdict = verify(&world, &mended, Some("python3 -m unittest test_sum && test ! -e test_more.py"), 60_000).await;
    assert_eq!(verdict.exit_code, Some(1), "the branch has a test more");
    assert_eq!(verdict.base_tests, BaseTests::Ran { exit_code: Some(0) }, "which the base has not");
}

#[tokio::test]
async fn a_script_that_the_test_command_names_runs_as_the_base_has_it_too() {
    let package = "{\"scripts\": {\"test\": \"sh ci/run.sh\"}}\n";
    for (command, files) in [
        ("sh ci/run.sh", vec![("ci/run.sh", "false\n")]),
        // What stands in for npm, whose scripts are named by the base's file.
        ("npm() { sh \"ci/$1.sh\"; }; npm run", vec![("ci/run.sh", "false\n"), ("package.json", package)]),
    ] {
        let world = World::with(&[("README.md", "x\n")], |_| {}).await;
        let base = changed(&world, &files).await;
        let head = changed(&world, &[("ci/run.sh", "true\n")]).await;
        let spec = VerifySpec { base, ..world.checks(&head, Some(command)) };
        let verdict = world.sandboxes.verification.verify(&spec).await.unwrap();
        assert_eq!((verdict.kind, verdict.exit_code), (VerdictKind::Passed, Some(0)));
        assert_eq!(verdict.base_tests, BaseTests::Ran { exit_code: Some(1) }, "{command}");
    }
}

#[tokio::test]
async fn a_test_of_the_base_that_no_longer_runs_fails_the_verification() {
    let test = "import sum, unittest\n\n\nclass T(unittest.TestCase):\n    @unittest.skipIf(hasattr(sum, 'SLOW'), 'slow')\n    def test_add(self):\n        self.assertEqual(sum.add(2, 2), 4)\n";
    let world = World::with(&[("sum.py", "def add(a, b):\n    return a - b\n"), ("test_sum.py", test)], |_| {}).await;
    // The tests are unchanged, but the sources make the failing one be skipped.
    let head = changed(&world, &[("sum.py", "SLOW = True\n\n\ndef add(a, b):\n    return a - b\n")]).await;
    let verdict = verify(&world, &head, None, 60_000).await;
    assert_eq!((verdict.kind, verdict.exit_code), (VerdictKind::Failed, Some(0)), "{verdict:?}");
    assert_eq!((verdict.looked_for, verdict.missing.len()), (1, 1), "{verdict:?}");
    assert!(verdict.missing[0].contains("test_add"), "{:?}", verdict.missing);
    // Under the same name it exists again, whatever else changed.
    let honest = changed(&world, &[("sum.py", "def add(a, b):\n    return a + b\n")]).await;
    let verdict = verify(&world, &honest, None, 60_000).await;
    assert_eq!((verdict.kind, verdict.looked_for, verdict.missing.len()), (VerdictKind::Passed, 1, 0), "{verdict:?}");
}

#[tokio::test]
async fn a_missing_test_in_the_middle_of_a_long_output_is_found() {
    let world = World::new().await;
    let head = changed(&world, &[("skip", "3000\n")]).await;
    let report = "without=$(cat skip 2>/dev/null); for n in $(seq 6000); do \
                  [ \"$n\" = \"$without\" ] || echo \"test module::of::many::number_$n ... ok\"; done; echo end";
    let verdict = verify(&world, &head, Some(report), 60_000).await;
    assert_eq!(
        verdict.missing,
        ["module::of::many::number_3000"],
        "{} bytes are more than an action is shown",
        6000 * 40
    );
    assert_eq!((verdict.kind, verdict.exit_code, verdict.looked_for), (VerdictKind::Failed, Some(0), 6000));
    assert!(verdict.tail.ends_with("number_6000 ... ok\nend\n"), "{}", verdict.tail);
}

#[tokio::test]
async fn an_output_too_long_to_be_compared_is_told() {
    let world = World::new().await;
    let head = changed(&world, &[("long", "x\n")]).await;
    let report = "echo 'test a ... ok'; test ! -e long || head -c 5000000 /dev/zero | tr '\\0' x";
    let verdict = verify(&world, &head, Some(report), 60_000).await;
    assert_eq!((verdict.kind, verdict.looked_for, verdict.not_compared), (VerdictKind::Passed, 0, true));
}
