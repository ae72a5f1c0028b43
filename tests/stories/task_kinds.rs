//! What each kind of task may do: an explanation only reads, `/test` only writes tests, `/refactor` keeps existing tests.

use crate::world::{REPO, World};
use domain::{BaseTests, Event, OutcomeStatus, State, TaskKind, VerdictKind};

/// Reasons of refused actions.
async fn denied(world: &World) -> Vec<String> {
    let reason = |event| match event {
        Event::ActionFinished { outcome, .. } => match outcome.status {
            OutcomeStatus::Denied { reason } => Some(reason),
            _ => None,
        },
        _ => None,
    };
    world.log().await.into_iter().filter_map(reason).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_explanation_reads_and_names_places_that_are_held_against_the_base() {
    let script = r#"
name = "an explanation"
[[turn]]
expects = ["not for a plan", "why is 1.10 below 1.9?"]
call = [{ name = "read_file", arguments = { path = "semver.py" } }, { name = "write_file", arguments = { path = "semver.py", content = "" } }]
[[turn]]
expects = ["read-only"]
call = [{ name = "done", arguments = { summary = "- Text is compared as text (`semver.py:2`), and `semver.py:99` parses nothing." } }]
[[turn]]
call = [{ name = "bash", arguments = { command = "echo '# parsed' >> semver.py" } }, { name = "done", arguments = { summary = "started" } }]
"#;
    let world = World::new(script).await;
    let words = "/explain why is 1.10 below 1.9?";
    let issue = world.alice().open_issue(REPO, "Versions compare as text", words).expect("issue");
    let said = world.until_said(issue, "### Answer 1").await;
    assert!(said.contains("places that do not exist at `") && said.contains("`semver.py:99`."), "{said}");
    let (warning, answer) = said.split_once("The agent says:").expect("an answer");
    assert!(!warning.contains("semver.py:2`") && answer.contains("compared as text"), "{said}");
    let task = world.until_state("awaiting-review").await;
    assert!(task.kind == TaskKind::Explain && task.pull.is_none() && task.steps.is_empty(), "{:?}", task.steps);
    world.alice().comment(REPO, issue, "/fix").expect("said");
    let task = world.until("a pull request", |task| task.pull.is_some()).await;
    assert_eq!(task.kind, TaskKind::Fix);
}

#[tokio::test(flavor = "multi_thread")]
async fn tests_alone_are_written_and_nothing_else_gets_through_a_command() {
    let script = r#"
name = "tests, and more"
[[turn]]
expects = ["Write the tests that are missing"]
call = [
  { name = "edit_file", arguments = { path = "semver.py", old = "a > b", new = "b < a" } },
  { name = "write_file", arguments = { path = "tests/test_more.py", content = "import unittest\n\n\nclass More(unittest.TestCase):\n    def test_one(self):\n        self.assertTrue(True)\n" } },
  { name = "bash", arguments = { command = "echo '# more' >> semver.py" } },
  { name = "read_file", arguments = { path = "semver.py" } },
  { name = "read_file", arguments = { path = "semver.py" } },
]
[[turn]]
call = [{ name = "bash", arguments = { command = "true" } }, { name = "done", arguments = { summary = "A test." } }]
[[turn]]
expects = ["changes more than tests"]
call = [{ name = "done", arguments = { summary = "A test, still." } }]
[[turn]]
expects = ["changes more than tests"]
call = [{ name = "done", arguments = { summary = "A test, and that is all." } }]
[[turn]]
expects = ["changes more than tests"]
call = [{ name = "done", arguments = { summary = "A test, and that is all." } }]
"#;
    let world = World::new(script).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/test newer()").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    let denied = denied(&world).await;
    assert!(denied.len() == 1 && denied[0].contains("writes tests and nothing else"), "{denied:?}");
    let review = world.until_said(pull, "### Checkpoint 1 ").await;
    let first = review.lines().nth(2).unwrap_or_default();
    assert!(first.starts_with("⚠️ **The branch changes more than tests**: `semver.py`."), "{review}");
    world.approve().await;
    let task = world.until_state("final-review").await;
    let State::FinalReview { verdict, commit, .. } = &task.state else { panic!("{:?}", task.state) };
    assert!(verdict.kind == VerdictKind::Failed && verdict.outside == ["semver.py"], "{verdict:?}");
    let review = world.until_said(pull, "❌ changes more than tests").await;
    assert!(review.contains("❌ **The branch changes more than tests**: `semver.py`."), "{review}");
    world.alice().comment(REPO, pull, &format!("/approve {}", commit.short())).expect("said");
    world.until_said(pull, "this can't be approved, because the branch changes more than tests").await;
    world.until_state("final-review").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refactoring_keeps_the_tests_that_are_there() {
    let script = r#"
name = "a refactoring that takes a test along"
[[turn]]
expects = ["not what it does"]
call = [
  { name = "delete_file", arguments = { path = "tests", recursive = true } },
  { name = "edit_file", arguments = { path = "tests/test_semver.py", old = "test_ten", new = "test_tenth" } },
  { name = "write_file", arguments = { path = "semver.py", content = "def newer(a, b):\n    return b < a\n" } },
  { name = "bash", arguments = { command = "sed -i s/assertTrue/assertFalse/ tests/test_semver.py" } },
  { name = "write_file", arguments = { path = "tests/test_new.py", content = "import unittest\n" } },
]
[[turn]]
call = [{ name = "bash", arguments = { command = "git checkout -q tests/test_semver.py || git checkout -q HEAD~1 -- tests/test_semver.py" } }, { name = "bash", arguments = { command = "true" } }, { name = "done", arguments = { summary = "The same, shorter." } }]
"#;
    let world = World::new(script).await;
    world.alice().open_issue(REPO, "Compare the other way round", "/refactor").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    let denied = denied(&world).await;
    assert!(denied.len() == 2 && denied.iter().all(|reason| reason.contains("existing tests")), "{denied:?}");
    let review = world.until_said(pull, "### Checkpoint 1 ").await;
    let breach = "**The branch changes tests that were there before**: `tests/test_semver.py`.";
    assert!(review.lines().nth(2).unwrap_or_default().contains(breach), "{review}");
}

const MENDED: &str = "def newer(a, b):\n    return [int(x) for x in a.split('.')] > [int(x) for x in b.split('.')]\n";

/// Pushes a Rust file with a test of its own into a repository whose checks pass, and waits for the first checkpoint of a task of this command.
async fn on_rust(world: &World, file: &str, command: &str) -> (u64, String) {
    world.push(&[("src/lib.rs", file), ("semver.py", MENDED)]);
    world.alice().open_issue(REPO, "Doubles", command).expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    (pull, world.until_said(pull, "### Checkpoint 1 ").await)
}

/// Its own suite passes, and without what it added among the tests the base's do not.
#[tokio::test(flavor = "multi_thread")]
async fn a_refactoring_under_which_the_bases_tests_fail_is_not_approved() {
    let script = r#"
name = "a refactoring that leans on a file among the tests"
[[turn]]
call = [
  { name = "write_file", arguments = { path = "tests/mode.txt", content = "numbers\n" } },
  { name = "write_file", arguments = { path = "semver.py", content = "import os\n\n\ndef newer(a, b):\n    if os.path.exists('tests/mode.txt'):\n        return [int(x) for x in a.split('.')] > [int(x) for x in b.split('.')]\n    return a > b\n" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
]
[[turn]]
call = [{ name = "bash", arguments = { command = "true" } }, { name = "done", arguments = { summary = "By mode." } }]
[[turn]]
expects = ["It passes, but not with the tests as they are on the commit that the work started from"]
call = [{ name = "done", arguments = { summary = "By mode, still." } }]
[[turn]]
call = [{ name = "done", arguments = { summary = "By mode, and that is all." } }]
[[turn]]
call = [{ name = "done", arguments = { summary = "By mode, and that is all." } }]
"#;
    let world = World::new(script).await;
    world.push(&[("semver.py", MENDED)]);
    world.alice().open_issue(REPO, "Compare by mode", "/refactor").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    world.approve().await;
    let task = world.until_state("final-review").await;
    let State::FinalReview { verdict, commit, .. } = &task.state else { panic!("{:?}", task.state) };
    let ran = (verdict.exit_code, verdict.base_tests);
    assert_eq!(ran, (Some(0), BaseTests::Ran { exit_code: Some(1) }), "{verdict:?}");
    assert!(verdict.outside.is_empty() && verdict.missing.is_empty(), "nothing else fails it: {verdict:?}");
    assert_eq!(verdict.kind, VerdictKind::Failed);
    world.alice().comment(REPO, pull, &format!("/approve {}", commit.short())).expect("said");
    world.until_said(pull, "this can't be approved, because the checks fail").await;
    world.until_state("final-review").await;
}

const DOUBLE: &str = "pub fn double(a: u8) -> u8 {\n    a + a\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn doubles() {\n        assert_eq!(super::double(2), 4);\n    }\n}\n";

/// A test inside of a Rust file may move with its code in a refactoring, and asserts what it asserted.
#[tokio::test(flavor = "multi_thread")]
async fn a_refactoring_keeps_the_tests_inside_of_rust_files() {
    let script = r#"
name = "a refactoring that moves one test and weakens it, then not"
[[turn]]
call = [
  { name = "bash", arguments = { command = "sed 's/a + a/a * 2/; s/assert_eq!(super::double(2), 4);/super::double(2);/' src/lib.rs > src/double.rs; echo 'pub mod double;' > src/lib.rs" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "sed -i 's/super::double(2);/assert_eq!(super::double(2), 4);/' src/double.rs" } },
]
[[turn]]
call = [{ name = "bash", arguments = { command = "sed -i 's/^        assert/    assert/' src/double.rs" } }, { name = "done", arguments = { summary = "In a file of its own." } }]
"#;
    let weakened =
        script.replace("sed -i 's/super::double(2);/assert_eq!(super::double(2), 4);/' src/double.rs", "true");
    let world = World::new(&weakened).await;
    let (_, review) = on_rust(&world, DOUBLE, "/refactor").await;
    let breach = "**The branch changes tests that were there before**: `src/lib.rs`.";
    assert!(review.lines().nth(2).unwrap_or_default().contains(breach), "{review}");
    let world = World::new(script).await;
    let (pull, review) = on_rust(&world, DOUBLE, "/refactor").await;
    assert!(!review.contains("changes tests that were there"), "{review}");
    world.approve().await;
    let task = world.until_state("final-review").await;
    let State::FinalReview { verdict, .. } = &task.state else { panic!("{:?}", task.state) };
    assert!(verdict.outside.is_empty(), "{verdict:?}");
    world.until_said(pull, "### Final review").await;
    world.approve().await;
    world.until_state("approved").await;
}

/// Under `#[cfg(test)]` a Rust file may gain tests, and nothing else of it changes.
#[tokio::test(flavor = "multi_thread")]
async fn tests_are_written_inside_of_rust_files() {
    let edit = |more: &str| {
        let rest = "{ name = \"bash\", arguments = { command = \"true\" } }";
        let old = "    #[test]\\n    fn doubles() {\\n";
        let new =
            format!("    #[test]\\n    fn of_zero() {{\\n        assert_eq!(super::double(0), 0);\\n    }}\\n\\n{old}");
        format!(
            "name = \"tests\"\n[[turn]]\ncall = [{{ name = \"edit_file\", arguments = {{ path = \"src/lib.rs\", old = \"{old}\", new = \"{new}\" }} }}, \
             {{ name = \"bash\", arguments = {{ command = \"{more}\" }} }}, {rest}, {rest}, {rest}]\n"
        )
    };
    let world = World::new(&edit("true")).await;
    let (_, review) = on_rust(&world, DOUBLE, "/test").await;
    assert!(denied(&world).await.is_empty() && !review.contains("changes more than tests"), "{review}");
    let world = World::new(&edit("sed -i 's/a + a/a * 2/' src/lib.rs")).await;
    let (_, review) = on_rust(&world, DOUBLE, "/test").await;
    assert!(review.contains("⚠️ **The branch changes more than tests**: `src/lib.rs`."), "{review}");
}
