//! What a task knows of the checks on its base: that they do not run is said once, with what to do, and what fails there is told apart from
//! what the agent broke. The run on the base is made once.

use crate::world::{FIX, REPO, TEST, World};
use domain::{Event, VerdictKind};

/// Number of runs of the base's checks.
fn runs(world: &World) -> usize {
    let of_base =
        |name: &&String| name.starts_with("verify-") && ["-base", "-start"].iter().any(|it| name.contains(it));
    world.broker.created.lock().expect("created").iter().filter(of_base).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn checks_that_do_not_run_are_named_in_the_first_review() {
    let world = World::new(FIX).await;
    world.push(&[("tests/test_semver.py", &format!("import a_package_that_nobody_installed\n{TEST}"))]);
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    let review = world.until_said(pull, "Checkpoint 1").await;
    for words in ["do not run on the base", "a_package_that_nobody_installed", "caisson repo try shop"] {
        assert!(review.contains(words), "{words} is missing:\n{review}");
    }
    assert_eq!(runs(&world), 1);
}

/// Nobody has to wait for a review to learn it.
#[tokio::test(flavor = "multi_thread")]
async fn a_check_command_that_does_not_exist_is_named_on_the_issue_with_what_to_do() {
    let world = World::new(FIX).await;
    world.push(&[(".caisson.toml", "test = \"nosuchchecker --all\"\n")]);
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let shown = world.until_said(issue, "do not run on the base").await;
    assert!(shown.contains("### Task 1: ") && shown.contains("**Beforehand**"), "the status comment: {shown}");
    for words in ["image has no program", "`nosuchchecker --all`", "`.caisson.toml`", "caisson repo try shop"] {
        assert!(shown.contains(words), "{words} is missing:\n{shown}");
    }
}

/// A test that passes on the base, until `newer` is broken further.
const SECOND_TEST: &str = "import unittest\nfrom semver import newer\n\n\nclass Newest(unittest.TestCase):\n    def test_two(self):\n        self.assertTrue(newer('2.0.0', '1.0.0'))\n";
const BREAKS: &str = r#"
name = "breaks a second test"
[[turn]]
text = "I compare nothing."
call = [
  { name = "edit_file", arguments = { path = "semver.py", old = "a > b", new = "False" } },
  { name = "bash", arguments = { command = "python3 -m unittest tests.test_semver tests.test_newest" } },
]
[[turn]]
expects = [
  "failing, and not reported by the checks' run on the base (1):\n- ",
  "tests.test_newest.Newest.test_two — AssertionError: False is not true\n1 of these fails on the base too:\n- ",
  "tests.test_semver.Newer.test_ten — AssertionError: False is not true\n[[end ",
  "Ran 2 tests",
]
forbids = ["\nfailing (2)"]
text = "The second one is mine."
call = [
  { name = "edit_file", arguments = { path = "semver.py", old = "False", new = "(b < a)" } },
  { name = "bash", arguments = { command = "python3 -m unittest tests.test_semver tests.test_newest" } },
]
[[turn]]
expects = ["not reported any more: passes, or did not run (1):\n- ", "all of these fail on the base too (1):\n- "]
text = "One more look."
call = [{ name = "read_file", arguments = { path = "semver.py" } }]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_is_told_which_failure_is_its_own_and_which_the_base_has_too() {
    let world = World::new(BREAKS).await;
    let test = "test = \"python3 -m unittest tests.test_semver tests.test_newest\"\n";
    world.push(&[(".caisson.toml", test), ("tests/test_newest.py", SECOND_TEST)]);
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    // The recording refuses a request without the words, and the task would pause.
    world.until_state("awaiting-review").await;
    let log = world.log().await;
    let reports: Vec<_> = log
        .iter()
        .filter_map(|event| if let Event::Prepared { on_base, .. } = event { Some(on_base) } else { None })
        .collect();
    let [Some(report)] = &reports[..] else { panic!("{reports:?}") };
    let failing: Vec<_> = report.failing.iter().map(|one| one.test.as_deref()).collect();
    assert_eq!((failing, report.partial), (vec![Some("tests.test_semver.Newer.test_ten")], false));
}

#[tokio::test(flavor = "multi_thread")]
async fn tests_that_fail_are_no_broken_base_and_verification_makes_no_second_run() {
    let world = World::new(FIX).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    let review = world.until_said(pull, "Checkpoint 1").await;
    assert!(!review.contains("do not run on the base") && !review.contains("[!NOTE]"), "{review}");
    world.approve().await;
    world.until_state("final-review").await;
    let last = world.until_said(pull, "Final review").await;
    assert!(last.contains("on the base"), "{last}");
    assert_eq!(runs(&world), 1, "{:?}", world.broker.created.lock().expect("created"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_branch_that_moved_on_is_named_with_the_files_that_both_change() {
    let world = World::new(FIX).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let pull = task.pull.expect("a pull request");
    let review = world.until_said(pull, "Checkpoint 1").await;
    assert!(!review.contains("moved on"), "{review}");
    world.push(&[("semver.py", "def newer(a, b):\n    return a >= b\n"), ("notes.txt", "nothing\n")]);
    world.approve().await;
    world.until_state("final-review").await;
    let last = world.until_said(pull, "Final review").await;
    let base = task.base.expect("a base");
    let words =
        format!("**`main` moved on** — 1 commit since this task's base `{}`, ⚠️ also in `semver.py`", base.short());
    assert!(last.contains(&words) && !last.contains("notes.txt"), "{last}");
}

/// Not only the last review says it.
#[tokio::test(flavor = "multi_thread")]
async fn the_next_checkpoint_says_that_the_base_moved_on() {
    let look = "{ name = \"read_file\", arguments = { path = \"semver.py\" } }";
    let write = |n: u32| format!("{{ name = \"write_file\", arguments = {{ path = \"a.txt\", content = \"{n}\" }} }}");
    let turn = |n: u32| format!("[[turn]]\ncall = [{}, {look}, {look}, {look}, {look}]\n", write(n));
    let world = World::new(&format!("name = \"looks\"\n{}{}", turn(1), turn(2))).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let pull = task.pull.expect("a pull request");
    world.push(&[("notes.txt", "nothing\n")]);
    world.approve().await;
    let review = world.until_said(pull, "### Checkpoint 2 ").await;
    let base = task.base.expect("a base");
    assert!(
        review.contains(&format!("**`main` moved on** — 1 commit since this task's base `{}`", base.short())),
        "{review}"
    );
}

/// What a task may do, and how it is checked, is read at its base; a checkpoint that would change that file is not published.
#[tokio::test(flavor = "multi_thread")]
async fn a_broken_caisson_toml_on_the_agents_branch_changes_nothing() {
    let test = "python3 -m unittest -q tests.test_semver";
    let script = FIX.replace(test, "echo 'test = [broken' >> .caisson.toml");
    let script = script.replace("git diff --stat || true", "sed -i '$d' .caisson.toml");
    let mut world = World::new(&script.replace("\"approved\"", "\"is protected: it steers the bot\"")).await;
    world.push(&[(".caisson.toml", &format!("test = \"{test}\"\n"))]);
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let first = world.until_state("awaiting-review").await;
    assert!(first.pull.is_none() && first.pushed.is_none(), "nothing of it is on the forge: {first:?}");
    world.until_said(issue, "`.caisson.toml` is protected: it steers the bot, git or other machines").await;
    // A later life reads the base again, and not the broken file.
    world.kill();
    world.start().await;
    world.alice().comment(REPO, issue, "/approve").expect("said");
    let last = world.until_state("final-review").await;
    assert_eq!(last.base, first.base);
    let verdict = last.verdict.expect("the checks ran");
    assert_eq!((verdict.kind, verdict.command.as_deref()), (VerdictKind::Passed, Some(test)));
    let review = world.until_said(last.pull.expect("a pull request"), "Final review").await;
    assert!(!review.contains("`.caisson.toml`]"), "it is as it was: {review}");
}
