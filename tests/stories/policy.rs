//! What an operator grants one repository, in place of what every other one has.

use crate::hosts::told;
use crate::world::{FIX, REPO, World};

#[tokio::test(flavor = "multi_thread")]
async fn a_repositorys_own_tables_hold_for_its_tasks() {
    let mut world = World::networked(FIX, "").await;
    let own = "[repositories.sandbox]\nnetwork = \"none\"\n[repositories.budget]\nactions = 4\n[repositories.checkpoint]\nevery = 2\n";
    world.reconfigure(|text| text + own).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    assert_eq!((task.actions, task.granted.actions), (2, 4));
    let tokens = world.config.budget.tokens;
    assert_eq!(task.granted.tokens, tokens, "what it does not say is the operator's");
    world.alice().comment(REPO, issue, "/allow a.example").expect("said");
    world.until_said(issue, "sandboxes have no network here").await;
    assert_eq!(told(&world), Vec::<String>::new(), "no rule was told to any router");
    // Nothing was changed by then: it is asked for on the issue.
    world.alice().comment(REPO, issue, "/approve").expect("said");
    let task = world.until("the next checkpoint", |task| task.checkpoints.len() == 2).await;
    assert_eq!((task.actions, task.granted.actions), (4, 4));
}

/// What the project's own file asks for is bounded by what its repository was given, not by what others have.
#[tokio::test(flavor = "multi_thread")]
async fn a_project_file_narrows_what_its_repository_was_given_and_widens_nothing() {
    let mut world = World::new(FIX).await;
    let file = "[checkpoint]\nevery = 5\n[budget]\nactions = 30\ntokens = 9000\n";
    world.push(&[(".caisson.toml", file)]);
    world
        .reconfigure(|text| text + "[repositories.budget]\nactions = 20\n[repositories.checkpoint]\nevery = 3\n")
        .await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    assert_eq!((task.actions, task.granted.actions, task.granted.tokens), (3, 20, 9000));
}
