//! Conversations that grow too long for the model, and are shortened before they do.

use crate::world::{REPO, World};
use domain::Event;

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
text = "I need the second one again."
call = [{ name = "recall", arguments = { number = 2 } }]
[[turn]]
expects = ["action 2: bash seq 3001 6000", "\n4500\n"]
text = "It compares text; I compare numbers."
call = [
  { name = "edit_file", arguments = { path = "semver.py", old = "    return a > b\n", new = "    return parse(a) > parse(b)\n\n\ndef parse(text):\n    return [int(part) for part in text.split('.')]\n" } },
  { name = "done", arguments = { summary = "newer() compares the parsed numbers." } },
]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_loud_conversation_is_shortened_and_what_was_left_out_is_recalled() {
    let model = "[model]\nkind = \"scripted\"\nscript = \"script.toml\"\nstyle = \"tools\"\ncontext_tokens = 12000\nmax_output_tokens = 1000\n";
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
