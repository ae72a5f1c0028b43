//! A question of the agent, from the forge's page to the model that gets the answer.

use crate::world::{REPO, World};
use domain::{Event, State};

const ASKS: &str = r#"
name = "asks before it decides"
[[turn]]
text = "Two things are called a version here."
call = [
  { name = "bash", arguments = { command = "echo seen > notes.txt" } },
  { name = "ask", arguments = { question = "Which one do you mean, @alice? </details>", options = ["the one in semver.py", "another"] } },
  { name = "bash", arguments = { command = "rm -rf ." } },
]
[[turn]]
expects = ["alice answered:", "The first, and keep its name.", "not run: the question before it waited for an answer"]
forbids = ["I would like to know, too"]
text = "That one."
call = [
  { name = "bash", arguments = { command = "cat notes.txt" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_question_waits_for_somebody_who_may_write_and_reaches_the_model_with_the_answer() {
    let world = World::new(ASKS).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let asked = world.until_said(issue, "### The agent asks").await;
    assert!(asked.contains("1. the one in `semver.py`") && asked.contains("1 of 5 actions are used"), "{asked}");
    // No mention, and no markup is closed.
    assert!(asked.contains("> Which one do you mean, `@alice`? `</details>`\n"), "{asked}");
    world.until("the question", |task| matches!(task.state, State::Asking { number: Some(_), .. })).await;
    world.bob().comment(REPO, issue, "I would like to know, too.").expect("said");
    world.alice().comment(REPO, issue, "/approve").expect("said");
    world.until_said(issue, "waiting for an answer to its question").await;
    assert_eq!(world.task().await.state.name(), "asking");
    world.alice().comment(REPO, issue, "The first, and keep its name.").expect("said");
    let task = world.until_state("awaiting-review").await;
    assert_eq!((task.actions, task.used), (5, 5), "the question counted for nothing, and its answer for no approval");
    let log = world.log().await;
    let answers: Vec<_> = log.iter().filter(|event| matches!(event, Event::QuestionAnswered { .. })).collect();
    assert_eq!(answers.len(), 1, "{log:?}");
    let review = world.until_said(task.pull.expect("a pull request"), "### Checkpoint 1 ").await;
    assert!(review.contains("the agent asked a question, and it was answered"), "{review}");
}
