//! Rules that a repository's people wrote for work in it.

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
