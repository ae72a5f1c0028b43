//! Rules about single actions: one action waits for a person, one is refused, and a repository's own rules come only from its base.

use crate::world::{REPO, World, single};
use domain::{Event, OutcomeStatus, State};

const OPERATORS: &str = r#"
[[policy]]
name = "publishing"
then = "deny"
because = "nothing is published from here"
command = '\bnpm publish\b'
hits = ["npm publish --tag x"]
misses = ["npm ls"]
"#;

const REPOSITORYS: &str = r#"
test = "true"
[[policy]]
name = "notes"
then = "ask"
because = "people read the notes"
path = "notes/**"
hits = ["notes/a.txt"]
"#;

const WORKS: &str = r#"
name = "writes notes"
[[turn]]
text = "I write a note, and would publish."
call = [
  { name = "write_file", arguments = { path = ".caisson.toml", content = "" } },
  { name = "write_file", arguments = { path = "./notes/../notes/a.txt", content = "first\n" } },
  { name = "bash", arguments = { command = "npm publish" } },
]
[[turn]]
expects = ["nothing is published from here (publishing)"]
text = "Another note."
call = [{ name = "write_file", arguments = { path = "notes/b.txt", content = "second\n" } }]
[[turn]]
expects = ["alice did not permit it, and says: not that one"]
text = "Then only the first."
call = [
  { name = "bash", arguments = { command = "rm .caisson.toml && git checkout -q .caisson.toml; cat notes/a.txt && ls notes" } },
]
"#;

