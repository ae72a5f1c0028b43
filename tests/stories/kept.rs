//! What the agent is told about a write at once: that it would change existing tests without being asked to, and that it contains a
//! mistake.

use crate::world::{REPO, World};
use domain::OutcomeStatus;

/// A denied edit, an added test, a denied edit, a mistake, its correction; then done.
const SCRIPT: &str = r#"
name = "tests stay, and mistakes are told"
[[turn]]
expects = ["Versions compare as text"]
text = "The test is in the way."
call = [
  { name = "edit_file", arguments = { path = "tests/test_semver.py", old = "self.assertTrue(newer('1.10.0', '1.9.0'))", new = "pass" } },
  { name = "edit_file", arguments = { path = "tests/test_semver.py", old = "\n\nclass Newer", new = "\nfrom semver import parse\n\n\nclass Newer" } },
  { name = "write_file", arguments = { path = "./tests/test_semver.py", content = "" } },
  { name = "edit_file", arguments = { path = "semver.py", old = "    return a > b\n", new = "    return parse(a) > parse(b)\n" } },
]
[[turn]]
expects = ["existing tests stay as they are", "semver.py:2: undefined name `parse`"]
text = "I define it."
call = [
  { name = "edit_file", arguments = { path = "semver.py", old = "    return parse(a) > parse(b)\n", new = "    return parse(a) > parse(b)\n\n\ndef parse(text):\n    return [int(part) for part in text.split('.')]\n" } },
]
[[turn]]
text = "It is done."
call = [ { name = "done", arguments = { summary = "newer() compares the parsed numbers." } } ]
"#;

/// How each of the first actions ended.
#[tokio::test(flavor = "multi_thread")]
async fn an_existing_test_is_added_to_and_not_changed_and_a_mistake_is_told_at_once() {
    let world = World::new(SCRIPT).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    let ended = world.ends().await;
    let denied = |status: &OutcomeStatus| matches!(status, OutcomeStatus::Denied { reason } if reason.contains("test_semver.py"));
    assert!(ended.len() == 5 && denied(&ended[0]) && denied(&ended[2]), "{ended:?}");
    assert!([1, 3, 4].iter().all(|at| ended[*at] == OutcomeStatus::Ok), "{ended:?}");
    let review = world.until_said(pull, "### Checkpoint 1 ").await;
    assert!(review.contains("⛔ refused: ") && review.contains("existing tests stay as they are"), "{review}");
    assert!(review.contains(" · ⚠️ ") && review.contains("semver.py:2: undefined name"), "{review}");
    assert!(review.contains("+from semver import parse") && !review.contains("-        self.assertTrue"), "{review}");
    world.approve().await;
    world.until_state("final-review").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issue_that_names_the_test_may_have_it_changed() {
    let script = SCRIPT
        .replace(r#""existing tests stay as they are", "#, "")
        .replace("content = \"\"", "content = \"import unittest\\n\"");
    let world = World::new(&script).await;
    let words = "/fix\n\nThe case in test_semver.py is wrong too.";
    world.alice().open_issue(REPO, "Versions compare as text", words).expect("issue");
    world.until_state("awaiting-review").await;
    let ended = world.ends().await;
    assert!(ended.len() == 5 && ended.iter().all(|status| *status == OutcomeStatus::Ok), "{ended:?}");
}
