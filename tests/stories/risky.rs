//! A checkpoint in which a test was weakened: its review shows that first, with its reason, and each name leads to the file at that commit.

use crate::world::{REPO, World};
use caisson::forge::gitea::pages::file_of_commit;
use domain::{Event, FileFacts, TestCounts};

/// Five actions that weaken a test and a test within a source file, add a dependency and a program, and change a source; then done.
const SCRIPT: &str = r#"
name = "tests are weakened"
[[turn]]
expects = ["Versions compare as text"]
text = "The tests are in the way."
call = [
  { name = "bash", arguments = { command = "sed -i s/self.assertTrue// tests/test_semver.py" } },
  { name = "bash", arguments = { command = "sed -i '/assert_eq/d' total.rs" } },
  { name = "bash", arguments = { command = "echo requests > requirements.txt; echo note > notes.txt" } },
  { name = "bash", arguments = { command = "printf 'echo hello\n' > hello; chmod +x hello" } },
  { name = "edit_file", arguments = { path = "semver.py", old = "    return a > b\n", new = "    return True\n" } },
]
[[turn]]
text = "It is done."
call = [ { name = "done", arguments = { summary = "newer() says yes." } } ]
"#;

/// Tests beside what they test.
const TOTAL: &str = "fn total() -> u32 {\n    1\n}\n\n#[test]\nfn one() {\n    assert_eq!(total(), 1);\n}\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_that_weakens_tests_shows_them_first() {
    let world = World::new(SCRIPT).await;
    world.push(&[("total.rs", TOTAL)]);
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let commit = task.checkpoint().and_then(|at| at.commit.clone()).expect("a commit");
    let pull = task.pull.expect("a pull request");
    let review = world.until_said(pull, "### Checkpoint 1 ").await;
    let commits = format!("{}/{REPO}/commit/", world.forge.url());
    let at = |path: &str| format!("[`{path}`]({})", file_of_commit(&commits, commit.as_str(), path));
    let wanted = [
        format!("1. ⚠️ {} +1 −1 · assertions 1 → 0", at("tests/test_semver.py")),
        format!("2. ⚠️ {} −1 · assertions 1 → 0", at("total.rs")),
        format!("3. {} +1 · dependencies", at("requirements.txt")),
        format!("4. {} +1 · can be executed now", at("hello")),
        format!("5. {} +1 · new", at("notes.txt")),
        format!("6. {} +1 −1", at("semver.py")),
    ];
    assert!(review.contains(&format!("\n\n{}\n\n", wanted.join("\n"))), "{review}");
    assert!(review.contains("⚠️ 2 files may test less than before · ⚠️ 3 files that steer tests changed"), "{review}");
    assert!(
        review.contains("checks pass without the code being right: `tests/test_semver.py`, `total.rs`"),
        "{review}"
    );
    // The page that a name leads to is there.
    let page = reqwest::Client::new().get(format!("{commits}{commit}"));
    let page = page.basic_auth("alice", Some("secret")).send().await.expect("an answer");
    assert_eq!(page.status(), 200);
    assert!(page.text().await.expect("a page").contains("total.rs"));
    // What is shown is in the log.
    let log = world.log().await;
    let of = |event: &Event| match event {
        Event::TreeCaptured { tree, .. } => Some(tree.clone()),
        _ => None,
    };
    let tree = log.iter().find_map(of).expect("a tree");
    assert_eq!(tree.steering, ["requirements.txt", "tests/test_semver.py", "total.rs"], "in advance nothing covers it");
    let weaker = |file: &&FileFacts| file.tests.is_some_and(|tests| tests.weaker());
    let weaker: Vec<&FileFacts> = tree.facts.iter().filter(weaker).collect();
    assert_eq!(weaker.len(), 2, "{:?}", tree.facts);
    assert!(matches!(weaker[1].tests, Some(TestCounts::Counted { before, .. }) if before.assertions == 1));
}
