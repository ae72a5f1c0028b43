//! Work without progress: the conversation is restarted with the planner; after that a person is asked.

use crate::world::{REPO, World};
use domain::{Event, PauseReason, State};
use std::path::Path;

const GOES_IN_CIRCLES: &str = r#"
name = "goes in circles"
[[conversation]]
when = "What you did so far led nowhere"
[[conversation.turn]]
text = "The planner has this one."
[[conversation.turn]]
text = "The same again, all the same."
call = [
  { name = "bash", arguments = { command = "cat semver.py" } },
  { name = "bash", arguments = { command = "cat semver.py" } },
  { name = "bash", arguments = { command = "cat semver.py" } },
]
[[turn]]
text = "I look."
call = [
  { name = "bash", arguments = { command = "cat semver.py" } },
  { name = "bash", arguments = { command = "cat semver.py" } },
  { name = "bash", arguments = { command = "cat semver.py" } },
  { name = "bash", arguments = { command = "cat semver.py; true" } },
  { name = "bash", arguments = { command = "cat semver.py; true" } },
]
"#;

const PLANS: &str = r#"
name = "the planner"
[[turn]]
expects = ["What you did so far led nowhere", "action 2 was action 1 again and gave the same: bash cat semver.py", "Versions compare as text"]
text = "Compare parsed numbers instead."
call = [
  { name = "update_plan", arguments = { plan = "- [ ] parse both versions" } },
  { name = "bash", arguments = { command = "cat semver.py" } },
]
"#;

/// A worker that plays the world's recording, and a planner with one of its own.
pub fn small_and_big(dir: &Path, planner: &str) -> String {
    let file = dir.join("planner.toml");
    std::fs::write(&file, planner).expect("written");
    format!(
        "[[model]]\nid = \"small\"\nkind = \"scripted\"\nscript = \"script.toml\"\nstyle = \"tools\"\nroles = [\"worker\"]\n\
         [[model]]\nid = \"big\"\nkind = \"scripted\"\nscript = \"{}\"\nroles = [\"planner\"]\n",
        file.display()
    )
}

/// The model of each turn.
fn models(log: &[Event]) -> Vec<&str> {
    log.iter()
        .filter_map(|event| if let Event::TurnCompleted { model, .. } = event { Some(model.as_str()) } else { None })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn who_goes_in_circles_begins_anew_and_then_a_person_is_asked() {
    let dir = tempfile::tempdir().expect("a directory");
    let tables = small_and_big(dir.path(), PLANS);
    let world = World::of_models(GOES_IN_CIRCLES, &tables).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    world.alice().comment(REPO, issue, "/approve").expect("said");
    let task = world.until_state("paused").await;
    let State::Paused { reason: PauseReason::Stuck { sentence }, .. } = &task.state else { panic!("{:?}", task.state) };
    assert!(sentence.contains("it gets nowhere, also after it began anew"), "{sentence}");
    let log = world.log().await;
    assert_eq!(models(&log)[..3], ["scripted: goes in circles", "scripted: the planner", "scripted: goes in circles"]);
    assert_eq!(log.iter().filter(|event| matches!(event, Event::AnotherWay { .. })).count(), 1);
    world.until_said(issue, "It got stuck").await;
}

const TALKS: &str = r#"
name = "talks"
[[conversation]]
when = "What you did so far led nowhere"
[[conversation.turn]]
text = "The planner has this one."
[[conversation.turn]]
expects = ["I act instead."]
text = "So do I."
call = [{ name = "bash", arguments = { command = "cat semver.py" } }]
[[conversation.turn]]
text = "I would change it."
[[conversation.turn]]
text = "Somebody should change it."
[[conversation.turn]]
text = "It can be changed."
[[conversation.turn]]
text = "It is as good as changed."
[[turn]]
text = "I would look at the file first."
[[turn]]
text = "Then I would change it."
[[turn]]
text = "Shall I?"
[[turn]]
text = "I am ready when you are."
[[turn]]
text = "This one is too much."
"#;

const ACTS: &str = r#"
name = "the planner"
[[turn]]
expects = ["What you did so far led nowhere", "turn 2 held words and no action", "turn 4 held words and no action", "Versions compare as text"]
forbids = ["Nothing happened: your last answer"]
text = "I act instead."
call = [{ name = "bash", arguments = { command = "cat semver.py; true" } }]
"#;

/// Words get the planner and a fresh conversation before a person: decision 17's style stays the same throughout.
#[tokio::test(flavor = "multi_thread")]
async fn who_only_talks_begins_anew_with_the_planner_before_a_person_is_asked() {
    let dir = tempfile::tempdir().expect("a directory");
    let tables = small_and_big(dir.path(), ACTS);
    let world = World::of_models(TALKS, &tables).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("paused").await;
    let State::Paused { reason: PauseReason::Stuck { sentence }, .. } = &task.state else { panic!("{:?}", task.state) };
    assert!(sentence.ends_with("turn 10 held words and no action"), "{sentence}");
    assert!(sentence.starts_with("it gets nowhere, also after it began anew"), "{sentence}");
    let said = ["talks", "talks", "talks", "talks", "the planner", "talks", "talks", "talks", "talks", "talks"];
    assert_eq!(models(&world.log().await), said.map(|name| format!("scripted: {name}")));
    world.until_said(issue, "It got stuck").await;
}
