//! A repository's own rules for work in it.

use crate::world::{REPO, World};
use domain::Event;

const FOLLOWS: &str = r#"
name = "follows the rules"
[[turn]]
expects = ["Versions compare as text", "Name helpers in snake case.", "follow them in how you work", "tests/AGENTS.md"]
text = "I write rules of my own first."
call = [
  { name = "bash", arguments = { command = "echo \"the agent's own rules\" > AGENTS.md; echo x > notes.txt" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn the_rules_of_the_base_are_given_to_the_agent_and_named_in_the_first_review() {
    let world = World::new(FOLLOWS).await;
    let rules = [
        ("AGENTS.md", "Name helpers in snake case.\n"),
        ("CLAUDE.md", "Name helpers in snake case.\n"),
        ("tests/AGENTS.md", "Only here: use tabs.\n"),
    ];
    world.push(&rules);
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until("a review", |task| task.pull.is_some() && !task.checkpoints.is_empty()).await;
    let review = world.until_said(task.pull.expect("a pull request"), "given the rules of `AGENTS.md`").await;
    assert!(!review.contains("`CLAUDE.md`"), "it says the same: {review}");
    let log = world.log().await;
    let given = log.iter().find_map(|event| match event {
        Event::Prepared { rules, .. } => Some(rules),
        _ => None,
    });
    let given = given.expect("prepared");
    assert_eq!((given.files.len(), given.nested.as_slice()), (1, &["tests/AGENTS.md".to_owned()][..]));
}

const ENTERS: &str = r#"
name = "enters a folder"
[[turn]]
expects = ["Versions compare as text", "those of a folder are shown to you once you work there", "tests/AGENTS.md"]
forbids = ["Only here: use tabs."]
text = "I look at the tests."
call = [{ name = "read_file", arguments = { path = "tests/test_semver.py" } }]
[[turn]]
expects = ["You work in a folder that has rules of its own", "Only here: use tabs."]
forbids = ["TOKEN=gh"]
text = "I know how tests are written here."
call = [
  { name = "bash", arguments = { command = "echo x > notes.txt" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
]
[[turn]]
expects = ["Only here: use tabs."]
text = "I go on there."
call = [
  { name = "read_file", arguments = { path = "tests/test_semver.py" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn rules_of_a_folder_are_given_where_the_work_is_and_named_in_the_next_review() {
    let world = World::new(ENTERS).await;
    let of_tests = format!("Only here: use tabs.\nTOKEN={}\n", token());
    world.push(&[("AGENTS.md", "Name helpers in snake case.\n"), ("tests/AGENTS.md", &of_tests)]);
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until("a review", |task| task.pull.is_some() && !task.checkpoints.is_empty()).await;
    let pull = task.pull.expect("a pull request");
    let sentence = "worked in folders with rules of their own, and was told of these: `tests/AGENTS.md`";
    world.until_said(pull, sentence).await;
    world.alice().comment(REPO, issue, "/approve").expect("said");
    world.until("a second review", |task| task.checkpoints.len() > 1).await;
    let all = world.said(pull).await.concat();
    assert_eq!(all.matches(sentence).count(), 1, "once: {all}");
    let log = serde_json::to_string(&world.log().await).expect("a log");
    assert!(log.contains("use tabs") && !log.contains(&token()), "without its credential: {log}");
}

const INSTRUCTED: &str = r#"
name = "follows the instructions for its kind"
[[turn]]
expects = ["Run the linter before you stop.", "They change nothing about what is asked"]
forbids = ["Only for plans."]
text = "I put my own in their place."
call = [
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "echo x > notes.txt" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn instructions_for_its_kind_are_given_and_a_mistake_in_others_is_said_on_the_issue() {
    let world = World::new(INSTRUCTED).await;
    world.push(&[
        (".caisson/prompts/fix.md", "Run the linter before you stop.\n"),
        (".caisson/prompts/plan.md", "Only for plans.\n"),
        (".caisson/prompts/system.md", "You may push.\n"),
    ]);
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until("a review", |task| task.pull.is_some() && !task.checkpoints.is_empty()).await;
    let review = world.until_said(task.pull.expect("a pull request"), "### Checkpoint 1 ").await;
    assert!(review.contains("instructions of `.caisson/prompts/fix.md` after the bot's own"), "{review}");
    let said = world.until_said(issue, "`.caisson/prompts/system.md:1`").await;
    assert!(said.starts_with("### Task 1: ") && said.contains("no kind of task has this name"), "{said}");
    let log = serde_json::to_string(&world.log().await).expect("a log");
    assert!(!log.contains("You may push."), "what has no kind is not kept: {log}");
}

/// In place of the bot's own for their kind; what guards is told all the same.
#[tokio::test(flavor = "multi_thread")]
async fn instructions_stand_in_place_of_the_bots_own_where_their_file_says_so() {
    let script = r#"
name = "an explanation"
[[turn]]
expects = ["They stand in place of the usual ones", "Answer in one line.", "trust=\"base branch\""]
forbids = ["list no steps to carry out"]
call = [{ name = "done", arguments = { summary = "It compares text." } }]
"#;
    let world = World::new(script).await;
    world.push(&[(".caisson/prompts/explain.md", "+++\nreplace = true\n+++\nAnswer in one line.\n")]);
    let issue = world.alice().open_issue(REPO, "How are versions compared?", "/explain").expect("issue");
    world.until_said(issue, "It compares text.").await;
    let note = |event| if let Event::Prepared { note, .. } = event { note } else { None };
    let told = world.log().await.into_iter().find_map(note).expect("a note");
    assert!(told.contains("the instructions of `.caisson/prompts/explain.md` in place of the bot's own"), "{told}");
}

/// A token of GitHub's form that is none, put together so that no scanner of this repository finds it.
pub fn token() -> String {
    format!("gh{}_{}", "p", "a1B2c3D4".repeat(5))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_in_a_persons_words_or_in_an_answer_is_not_posted() {
    let says = format!(
        r#"
name = "says a token"
[[turn]]
expects = ["my token is [left out by caisson: a GitHub token]", "and also [left out by caisson: a GitHub token]"]
forbids = ["a1B2c3D4a1B2"]
text = "I take {0}."
call = [
  {{ name = "edit_file", arguments = {{ path = "semver.py", old = "return a > b", new = "return [int(part) for part in a.split('.')] > [int(part) for part in b.split('.')]" }} }},
  {{ name = "bash", arguments = {{ command = "echo '{0}' > /tmp/token" }} }},
  {{ name = "done", arguments = {{ summary = "It uses {0} now." }} }},
]
"#,
        token()
    );
    let world = World::new(&says).await;
    let body = format!("my token is {}\n\n/fix and also {}", token(), token());
    let issue = world.alice().open_issue(REPO, "Versions compare as text", &body).expect("issue");
    let task = world.until_state("final-review").await;
    let pull = task.pull.expect("a pull request");
    let review = world.until_said(pull, "It uses `[left` out by caisson: a GitHub `token]` now.").await;
    let posts = [world.said(pull).await, world.said(issue).await].concat().concat();
    assert!(!posts.contains(&token()) && !review.contains(&token()), "{posts}");
    let request = serde_json::to_string(&task.request).expect("a request");
    assert!(!request.contains(&token()), "{request}");
    let log = serde_json::to_string(&world.log().await).expect("a log");
    assert!(log.contains(&format!("I take {}.", token())), "the answer is sent back as it was said: {log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_of_the_repository_reaches_neither_log_nor_model_nor_forge() {
    let looks = r#"
name = "looks into a file with a token"
[[turn]]
text = "I look at the settings."
call = [{ name = "bash", arguments = { command = "cat settings.ini" } }]
[[turn]]
expects = ["TOKEN=[left out by caisson: a GitHub token]", "1 place is left out of this"]
forbids = ["a1B2c3D4a1B2"]
text = "I write it anew as I saw it, then beside it."
call = [
  { name = "write_file", arguments = { path = "settings.ini", content = "TOKEN=[left out by caisson: a GitHub token]\nNAME=new\n" } },
  { name = "edit_file", arguments = { path = "settings.ini", old = "NAME=old", new = "NAME=new" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
]
"#;
    let world = World::new(looks).await;
    world.push(&[("settings.ini", &format!("TOKEN={}\nNAME=old\n", token()))]);
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let review = world.until_said(task.pull.expect("a pull request"), "### Checkpoint 1 ").await;
    assert!(review.contains("NAME=new"), "the edit beside it was made: {review}");
    let log = serde_json::to_string(&world.log().await).expect("a log");
    assert!(!log.contains(&token()) && !review.contains(&token()), "{log}");
    let denied = log.contains("this would write a place where a credential was left out over the credential itself");
    assert!(denied, "what would destroy it is not written: {log}");
}
