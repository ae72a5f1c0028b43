//! Bad input that is named on the issue in words a person can act on: rules, issues and remarks of 1 MB, and a refused key. A check command that does not exist
//! is in `base.rs`; a model that is missing, takes no tools or has a smaller window in `missing_models.rs`; what `caisson doctor` names of
//! models, windows and prices in `tests/providers/measured.rs` and `refusals.rs`.

use crate::world::{FIX, REPO, World};
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

const LONG_LOG: &str = r#"
name = "is shown the beginning of a long log"
[[turn]]
expects = ["It fails so:", "more characters are left out …]"]
forbids = ["the last line of the log"]
text = "I note what I found."
call = [
  { name = "bash", arguments = { command = "echo x > notes.txt" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
]
"#;

fn megabyte() -> String {
    "It fails here, too.\n".repeat((1 << 20) / 20)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_megabyte_of_a_readers_issue_is_cut_and_issue_and_first_review_say_so() {
    let world = World::new(LONG_LOG).await;
    let log = format!("It fails so:\n\n{}\nthe last line of the log", megabyte());
    let issue = world.bob().open_issue(REPO, "Versions compare as text", &log).expect("issue");
    world.alice().comment(REPO, issue, "/fix").expect("said");
    let task = world.until("a review", |task| task.pull.is_some() && !task.checkpoints.is_empty()).await;
    let given = "own text the agent is given the first 16 000 of 1 048";
    world.until_said(task.pull.expect("a pull request"), given).await;
    let status = world.until_said(issue, given).await;
    assert!(status.starts_with("### Task 1: ") && status.contains("**Beforehand**"), "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_megabyte_before_a_task_is_no_part_of_it() {
    let world = World::new(FIX).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "See below.").expect("issue");
    world.alice().comment(REPO, issue, &megabyte()).expect("said");
    world.alice().comment(REPO, issue, &format!("/fix {}", megabyte())).expect("said");
    world.until_said(issue, "behind it stand more than `16,000` characters").await;
    assert!(world.store().tasks(5).await.expect("read").is_empty());
    world.alice().comment(REPO, issue, "/fix").expect("said");
    world.until_state("awaiting-review").await;
    assert!(world.said(issue).await.iter().all(|text| !text.contains("at most 16 000")));
}

#[tokio::test(flavor = "multi_thread")]
async fn words_of_a_megabyte_reach_no_agent_and_decide_nothing() {
    let world = World::new(FIX).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let (pull, commit) = (task.pull.expect("a pull request"), task.pushed.expect("a commit"));
    let (alice, long) = (world.alice(), megabyte());
    alice.comment(REPO, pull, &long).expect("said");
    let answer = world.until_said(pull, "The agent is told nothing of it.").await;
    assert!(answer.contains("your text has 1 048 5") && answer.contains("at most 16 000 are taken"), "{answer}");
    let short = [("semver.py", 6, "use a tuple")];
    alice.request_changes(REPO, pull, commit.as_str(), &long, &short).expect("posted");
    let answer = world.until_said(pull, "Neither its words nor its verdict are taken.").await;
    assert!(answer.contains("a text of your review has 1 048 559 characters"), "{answer}");
    // The approval in its text does not count beside a remark that reaches nobody, nor does the host.
    let longer = long + "Again.";
    alice
        .remark(REPO, pull, commit.as_str(), "/approve\n/allow late.test", &[("semver.py", 6, longer.as_str())])
        .expect("posted");
    world.until_said(pull, "a text of your review has 1 048 566 characters").await;
    world.heard(pull).await;
    let task = world.task().await;
    assert_eq!((task.state.name(), task.numbered.open().count()), ("awaiting-review", 0));
    assert!(task.hosts.is_empty(), "{:?}", task.hosts);
    let taken = |event: &Event| matches!(event, Event::FeedbackGiven { .. } | Event::DecisionUsed { .. });
    assert!(!world.log().await.iter().any(taken));
    world.approve().await;
    world.until_state("final-review").await;
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
