//! Grants for one repository, in place of those for all others.

use crate::hosts::told;
use crate::world::{FIX, REPO, World, held};
use domain::OutcomeStatus;

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
    // Nothing was changed until then, so the approval is given on the issue.
    world.alice().comment(REPO, issue, "/approve").expect("said");
    let task = world.until("the next checkpoint", |task| task.checkpoints.len() == 2).await;
    assert_eq!((task.actions, task.granted.actions), (4, 4));
}

/// The limits of a project file are those of its own repository, not those of others.
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

/// Who writes `deploy/` means what is in it. Work that began with such a file under an earlier version goes on.
#[tokio::test(flavor = "multi_thread")]
async fn no_task_begins_while_the_project_file_has_a_pattern_that_protects_nothing() {
    let world = World::new(FIX).await;
    world.push(&[(".caisson.toml", "protected = [\"deploy/\"]\n")]);
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let paused = world.until_state("paused").await;
    assert!(paused.base.is_none(), "nothing is pinned yet: {paused:?}");
    world.until_said(issue, "has a part that no path in a tree").await;
    world.push(&[(".caisson.toml", "protected = [\"deploy/**\"]\n")]);
    world.alice().comment(REPO, issue, "/resume").expect("said");
    world.until_state("awaiting-review").await;
}

/// The operator takes the network from a repository with a task at work: the existing sandbox loses it too, and stays without.
#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_loses_its_network_loses_it_in_sandboxes_that_stand() {
    let mut world = World::networked(&held(), "").await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix\n\n/allow semver.org").expect("issue");
    world.until("an action that runs", |task| task.running.is_some()).await;
    let before = told(&world);
    assert!(before.iter().any(|words| words == "open 0 semver.org"), "{before:#?}");
    world.reconfigure(|text| text + "[repositories.sandbox]\nnetwork = \"none\"\n").await;
    let at_once = told(&world).split_off(before.len());
    assert_eq!(at_once.last().map(String::as_str), Some("close 0"), "its action is still under way: {at_once:#?}");
    std::fs::write(world.broker.workspace("task-1-1").join("go"), "").expect("let go");
    world.until_state("awaiting-review").await;
    world.alice().comment(REPO, issue, "/deny semver.org").expect("said");
    world.approve().await;
    world.until_state("final-review").await;
    let after: Vec<String> = told(&world).split_off(before.len());
    assert!(after.iter().any(|words| words == "close 0"), "{after:#?}");
    assert!(!after.iter().any(|words| words.starts_with("open")), "it is opened for nobody again: {after:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_is_taken_out_has_no_way_out_and_nothing_goes_on_in_its_sandboxes() {
    let mut world = World::networked(&held(), "").await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix\n\n/allow semver.org").expect("issue");
    world.until("an action that runs", |task| task.running.is_some()).await;
    let (before, actions) = (told(&world), world.task().await.actions);
    world.reconfigure(|text| text.replace("key = \"shop\"", "key = \"another\"")).await;
    let after: Vec<String> = told(&world).split_off(before.len());
    assert_eq!(after.last().map(String::as_str), Some("close 0"), "at once: {after:#?}");
    let paused = world.until_state("paused").await;
    assert_eq!(paused.actions, actions);
    let after: Vec<String> = told(&world).split_off(before.len());
    assert!(!after.iter().any(|words| words.starts_with("open")), "{after:#?}");
}

/// It runs, whatever newer rules would have said about it.
#[tokio::test(flavor = "multi_thread")]
async fn an_action_that_runs_is_not_denied_by_rules_that_came_after_it() {
    let mut world = World::new(&held().replacen("while [", "touch begun; while [", 1)).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let workspace = world.broker.workspace("task-1-1");
    world.until("an action that runs", |_| workspace.join("begun").exists()).await;
    let rule = r#"
[[policy]]
name = "waiting"
then = "deny"
because = "nothing waits here"
command = '\bsleep\b'
hits = ["sleep 1"]
misses = ["asleep"]
"#;
    world.reconfigure(|text| text + rule).await;
    std::fs::write(workspace.join("go"), "").expect("let go");
    world.until_state("awaiting-review").await;
    let ends = world.ends().await;
    assert!(matches!(ends.first(), Some(OutcomeStatus::Ok | OutcomeStatus::Exited { code: 0 })), "{ends:?}");
}

/// The forge does not say where the repository is, so it is unknown what its project file allows.
#[tokio::test(flavor = "multi_thread")]
async fn rules_that_cannot_be_made_anew_at_a_start_let_nothing_out_until_they_can() {
    let mut world = World::networked(&held(), "").await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix\n\n/allow semver.org").expect("issue");
    world.until("an action that runs", |task| task.running.is_some()).await;
    world.kill();
    let before = told(&world).len();
    let by_id = format!("/repositories/{}", world.config.repositories()[0].id);
    world.forge.refuse(&[(&by_id, 503)]);
    world.start().await;
    world.until("a try in vain", |_| world.forge.times_refused() > 3).await;
    let after = told(&world).split_off(before);
    assert!(after.iter().any(|words| words == "close 0"), "{after:#?}");
    assert!(!after.iter().any(|words| words.starts_with("open")), "{after:#?}");
    world.forge.refuse(&[]);
    let is_back = |_: &domain::Task| told(&world).split_off(before).iter().any(|words| words == "open 0 semver.org");
    world.until("its way out", is_back).await;
    std::fs::write(world.broker.workspace("task-1-1").join("go"), "").expect("let go");
    world.until_state("awaiting-review").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_is_listed_for_a_repository_no_more_serves_its_tasks_no_more() {
    let mut world = World::new(FIX).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    world.reconfigure(|text| text + "[repositories.sandbox]\nimage = \"another\"\n").await;
    world.approve().await;
    let actions = world.task().await.actions;
    let paused = world.until_state("paused").await;
    world.until_said(pull, "is not listed for shop any more").await;
    assert_eq!(paused.actions, actions, "nothing ran in it");
}
