//! A small model in the style *files*: it gets the files that an issue is about and returns changed ones; the host does the rest.
//!
//! The recording's first entry is never used, because every request already contains the example's answer.

use crate::world::{REPO, World};
use domain::{Event, OutcomeStatus, ShownFile, VerdictKind};
use std::path::PathBuf;

const WRONG: &str = r##"
name = "gives files back"
[[turn]]
[[turn]]
expects = ["# Versions compare as text", "semver.py\n```python\ndef newer", "`python3 -m unittest", "AssertionError"]
forbids = ["list_files"]
text = """
I compare the texts.

semver.py
```python
def newer(a, b):
    return a == b
```
"""
"##;

const RIGHT: &str = r##"
[[conversation]]
when = "After the last change"
[[conversation.turn]]
[[conversation.turn]]
forbids = ["I compare the texts"]
text = """
Numbers, not text.

semver.py
```python
def newer(a, b):
    return parse(a) > parse(b)


def parse(text):
    return [int(part) for part in text.split(".")]
```

tests/test_semver.py
```python
print("the model would rather have no test")
```
"""
"##;

#[tokio::test(flavor = "multi_thread")]
async fn the_host_runs_the_checks_asks_again_and_says_when_it_is_done() {
    let world = World::in_files(&format!("{WRONG}{RIGHT}")).await;
    world.alice().open_issue(REPO, "Versions compare as text", "`1.10` sorts before `1.9`.\n\n/fix").expect("issue");
    let task = world.until_state("final-review").await;
    // The recording's second answer is the first once more, which is not tried again.
    assert_eq!((task.actions, task.verdict.as_ref().map(|v| v.kind)), (3, Some(VerdictKind::Passed)));
    let review = world.until_said(task.pull.expect("a pull request"), "Final review").await;
    for words in [
        "`semver.py`, because",
        "write_files semver.py",
        "**Tried apart** — 2 candidates",
        "+    return a == b",
        "Numbers, not text.",
        "passes with it",
    ] {
        assert!(review.contains(words), "{words} is missing:\n{review}");
    }
    let log = world.log().await;
    let asked: Vec<String> = log
        .iter()
        .filter_map(|event| match event {
            Event::TurnCompleted { calls, .. } => Some(calls),
            _ => None,
        })
        .flatten()
        .filter_map(|request| request.call.action())
        .map(|action| format!("{} {}", action.kind(), action.object()))
        .collect();
    let tried = ["try semver.py"; 2];
    assert_eq!(
        (&asked[..2], &asked[2..]),
        (&tried.map(String::from)[..], &["write_files semver.py".to_owned()][..]),
        "the test stays as it was"
    );
    let runs = log.iter().filter(|event| matches!(event, Event::Looked { look, .. } if look.base.is_some())).count();
    assert_eq!(runs, 1, "the base's checks are run once");
}

/// A test that passes whatever the code does.
const PASSING: &str =
    "import unittest\n\n\nclass Semver(unittest.TestCase):\n    def test_nothing(self):\n        pass\n";

#[tokio::test(flavor = "multi_thread")]
async fn what_the_issue_gives_as_an_example_tells_an_answer_that_passes_from_one_that_does_it() {
    let silent = WRONG.replace(", \"`python3 -m unittest\", \"AssertionError\"", "");
    let world = World::in_files(&format!("{silent}{RIGHT}")).await;
    world.push(&[("tests/test_semver.py", PASSING)]);
    let body = "`newer(\"1.10\", \"1.9\")` should be `True`; today it is `False`.\n\n/fix";
    world.alice().open_issue(REPO, "Versions compare as text", body).expect("issue");
    let task = world.until_state("final-review").await;
    assert_eq!((task.actions, task.verdict.as_ref().map(|v| v.kind)), (3, Some(VerdictKind::Passed)));
    let review = world.until_said(task.pull.expect("a pull request"), "Final review").await;
    for words in [
        "**Tried apart** — 2 candidates",
        "The issue's own examples, as code under review printed it",
        "fails: `newer(\"1.10\", \"1.9\")` should give `True`, and it gives False",
        "holds: `newer(\"1.10\", \"1.9\")` should give `True`",
    ] {
        assert!(review.contains(words), "{words} is missing:\n{review}");
    }
}

/// Answers that make a passing test fail.
const WORSE: &str = r##"
name = "gives files back"
[[turn]]
[[turn]]
text = """
semver.py
```python
def newer(a, b)
    return a == b
```
"""
"##;

const NO_BETTER: &str = r##"
[[conversation]]
when = "After the last change"
[[conversation.turn]]
[[conversation.turn]]
text = """
semver.py
```python
def newer(a, b)
    return a >= b
```
"""
"##;

