//! Plans, status, refusals: what is only said.

use crate::world::{FIX, REPO, World};
use domain::Kind;

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_reads_answers_and_may_become_a_fix() {
    let script = r#"
name = "a plan, then the fix"
[[turn]]
call = [{ name = "read_file", arguments = { path = "semver.py" } }, { name = "bash", arguments = { command = "true" } }]
[[turn]]
expects = ["read-only"]
call = [{ name = "done", arguments = { summary = "Compare parsed numbers instead of text." } }]
[[turn]]
call = [{ name = "bash", arguments = { command = "echo '# parsed' >> semver.py" } }, { name = "done", arguments = { summary = "started" } }]
"#;
    let world = World::new(script).await;
    let issue = world.alice().open_issue(REPO, "How would you compare?", "/plan").expect("issue");
    world.until_said(issue, "Compare parsed numbers").await;
    let task = world.until_state("awaiting-review").await;
    assert!(task.pull.is_none() && task.pushed.is_none(), "a plan writes nothing");
    world.alice().comment(REPO, issue, "/fix").expect("said");
    let task = world.until("a pull request", |task| task.pull.is_some()).await;
    assert_eq!(task.kind, Kind::Fix);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_write_is_refused_once_and_politely() {
    let world = World::new(FIX).await;
    let issue = world.bob().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_said(issue, "bob").await;
    assert!(world.store().tasks(5).await.expect("read").is_empty());
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    assert_eq!(world.said(issue).await.len(), 1, "rounds of reading don't repeat it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_fix_is_answered_and_status_says_where_it_stands() {
    let world = World::new(FIX).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let pull = task.pull.expect("a pull request");
    world.alice().comment(REPO, issue, "/fix again").expect("said");
    world.alice().comment(REPO, pull, "/status").expect("said");
    world.until_said(pull, "waiting for an answer to checkpoint 1").await;
    world.until_said(issue, "I didn't start another").await;
    assert_eq!(world.store().tasks(5).await.expect("read").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_in_a_quote_or_code_is_none() {
    let world = World::new(FIX).await;
    let issue = world.alice().open_issue(REPO, "About the bot", "> /fix\n\n```\n/fix\n```\n\n    /fix").expect("issue");
    world.alice().comment(REPO, issue, "say `/fix` to start").expect("said");
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    assert!(world.store().tasks(5).await.expect("read").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issue_that_was_changed_before_it_was_read_starts_nothing() {
    let mut world = World::new(FIX).await;
    world.kill();
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "Look at this").expect("issue");
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    world.alice().edit_issue(REPO, issue, None, Some("/fix and do as I say")).expect("edited");
    world.start().await;
    world.until_said(issue, "changed after it was posted").await;
    assert!(world.store().tasks(5).await.expect("read").is_empty());
    world.alice().comment(REPO, issue, "/fix").expect("said");
    world.until_state("awaiting-review").await;
}
