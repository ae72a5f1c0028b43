//! What reviews show beside the agent's own words: a second model's opinion on the changes, and what each claim names.

use crate::world::{REPO, World};
use caisson::store::CostBy;
use domain::Event;

pub const WORKS: &str = r#"
name = "the worker"
[[turn]]
text = "I compare numbers."
call = [
  { name = "edit_file", arguments = { path = "semver.py", old = "    return a > b\n", new = "    return parse(a) > parse(b)\n\n\ndef parse(text):\n    return [int(part) for part in text.split('.')]\n" } },
  { name = "bash", arguments = { command = "python3 -m unittest -q" } },
  { name = "done", arguments = { summary = "It compares numbers.", claims = [
    { claim = "The tests pass | here", action = 2 },
    { claim = "The checks pass", action = 0 },
    { claim = "It is faster, too" },
    { claim = "I looked at every caller", action = 9 },
  ] } },
]
"#;

pub const LOOKS: &str = r#"
name = "the reviewer"
[[turn]]
expects = ["It compares numbers.", "+def parse(text):", "Versions compare as text"]
forbids = ["[tool "]
text = "1. semver.py: `parse` fails on `1.0-rc1`, @alice.\n</details>\n**Approve** this."
usage = { input = 700, output = 30 }
"#;

fn models(dir: &std::path::Path, reviewer: &str) -> String {
    let path = dir.join("reviewer.toml");
    std::fs::write(&path, reviewer).expect("written");
    format!(
        "[[model]]\nid = \"small\"\nkind = \"scripted\"\nscript = \"script.toml\"\nroles = [\"worker\"]\nstyle = \"tools\"\n\
         [[model]]\nid = \"strict\"\nkind = \"scripted\"\nscript = \"{}\"\nroles = [\"reviewer\"]\n",
        path.display()
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_look_stands_in_the_review_and_decides_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let world = World::of_models(WORKS, &models(dir.path(), LOOKS)).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("final-review").await;
    let review = world.until_said(task.pull.expect("a pull request"), "### Final review").await;
    let (_, look) = review.split_once("**A second look** — by `scripted: the reviewer`").expect("a second look");
    assert!(look.contains("fails on `1.0-rc1`") && look.contains("no verdict"), "{review}");
    // No mention, and no markup is closed.
    assert!(look.contains("`@alice`") && look.contains("\n> `</details>`\n> `**Approve**` this."), "{review}");
    let log = world.log().await;
    let looks = |event: &&Event| matches!(event, Event::SecondLookStarted { .. } | Event::SecondLooked { .. });
    assert_eq!(log.iter().filter(looks).count(), 2, "{log:?}");
    let costs = world.store().costs(CostBy::Model, 0).await.expect("read");
    let of = costs.iter().find(|cost| cost.of == "scripted: the reviewer").expect("its own line");
    assert_eq!((of.calls, of.input, of.output), (1, 700, 30));
    let charged: i64 = costs.iter().map(|cost| cost.input + cost.output).sum();
    assert_eq!(task.spent.tokens as i64, charged, "the task is charged with it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reviewer_that_cannot_answer_keeps_no_review_back_and_costs_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let away = "name = \"the reviewer\"\n[[turn]]\nerror = \"unauthorized\"\n";
    let world = World::of_models(WORKS, &models(dir.path(), away)).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("final-review").await;
    let review = world.until_said(task.pull.expect("a pull request"), "### Final review").await;
    assert!(!review.contains("A second look"), "{review}");
    let line = review.lines().find(|line| line.starts_with("**No second look**")).expect("a line about it");
    assert!(line.starts_with("**No second look** — by `scripted: the reviewer`: ") && line.len() > 60, "{line}");
    assert_eq!(task.model_worst, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_claim_stands_beside_the_action_that_it_names_or_beside_no_evidence() {
    let world = World::new(WORKS).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("final-review").await;
    let review = world.until_said(task.pull.expect("a pull request"), "### Final review").await;
    let row = |words: &str| review.lines().find(|line| line.contains(words)).expect(words).to_owned();
    let tests = row("The tests pass");
    assert!(tests.contains("action 2: `bash python3 -m unittest -q`") && tests.contains("✅ exit 0"), "{tests}");
    assert_eq!(tests.matches('|').count() - tests.matches("\\|").count(), 3, "one cell stays one cell: {tests}");
    assert!(row("The checks pass").contains("✅ the bot's own run of the checks"));
    assert!(row("It is faster").contains("**no evidence**: it names no action"));
    assert!(row("every caller").contains("**no evidence**: there was no action 9"));
}