#[tokio::test(flavor = "multi_thread")]
async fn the_last_action_before_a_review_writes_the_best_candidate_and_the_next_round_begins_where_a_person_wants_it() {
    let reviewed = RIGHT.replace("After the last change", "compare the numbers");
    let world = World::in_files(&format!("{WORSE}{reviewed}{NO_BETTER}")).await;
    // A recording has two different answers for a round.
    world.push(&[(".caisson.toml", "[checkpoint]\nevery = 3\n")]);
    world.alice().open_issue(REPO, "Versions compare as text", "`1.10` sorts before `1.9`.\n\n/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let pull = task.pull.expect("a pull request");
    assert_eq!((task.actions, task.waiting.len()), (3, 0));
    let review = world.until_said(pull, "Checkpoint 1").await;
    for words in ["**Tried apart** — 2 candidates", "+def newer(a, b)", "| 3 | `write_files semver.py`"] {
        assert!(review.contains(words), "{words} is missing:\n{review}");
    }
    world.alice().comment(REPO, pull, "/revise Please compare the numbers.").expect("comment");
    let task = world.until_state("final-review").await;
    assert_eq!((task.actions, task.verdict.as_ref().map(|v| v.kind)), (5, Some(VerdictKind::Passed)));
}

#[tokio::test(flavor = "multi_thread")]
async fn where_a_person_wants_every_action_the_files_are_written_and_the_check_comes_first_after_the_approval() {
    let world = World::in_files(WRONG).await;
    world.push(&[(".caisson.toml", "[checkpoint]\nevery = 1\n")]);
    world.alice().open_issue(REPO, "Versions compare as text", "`1.10` sorts before `1.9`.\n\n/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    assert_eq!((task.actions, task.waiting.len()), (1, 1));
    let review = world.until_said(task.pull.expect("a pull request"), "Checkpoint 1").await;
    assert!(review.contains("**First after an approval** — `bash python3 -m unittest"), "{review}");
    world.approve().await;
    let task = world.until("the second action", |task| task.actions >= 2).await;
    let log = world.log().await;
    let used = log.iter().position(|event| matches!(event, Event::DecisionUsed { .. })).expect("approved");
    let next =
        log[used..].iter().find(|event| matches!(event, Event::ActionStarted { .. } | Event::TurnCompleted { .. }));
    assert!(matches!(next, Some(Event::ActionStarted { number: 2, .. })), "{next:?} in task {}", task.id);
}

const GUARDED: &str = r#"
test = "true"
[[policy]]
name = "versions"
then = "deny"
because = "people change this file"
path = "semver.py"
hits = ["semver.py"]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_a_rule_refuses_is_not_tried_and_not_written() {
    let plain = WRONG.replace(", \"`python3 -m unittest\", \"AssertionError\"", "");
    let world = World::in_files(&plain).await;
    world.push(&[(".caisson.toml", &format!("{GUARDED}\n[checkpoint]\nevery = 2\n"))]);
    world.alice().open_issue(REPO, "Versions compare as text", "`1.10` sorts before `1.9`.\n\n/fix").expect("issue");
    // The same answer would not be tried a second time.
    world.until("the try and its write", |task| task.actions == 2 && task.running.is_none()).await;
    let refused = "people change this file (versions)";
    for status in world.ends().await {
        assert!(matches!(&status, OutcomeStatus::Denied { reason } if reason == refused), "{status:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_and_pictures_that_this_style_does_not_show_are_not_said_to_be_given() {
    let wrong = WRONG.replace("\"list_files\"", "\"list_files\", \"snake case\", \"Run the linter\", \"shot.png\"");
    let world = World::in_files(&format!("{wrong}{RIGHT}")).await;
    world.push(&[
        ("AGENTS.md", "Name helpers in snake case.\n"),
        (".caisson/prompts/fix.md", "Run the linter before you stop.\n"),
    ]);
    let alice = world.alice();
    let issue = alice.open_issue(REPO, "Versions compare as text", "`1.10` sorts before `1.9`.").expect("issue");
    alice.attach(REPO, issue, "shot.png", &crate::pictures::png()).expect("attached");
    alice.comment(REPO, issue, "/fix").expect("said");
    let task = world.until_state("final-review").await;
    let review = world.until_said(task.pull.expect("a pull request"), "Final review").await;
    let status = world.until_said(issue, "The model was not given the rules").await;
    for words in [
        "The model was not given the rules of `AGENTS.md`: it is asked in style `files`, which shows it files alone.",
        "The model was not given the instructions of `.caisson/prompts/fix.md`",
        "The issue has 1 picture, and its model is asked in style `files`",
    ] {
        assert!(review.contains(words) && status.contains(words), "{words} is missing:\n{review}\n{status}");
    }
    assert!(!review.contains("It was given"), "{review}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_in_a_file_that_is_shown_reaches_neither_log_nor_model_and_is_not_overwritten() {
    let answers = r##"
name = "gives files back"
[[turn]]
[[turn]]
expects = ["# Versions compare as text", "TOKEN = \"[left out by caisson: a GitHub token]\""]
forbids = ["a1B2c3D4a1B2"]
text = """
semver.py
```python
TOKEN = "[left out by caisson: a GitHub token]"


def newer(a, b):
    return [int(part) for part in a.split(".")] > [int(part) for part in b.split(".")]
```
"""
"##;
    let world = World::in_files(answers).await;
    let token = crate::rules::token();
    world.push(&[("semver.py", &format!("TOKEN = \"{token}\"\n\n\ndef newer(a, b):\n    return a > b\n"))]);
    world.alice().open_issue(REPO, "Versions compare as text", "`1.10` sorts before `1.9`.\n\n/fix").expect("issue");
    let task = world.until("a denied answer", |task| task.actions > 0 && task.state.name() != "running").await;
    let log = serde_json::to_string(&world.log().await).expect("a log");
    assert!(log.contains("left out by caisson: a GitHub token") && !log.contains(&token), "{log}");
    let denied = log.contains("this would write a place where a credential was left out over the credential itself");
    assert!(denied, "{} {log}", task.state.name());
}

/// An answer that makes a file which is there, and was neither shown nor named to the model.
const OVER: &str = r##"
name = "gives files back"
[[turn]]
[[turn]]
expects = ["# Versions compare as text", "semver.py\n```python\ndef newer"]
forbids = ["padding.py"]
text = """
I move the parsing into a file of its own.

semver.py
```python
from padding import parse


def newer(a, b):
    return parse(a) > parse(b)
```

padding.py
```python
def parse(value):
    return [int(part) for part in value.split(".")]
```
"""
"##;

/// Once the file is shown, it is left as it is.
const BESIDE: &str = r##"
[[conversation]]
when = "padding.py (lines 1 to 100)"
[[conversation.turn]]
[[conversation.turn]]
expects = ["def blue_aa(box):"]
text = """
There is a padding.py already, so the parsing stays here.

semver.py
```python
def newer(a, b):
    return parse(a) > parse(b)


def parse(value):
    return [int(part) for part in value.split(".")]
```
"""
"##;

/// What is asked where a file of the repository shares no word with it, so that no survey finds that.
const OLDER: &str = "`newer` takes `1.10` for older than `1.9`.\n\n/fix";

/// A long file, of which a part is shown.
fn padding() -> String {
    let names = ('a'..='z').flat_map(|a| ('a'..='e').map(move |b| format!("{a}{b}")));
    names.map(|name| format!("def blue_{name}(box):\n    return box + box\n\n\n")).collect()
}

/// The file in the task's workspace.
fn padding_of(world: &World) -> PathBuf {
    world.broker.workspace("task-1-1").join("padding.py")
}

fn is_refused(status: &OutcomeStatus) -> bool {
    matches!(status, OutcomeStatus::Failed { reason } if reason.starts_with("padding.py is there already"))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_never_writes_over_a_file_that_it_was_not_shown_and_sees_it_next() {
    let world = World::in_files(&format!("{OVER}{BESIDE}")).await;
    world.push(&[("padding.py", &padding()), ("tests/test_semver.py", PASSING)]);
    world.alice().open_issue(REPO, "Versions compare as text", OLDER).expect("issue");
    let task = world.until_state("final-review").await;
    assert_eq!((task.actions, task.verdict.as_ref().map(|v| v.kind)), (3, Some(VerdictKind::Passed)));
    let ends = world.ends().await;
    assert!(is_refused(&ends[0]) && ends[1..].iter().all(OutcomeStatus::succeeded), "{ends:?}");
    let (mut looks, mut changed) = (Vec::new(), Vec::new());
    for event in world.log().await {
        match event {
            Event::Looked { look, .. } => looks.push(look.files),
            Event::TreeCaptured { tree, .. } => changed.extend(tree.files.into_iter().map(|file| file.path)),
            _ => {}
        }
    }
    let paths = |files: &Vec<ShownFile>| files.iter().map(|file| file.path.clone()).collect::<Vec<_>>().join(" ");
    assert_eq!(looks.iter().map(paths).collect::<Vec<_>>(), ["semver.py", "semver.py padding.py"]);
    assert_eq!(looks[1][1].text, padding(), "the whole text is known, though a part was shown");
    assert_eq!(changed, ["semver.py"]);
    assert_eq!(std::fs::read_to_string(padding_of(&world)).ok(), Some(padding()));
    let review = world.until_said(task.pull.expect("a pull request"), "Final review").await;
    for words in ["padding.py is there already", "an answer that was not shown it would have written over it"] {
        assert!(review.contains(words), "{words} is missing:\n{review}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_host_writes_such_an_answer_into_the_workspace_nothing_of_it_is_written() {
    let world = World::in_files(OVER).await;
    let every = "[checkpoint]\nevery = 2\n";
    world.push(&[("padding.py", &padding()), ("tests/test_semver.py", PASSING), (".caisson.toml", every)]);
    world.alice().open_issue(REPO, "Versions compare as text", OLDER).expect("issue");
    // One try, and the write of the only candidate there is.
    world.until("both actions", |task| task.actions == 2 && task.running.is_none()).await;
    let ends = world.ends().await;
    assert!(ends.len() == 2 && ends.iter().all(is_refused), "{ends:?}");
    assert_eq!(std::fs::read_to_string(padding_of(&world)).ok(), Some(padding()));
    let semver = padding_of(&world).with_file_name("semver.py");
    assert!(!std::fs::read_to_string(semver).expect("read").contains("padding"), "the other file neither");
}
