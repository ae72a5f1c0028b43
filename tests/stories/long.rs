//! Conversations that would become too long for the model, and are shortened before.

use crate::summaries::{models, script};
use crate::world::{REPO, World};
use domain::{Event, Task};
use serde_json::{Value, json};

/// Five outputs of 14,000 characters each, in a window of 12,000 tokens.
const LOUD: &str = r#"
name = "a loud build"
[[turn]]
expects = ["keep the old name"]
text = "I look at everything."
call = [
  { name = "bash", arguments = { command = "seq 1 3000" } },
  { name = "bash", arguments = { command = "seq 3001 6000" } },
  { name = "bash", arguments = { command = "seq 6001 9000" } },
  { name = "bash", arguments = { command = "seq 9001 12000" } },
  { name = "bash", arguments = { command = "echo x > notes.txt; seq 12001 15000" } },
]
[[turn]]
expects = ["keep the old name", "`recall` with number 2 shows the whole again", "was approved"]
forbids = ["\n4500\n"]
text = "I need the middle of the second one again."
call = [{ name = "recall", arguments = { number = 2, words = "4500" } }]
[[turn]]
expects = ["action 2: bash seq 3001 6000", ": 4500\n"]
text = "It compares text; I compare numbers."
call = [
  { name = "edit_file", arguments = { path = "semver.py", old = "    return a > b\n", new = "    return parse(a) > parse(b)\n\n\ndef parse(text):\n    return [int(part) for part in text.split('.')]\n" } },
  { name = "done", arguments = { summary = "newer() compares the parsed numbers." } },
]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_loud_conversation_is_shortened_and_what_was_left_out_is_recalled() {
    let model = "[model]\nkind = \"scripted\"\nscript = \"script.toml\"\nstyle = \"tools\"\ncontext_tokens = 12000\nmax_output_tokens = 3000\nprompt = \"long\"\n";
    let world = World::of_models(LOUD, model).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix keep the old name").expect("issue");
    world.until_state("awaiting-review").await;
    world.approve().await;
    let task = world.until_state("final-review").await;
    assert_eq!((task.actions, task.used), (6, 1), "a recall counts for nothing");
    let log = world.log().await;
    let compacted: Vec<_> = log.iter().filter(|event| matches!(event, Event::Compacted { .. })).collect();
    assert!(!compacted.is_empty(), "{log:?}");
    assert!(!log.iter().any(|event| matches!(event, Event::ConversationRestarted)), "it did not have to begin anew");
}

/// Answers of five actions each without an end, given only to a request that still contains the first words.
fn endless() -> String {
    let loud = |at: u32| json!({ "name": "bash", "arguments": { "command": format!("date +%s%N | tee notes.txt; seq {at}000 {at}500") } });
    let work = json!({ "expects": ["keep the old name"], "text": "I go on.", "call": (1..=5).map(loud).collect::<Vec<Value>>() });
    let done = json!({ "name": "done", "arguments": { "summary": "It is done." } });
    let ends = json!({ "expects": ["keep the old name"], "text": "That was all.", "call": [done] });
    let told = json!({ "text": "Numbers were listed." });
    script(
        &vec![work; 60],
        &[
            json!({ "when": "Tell all of it in short.", "turn": [told] }),
            json!({ "when": "[action 300, ", "turn": vec![ends; 60] }),
        ],
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_of_three_hundred_actions_through_a_small_window_finishes_and_is_still_sent_its_first_words() {
    let models = format!("{}[budget]\nactions = 400\n", models(16_000));
    let world = World::of_models(&endless(), &models).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix keep the old name").expect("issue");
    for n in 1..=60 {
        let waits =
            |task: &Task| task.state.name() == "awaiting-review" && task.checkpoint().is_some_and(|at| at.n == n);
        let task = world.until("the next checkpoint", |task| waits(task) || task.state.name() == "paused").await;
        assert!(waits(&task), "{:?}", task.state);
        world.approve().await;
    }
    let task = world.until_state("final-review").await;
    assert_eq!(task.actions, 300);
    let log = world.log().await;
    let told = log.iter().filter(|event| matches!(event, Event::Summarised { summary } if !summary.text.is_empty()));
    assert!(told.count() > 5, "the older turns were told by the summarizer");
    assert!(!log.iter().any(|event| matches!(event, Event::ConversationRestarted)), "it did not have to begin anew");
    let largest = world.model.asked().iter().map(|request| request.chars()).max();
    assert!(largest.is_some_and(|chars| chars < 16_000 * 4), "{largest:?} characters");
}