async fn question(world: &World, issue: u64, action: u32) -> String {
    let words = format!("Action {action} has not run");
    let said = world.until_said(issue, &words).await;
    world.until("the question", |task| matches!(task.state, State::Asking { number: Some(_), .. })).await;
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_waits_for_permission_runs_once_with_it_and_not_without() {
    let world = World::of_models(WORKS, &format!("{}{OPERATORS}", single("tools"))).await;
    world.push(&[(".caisson.toml", REPOSITORYS)]);
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let asked = question(&world, issue, 2).await;
    assert!(
        asked.contains("people read the notes (notes)") && asked.contains("write ./notes/../notes/a.txt:\nfirst\n"),
        "{asked}"
    );
    world.bob().comment(REPO, issue, "/approve").expect("said");
    world.until_said(issue, "bob").await;
    assert_eq!(world.task().await.state.name(), "asking", "a reader permits nothing");
    world.alice().comment(REPO, issue, "/approve").expect("said");
    question(&world, issue, 4).await;
    world.alice().comment(REPO, issue, "not that one").expect("said");
    let task = world.until_state("awaiting-review").await;
    assert_eq!((task.actions, task.used), (5, 5), "each counted once");
    let log = world.log().await;
    let ended: Vec<(u32, String)> = log
        .iter()
        .filter_map(|event| match event {
            Event::ActionFinished { number, outcome } => {
                Some((*number, format!("{:?} {}", outcome.status, outcome.text)))
            }
            _ => None,
        })
        .collect();
    assert_eq!(ended.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert!(ended[4].1.contains("first") && !ended[4].1.contains("b.txt"), "{ended:?}");
    let review = world.until_said(task.pull.expect("a pull request"), "### Checkpoint 1 ").await;
    for words in ["action 2 was permitted by alice", "action 4 was refused by alice"] {
        assert!(review.contains(words), "{words}: {review}");
    }
}

const HIDES: &str = r#"
name = "hides a line behind a key"
[[turn]]
text = "Two notes."
call = [
  { name = "write_file", arguments = { path = "notes/a.txt", content = "BEGIN\nevilevilevilevil\n" } },
  { name = "write_file", arguments = { path = "b.txt", content = "second\n" } },
]
[[turn]]
expects = ["what looks like a credential in it is never shown"]
text = "That is all."
call = [{ name = "done", arguments = { summary = "One note." } }]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn an_action_of_which_a_part_would_not_be_shown_is_refused_instead_of_asked_about() {
    let world = World::new(&HIDES.replace("BEGIN", &format!("-----BEGIN {} KEY-----", "PRIVATE"))).await;
    world.push(&[(".caisson.toml", REPOSITORYS)]);
    world.alice().open_issue(REPO, "Two notes", "/fix").expect("issue");
    world.until("a review", |task| task.checkpoint().is_some()).await;
    let ended = world.ends().await;
    assert!(
        matches!(&ended[..], [OutcomeStatus::Denied { reason }, OutcomeStatus::Ok] if reason.contains("people read the notes")),
        "{ended:?}"
    );
}

const STRANGERS: &str = r#"
[[policy]]
name = "a stranger's words"
then = "deny"
because = "a stranger may be behind it"
path = "notes/**"
after = ["stranger"]
hits = ["notes/a.txt"]
"#;

const NOTES: &str = r#"
name = "writes two notes"
[[turn]]
text = "Two notes."
call = [
  { name = "write_file", arguments = { path = "notes/a.txt", content = "first\n" } },
  { name = "write_file", arguments = { path = "b.txt", content = "second\n" } },
]
[[turn]]
text = "That is all."
call = [{ name = "done", arguments = { summary = "Two notes." } }]
"#;

/// How the two actions of [`NOTES`] ended, in an issue of `author` that alice gives `/fix`.
async fn ends(author: &str) -> Vec<OutcomeStatus> {
    let world = World::of_models(NOTES, &format!("{}{STRANGERS}", single("tools"))).await;
    world.push(&[(".caisson.toml", "test = \"true\"\n")]);
    let author = if author == "bob" { world.bob() } else { world.alice() };
    let issue = author.open_issue(REPO, "Two notes", "Please write them.").expect("issue");
    world.alice().comment(REPO, issue, "/fix").expect("said");
    world.until("a review", |task| task.checkpoint().is_some()).await;
    world.ends().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_about_strangers_words_knows_whose_issue_it_is() {
    let strangers = ends("bob").await;
    assert!(
        matches!(&strangers[..], [OutcomeStatus::Denied { reason }, OutcomeStatus::Ok] if reason.contains("a stranger's words")),
        "{strangers:?}"
    );
    let own = ends("alice").await;
    assert!(matches!(&own[..], [OutcomeStatus::Ok, OutcomeStatus::Ok]), "{own:?}");
}

const DELICATE: &str = r#"
[[policy]]
name = "the tests"
then = "deny"
because = "they would give the answer away"
path = "tests/**"
reads = true
hits = ["tests/test_semver.py"]
misses = ["semver.py"]
[[policy]]
name = "the wiki"
then = "deny"
because = "anybody may write there"
host = "*.wiki.example.org"
hits = ["en.wiki.example.org"]
misses = ["wiki.example.org"]
"#;

const CURIOUS: &str = r#"
name = "reads what is delicate"
[[turn]]
text = "I look around."
call = [
  { name = "read_file", arguments = { path = "./tests/../tests/test_semver.py" } },
  { name = "list_files", arguments = { path = "tests" } },
  { name = "web_fetch", arguments = { url = "https://en.wiki.example.org/page" } },
  { name = "read_file", arguments = { path = "semver.py" } },
]
[[turn]]
expects = ["they would give the answer away (the tests)", "anybody may write there (the wiki)"]
text = "Then not."
call = [{ name = "done", arguments = { summary = "Nothing." } }]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn reading_a_delicate_place_and_a_page_of_a_host_are_refused_with_the_reason() {
    let world = World::of_models(CURIOUS, &format!("{}{DELICATE}", single("tools"))).await;
    world.push(&[(".caisson.toml", "test = \"true\"\n")]);
    world.alice().open_issue(REPO, "Look around", "/plan").expect("issue");
    world.until("the answer", |task| task.turn == 2).await;
    let ended = world.ends().await;
    let denied = |status: &OutcomeStatus, name: &str| matches!(status, OutcomeStatus::Denied { reason } if reason.ends_with(name));
    assert!(
        denied(&ended[0], "(the tests)") && denied(&ended[1], "(the tests)") && denied(&ended[2], "(the wiki)"),
        "{ended:?}"
    );
    assert_eq!((ended.len(), &ended[3]), (4, &OutcomeStatus::Ok));
}

const AGAIN: &str = r#"
[[policy]]
name = "the same again"
then = "ask"
because = "it gave the same twice"
command = '^cat '
repeated = 2
hits = ["cat semver.py"]
misses = ["ls"]
"#;

const REPEATS: &str = r#"
name = "looks again and again"
[[turn]]
text = "I look."
call = [
  { name = "bash", arguments = { command = "cat semver.py" } },
  { name = "bash", arguments = { command = "cat semver.py" } },
  { name = "bash", arguments = { command = "cat semver.py" } },
]
[[turn]]
text = "I look once more."
call = [
  { name = "bash", arguments = { command = "cat semver.py" } },
  { name = "bash", arguments = { command = "cat semver.py" } },
]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn an_action_that_was_done_often_waits_and_the_permission_lets_that_one_through() {
    let world = World::of_models(REPEATS, &format!("{}{AGAIN}", single("tools"))).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let asked = question(&world, issue, 3).await;
    assert!(asked.contains("it gave the same twice (the same again)") && asked.contains("cat semver.py"), "{asked}");
    assert_eq!(world.ends().await.len(), 2, "the third has not run");
    world.alice().comment(REPO, issue, "/approve").expect("said");
    // The permitted one counts as the first, so the fourth runs unasked.
    question(&world, issue, 5).await;
    world.alice().comment(REPO, issue, "that is enough").expect("said");
    world.until_state("awaiting-review").await;
    let ended = world.ends().await;
    assert!(ended[..4].iter().all(OutcomeStatus::succeeded), "{ended:?}");
    assert!(
        matches!(&ended[4..], [OutcomeStatus::Denied { reason }] if reason.contains("that is enough")),
        "{ended:?}"
    );
    let given = |event: &Event| matches!(event, Event::PermissionGiven { number: 3, .. });
    assert_eq!(world.log().await.iter().filter(|event| given(event)).count(), 1);
}

/// A token as GitHub writes them, put together here so that no file of this repository holds one.
fn token() -> String {
    format!("gh{}_{}", "p", "a1B2".repeat(10))
}

const NAMES: &str = r#"
name = "names a token"
[[turn]]
text = "I count its characters, and keep it for a test."
call = [
  { name = "bash", arguments = { command = "echo TOKEN | wc -c" } },
  { name = "write_file", arguments = { path = "token.txt", content = "TOKEN\n" } },
  { name = "bash", arguments = { command = "rm token.txt" } },
  { name = "bash", arguments = { command = "ls" } },
  { name = "bash", arguments = { command = "cat semver.py" } },
]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_command_with_what_looks_like_a_credential_waits_where_there_is_a_network() {
    let script = NAMES.replace("TOKEN", &token());
    let world = World::networked(&script, "").await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let asked = question(&world, issue, 1).await;
    assert!(asked.contains("what looks like a GitHub token"), "{asked}");
    assert!(asked.contains("left out by caisson: a GitHub token") && !asked.contains(&token()), "{asked}");
    let log = world.log().await;
    let reason = log.iter().find_map(|event| match event {
        Event::PermissionAsked { reason, .. } => Some(reason.as_str()),
        _ => None,
    });
    assert!(reason.is_some_and(|reason| reason.contains("built in") && !reason.contains(&token())), "{reason:?}");
    world.alice().comment(REPO, issue, "/approve").expect("said");
    world.until_state("awaiting-review").await;
    let ended = world.ends().await;
    assert!(ended.len() == 5 && ended.iter().all(OutcomeStatus::succeeded), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_network_a_command_with_what_looks_like_a_credential_runs() {
    let world = World::new(&NAMES.replace("TOKEN", &token())).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    let ended = world.ends().await;
    assert!(ended.len() == 5 && ended.iter().all(OutcomeStatus::succeeded), "{ended:?}");
    assert!(!world.log().await.iter().any(|event| matches!(event, Event::PermissionAsked { .. })));
}
