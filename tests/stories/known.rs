//! A secret of the host that got into a sandbox: what prints it reaches no log, no prompt and no post.

use crate::world::{REPO, World};

const SCRIPT: &str = r#"
name = "a secret in the tree"
[[turn]]
expects = ["Versions compare as text"]
text = "I look."
call = [
  { name = "bash", arguments = { command = "cat leak.txt; base64 -w0 leak.txt; echo; od -An -tx1 leak.txt | tr -d ' \n'" } },
  { name = "read_file", arguments = { path = "leak.txt" } },
]
[[turn]]
expects = ["[left out by caisson: a secret of this machine]"]
text = "It is done."
call = [ { name = "done", arguments = { summary = "I looked." } } ]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn what_the_host_holds_is_told_to_nobody() {
    let world = World::new(SCRIPT).await;
    let held = std::fs::read_to_string(world.dir.path().join("state/mark.key")).expect("the host's own key");
    let held = held.trim();
    world.push(&[("leak.txt", held)]);
    let body = format!("/fix\n\nIs this yours? {held}");
    let issue = world.alice().open_issue(REPO, "Versions compare as text", &body).expect("issue");
    world.until("an end", |task| task.actions >= 2 && !task.state.busy()).await;
    let log = world.log().await.iter().map(|event| format!("{event:?}\n")).collect::<String>();
    let hex = hex::encode(held);
    let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, held);
    for form in [held, &hex, &encoded[..40]] {
        assert!(!log.contains(form), "{form}: {log}");
    }
    let places = log.matches("a secret of this machine").count();
    assert!(places >= 5, "in the request, thrice in the command's output, in the file: {places}: {log}");
    for said in world.said(issue).await.into_iter().filter(|said| !said.starts_with("/fix")) {
        assert!(!said.contains(held), "{said}");
    }
}
