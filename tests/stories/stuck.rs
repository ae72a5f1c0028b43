//! Work without progress: the conversation is restarted with the planner; after that a person is asked.

use crate::world::{REPO, World};
use domain::{Event, PauseReason, State};

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

#[tokio::test(flavor = "multi_thread")]
async fn who_goes_in_circles_begins_anew_and_then_a_person_is_asked() {
    let dir = tempfile::tempdir().expect("a directory");
    let planner = dir.path().join("planner.toml");
    std::fs::write(&planner, PLANS).expect("written");
    let tables = format!(
        "[[model]]\nid = \"small\"\nkind = \"scripted\"\nscript = \"script.toml\"\nstyle = \"tools\"\nroles = [\"worker\"]\n\
         [[model]]\nid = \"big\"\nkind = \"scripted\"\nscript = \"{}\"\nroles = [\"planner\"]\n",
        planner.display()
    );
    let world = World::of_models(GOES_IN_CIRCLES, &tables).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    world.alice().comment(REPO, issue, "/approve").expect("said");
    let task = world.until_state("paused").await;
    let State::Paused { reason: PauseReason::Stuck { sentence }, .. } = &task.state else { panic!("{:?}", task.state) };
    assert!(sentence.contains("it gets nowhere, also after it began anew"), "{sentence}");
    let log = world.log().await;
    let models: Vec<&str> = log
        .iter()
        .filter_map(|event| if let Event::TurnCompleted { model, .. } = event { Some(model.as_str()) } else { None })
        .collect();
    assert_eq!(models[..3], ["scripted: goes in circles", "scripted: the planner", "scripted: goes in circles"]);
    assert_eq!(log.iter().filter(|event| matches!(event, Event::AnotherWay { .. })).count(), 1);
    world.until_said(issue, "It got stuck").await;
}
