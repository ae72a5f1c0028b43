//! A secret of the host that got into a sandbox: what prints it reaches no log, no prompt and no post. What holds it is not run.

use crate::world::{REPO, World};
use caisson::secret::Secret;
use domain::{Event, OutcomeStatus};

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

const SENDS: &str = r#"
name = "knows a secret"
[[turn]]
text = "I send it."
call = [
  { name = "bash", arguments = { command = "echo ran > ran.txt; echo PLAIN" } },
  { name = "write_file", arguments = { path = "key.txt", content = "HEX\n" } },
  { name = "bash", arguments = { command = "ls" } },
]
[[turn]]
expects = ["the text holds a credential of this host (built in)"]
text = "Then not."
call = [
  { name = "bash", arguments = { command = "ls; true" } },
  { name = "bash", arguments = { command = "cat semver.py" } },
]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn an_action_that_holds_a_secret_of_the_host_is_not_run_and_is_shown_without_it() {
    let ours = Secret::random().expect("random bytes").known();
    let (plain, hex) = (ours.expose(), hex::encode(ours.expose()));
    let world = World::new(&SENDS.replace("PLAIN", plain).replace("HEX", &hex)).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let ended = world.ends().await;
    let denied = |status: &OutcomeStatus| matches!(status, OutcomeStatus::Denied { reason } if reason.contains("a credential of this host"));
    assert!(ended.len() == 5 && denied(&ended[0]) && denied(&ended[1]), "{ended:?}");
    assert!(ended[2..].iter().all(OutcomeStatus::succeeded), "{ended:?}");
    // The model's own answer is kept as it was said (decision 58). Nothing else holds it.
    let log = world.log().await;
    let others = log.iter().filter(|event| !matches!(event, Event::TurnCompleted { .. }));
    let others = others.map(|event| format!("{event:?}\n")).collect::<String>();
    for form in [plain, &hex] {
        assert!(!others.contains(form), "{form}: {others}");
    }
    let listed = log.iter().find_map(|event| match event {
        Event::ActionFinished { number: 3, outcome } => Some(outcome.text.as_str()),
        _ => None,
    });
    let listed = listed.expect("a list of files");
    assert!(listed.contains("semver.py") && !listed.contains("ran.txt") && !listed.contains("key.txt"), "{listed}");
    for number in [Some(issue), task.pull].into_iter().flatten() {
        for said in world.said(number).await {
            assert!(!said.contains(plain) && !said.contains(&hex), "{said}");
        }
    }
}
