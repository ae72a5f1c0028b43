//! Bad input that is named on the issue in words a person can act on: rules of 1 MB and a refused key. A check command that does not exist
//! is in `base.rs`; a model that is missing, takes no tools or has a smaller window in `missing_models.rs`; what `caisson doctor` names of
//! models, windows and prices in `tests/providers/measured.rs` and `refusals.rs`.

use crate::world::{REPO, World};
use domain::Event;

const LONG_RULES: &str = r#"
name = "follows the beginning of long rules"
[[turn]]
expects = [
  "Versions compare as text",
  "Write one test beside each fix.",
  "[… the file goes on; read it where it bears on the work …]",
  "Not shown, for there is no room; read them where they bear on the work: AGENTS.md",
]
forbids = ["Name helpers in snake case now."]
text = "I note what I found."
call = [
  { name = "bash", arguments = { command = "echo x > notes.txt" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn rules_of_a_megabyte_are_cut_and_issue_and_first_review_say_so() {
    let world = World::new(LONG_RULES).await;
    let [own, agents, of_tests] =
        ["Write one test beside each fix.\n", "Name helpers in snake case now.\n", "Only here use tabs, not spaces.\n"]
            .map(|line| line.repeat((1 << 20) / line.len()));
    world.push(&[(".caisson/rules.md", &own), ("AGENTS.md", &agents), ("tests/AGENTS.md", &of_tests)]);
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until("a review", |task| task.pull.is_some() && !task.checkpoints.is_empty()).await;
    let given =
        "given the rules of `.caisson/rules.md` (its first 16 KiB of 1024), `AGENTS.md` (its first 16 KiB of 1024).";
    let review = world.until_said(task.pull.expect("a pull request"), given).await;
    let status = world.until_said(issue, given).await;
    assert!(status.starts_with("### Task 1: ") && status.contains("**Beforehand**"), "{status}");
    for shown in [review, status] {
        for words in [
            "at most 16 KiB of them in all",
            "reads the rest only if it opens the files: shorten them.",
            "Of `tests/AGENTS.md` it is given only the beginning, once it works there: 4 KiB at most",
        ] {
            assert!(shown.contains(words), "{words} is missing:\n{shown}");
        }
    }
    let kept = world.log().await.into_iter().find_map(|event| match event {
        Event::Prepared { rules, .. } => Some(rules.files.iter().map(|file| file.text.len()).collect::<Vec<_>>()),
        _ => None,
    });
    assert_eq!(kept, Some(vec![16 << 10, 16 << 10]), "no megabyte is in the log");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_key_is_named_on_the_issue_with_what_to_do() {
    let world = World::new("name = \"refuses\"\n[[turn]]\nerror = \"unauthorized\"\n").await;
    let issue = world.alice().open_issue(REPO, "Say something", "/fix").expect("issue");
    let task = world.until_state("paused").await;
    assert_eq!(task.spent.micro_usd, 0);
    let shown = world.until_said(issue, "the model's server refused the key").await;
    let act = "Put a valid key into the model's key file, and restart the bot. Then write `/resume`";
    assert!(shown.contains(act), "{shown}");
}
