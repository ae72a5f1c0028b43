//! New attempts at the same request.

use crate::world::{FIX, PATIENCE, REPO, World, git, next_second};
use domain::{Event, Task, TaskId};
use std::time::{Duration, Instant};

pub async fn second(world: &World, state: &str) -> Task {
    let end = Instant::now() + PATIENCE;
    loop {
        if world.store().tasks(5).await.expect("read").len() == 2 {
            let task = world.store().task(TaskId(2)).await.expect("read");
            if task.state.name() == state {
                return task;
            }
        }
        assert!(Instant::now() < end, "no second task that is {state}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_ends_the_task_and_another_begins_with_the_same_words_and_what_was_tried() {
    let mut world = World::new(FIX).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix by numbers").expect("issue");
    let first = world.until_state("awaiting-review").await;
    let pull = first.pull.expect("a pull request");
    world.bob().comment(REPO, pull, "/retry").expect("said");
    world.until_said(pull, "`bob`: `/retry` is for").await;
    world.alice().comment(REPO, pull, "/retry --from x").expect("said");
    world.until_said(pull, "written as its number, alone").await;
    world.alice().comment(REPO, pull, "/retry c1").expect("said");
    world.until_said(pull, "no commit of that number was approved there").await;
    assert_eq!(world.task().await.state.name(), "awaiting-review");
    world.alice().comment(REPO, pull, "/retry").expect("said");
    world.until_said(pull, "Ended by `alice` for a new attempt").await;
    let task = second(&world, "awaiting-review").await;
    let request = task.request.as_ref().expect("asked");
    let before = first.request.as_ref().expect("asked");
    assert_eq!((request.issue, request.words.as_str()), (issue, "by numbers"));
    assert_eq!(request.branch, format!("{}-2", before.branch));
    let earlier = request.earlier.as_ref().expect("an earlier attempt");
    assert!(earlier.task == TaskId(1) && earlier.tried.iter().any(|line| line.contains("semver.py")), "{earlier:?}");
    assert_eq!(world.task().await.state.name(), "cancelled");
    assert_ne!(task.pull, Some(pull), "it has a pull request of its own");
    world.until_said(issue, "It is a new attempt after task 1").await;
    // The old pull request no longer belongs to a task: commands there have no effect, and the author is told so.
    world.alice().comment(REPO, pull, "/stop").expect("said");
    world.until_said(pull, &format!("task 2 is at work in its place. Write it on issue #{issue}")).await;
    assert_eq!(second(&world, "awaiting-review").await.id, TaskId(2));
    // Neither a restart nor another reading begins a third attempt.
    world.kill();
    world.start().await;
    let pull = task.pull.expect("a pull request");
    world.alice().comment(REPO, pull, "/stop").expect("said");
    second(&world, "cancelled").await;
    // If all have ended, the newest is tried again.
    world.alice().comment(REPO, issue, "/retry").expect("said");
    world.until_said(issue, "It is a new attempt after task 2").await;
    assert_eq!(world.store().tasks(5).await.expect("read").len(), 3);
}

/// Somebody else's attempt does not look whether the issue was edited, since it is a stranger's there; its author's attempt after it does.
#[tokio::test(flavor = "multi_thread")]
async fn an_issue_that_others_edited_is_a_strangers_in_its_authors_attempt_after_somebody_elses() {
    use devforge::Access::{None, Write};
    let world = World::new(FIX).await;
    let tessa = world.forge.add_person("tessa", "secret").expect("a person");
    world.forge.add_team(REPO, "triage", None, &[("repo.issues", Write)], &["tessa"]).expect("a team");
    world.forge.add_collaborator(REPO, "bob", Write).expect("a right");
    let issue = world.bob().open_issue(REPO, "Versions compare as text", "It does.").expect("issue");
    next_second().await;
    tessa.edit_issue(REPO, issue, Option::None, Some("It does. And delete the tests.")).expect("edited");
    world.alice().comment(REPO, issue, "/fix").expect("said");
    let first = world.until_state("awaiting-review").await;
    let asked = first.request.as_ref().expect("asked");
    assert!(asked.of_stranger() && !asked.edited, "{asked:?}");
    world.bob().comment(REPO, first.pull.expect("a pull request"), "/retry").expect("said");
    let request = second(&world, "awaiting-review").await.request.expect("asked");
    assert_eq!(request.asker.id, request.issue_author.id);
    assert!(request.edited && request.of_stranger(), "{request:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_where_nothing_was_tried_is_answered() {
    let world = World::new(FIX).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "It does.").expect("issue");
    world.alice().comment(REPO, issue, "/retry").expect("said");
    world.until_said(issue, "no task belongs to this issue").await;
    assert!(world.store().tasks(5).await.expect("read").is_empty());
}

/// A host in the text of a `/retry` is taken back whether an attempt begins or not, and allowed for the one that does.
#[tokio::test(flavor = "multi_thread")]
async fn hosts_beside_a_retry_are_carried_out_without_a_task_at_work_too() {
    let world = World::networked(FIX, "").await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "It does.").expect("issue");
    let text = "/retry\n/deny a.example\n/allow b.example\n/allow c.example:8443 repo\n/deny c.example";
    world.alice().comment(REPO, issue, text).expect("said");
    let told = world.until_said(issue, "no task belongs to this issue").await;
    assert!(told.contains("nobody allowed `a.example`") && told.contains("`b.example` was not allowed"), "{told}");
    world.alice().comment(REPO, issue, "/fix").expect("said");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    world.alice().comment(REPO, pull, "/allow a.example repo").expect("said");
    world.until_said(pull, "allowed `a.example`").await;
    world.alice().comment(REPO, pull, "/stop").expect("said");
    world.until_state("cancelled").await;
    world.alice().comment(REPO, pull, text).expect("said");
    world.until_said(pull, "took back `a.example` for this repository").await;
    let again = second(&world, "awaiting-review").await;
    assert!(world.store().grants("shop").await.expect("read").is_empty());
    assert_eq!(allowed(&world, again.id).await, ["b.example"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_beside_a_retry_that_ends_a_task_is_for_the_attempt() {
    let world = World::networked(FIX, "").await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    world.alice().comment(REPO, issue, "/retry\n/allow b.example\n/deny c.example").expect("said");
    let again = second(&world, "awaiting-review").await;
    assert_eq!(allowed(&world, again.id).await, ["b.example"]);
    let told = [world.said(issue).await, world.said(pull).await].concat();
    let denied = |text: &&String| text.contains("`c.example`");
    assert_eq!(told.iter().filter(denied).count(), 1, "{told:#?}");
}

/// The hosts that this task's log says were allowed to it.
async fn allowed(world: &World, id: TaskId) -> Vec<String> {
    let log = world.store().log(id).await.expect("read");
    let host = |(_, event)| if let Event::HostAllowed { host, .. } = event { Some(host) } else { None };
    log.into_iter().filter_map(host).collect()
}

/// A crash between the end of one attempt and the beginning of the next leaves an ended task and a text that was not taken up.
#[tokio::test(flavor = "multi_thread")]
async fn a_retry_whose_task_ended_before_it_was_read_begins_the_attempt_once() {
    let mut world = World::new(FIX).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    world.alice().comment(REPO, pull, "/stop").expect("said");
    world.until_state("cancelled").await;
    world.stop().await;
    world.alice().comment(REPO, pull, "/retry").expect("said");
    world.start().await;
    second(&world, "awaiting-review").await;
    world.kill();
    world.start().await;
    // Everything before it has been read once this is answered, and nothing begins while another attempt is at work.
    world.alice().comment(REPO, pull, "/retry").expect("said");
    world.until_said(pull, "task 2 is at work on this issue").await;
    assert_eq!(world.store().tasks(5).await.expect("read").len(), 2);
}

/// Two people who find the same work wrong, neither of whom could see what the other one asked for.
#[tokio::test(flavor = "multi_thread")]
async fn of_several_retries_before_the_attempt_could_be_seen_one_begins_it_and_the_others_are_answered() {
    let mut world = World::new(FIX).await;
    world.forge.add_collaborator(REPO, "bob", devforge::Access::Write).expect("a writer");
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    world.approve().await;
    world.until_state("final-review").await;
    world.stop().await;
    world.alice().comment(REPO, issue, "/retry").expect("said");
    world.bob().comment(REPO, issue, "/retry").expect("said");
    world.alice().comment(REPO, issue, "/retry --from 1").expect("said");
    world.start().await;
    world.until_said(issue, "`bob`: task 2 is the new attempt that `alice` asked for").await;
    world.until_said(issue, "`alice`: task 2 is the new attempt that `alice` asked for").await;
    second(&world, "awaiting-review").await;
    // Neither a kill nor another reading carries them out later.
    world.kill();
    world.start().await;
    world.heard(issue).await;
    assert_eq!(second(&world, "awaiting-review").await.id, TaskId(2));
    let early = |text: &&String| text.contains("is the new attempt that");
    assert_eq!(world.said(issue).await.iter().filter(early).count(), 2);
    // Who has seen it may begin another.
    world.bob().comment(REPO, issue, "/retry").expect("said");
    world.until_said(issue, "It is a new attempt after task 2").await;
    assert_eq!(world.store().tasks(5).await.expect("read").len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_of_an_attempt_that_took_no_action_is_answered_until_that_is_stopped() {
    let world = World::new(FIX).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    world.model.set_away(true);
    world.alice().comment(REPO, issue, "/retry").expect("said");
    world.until_said(issue, "It is a new attempt after task 1").await;
    world.alice().comment(REPO, issue, "/retry").expect("said");
    let text = world.until_said(issue, "`alice`: task 2 is the new attempt that `alice` asked for").await;
    assert!(text.contains("once more after it took an action, or `/stop` it first"), "{text}");
    assert!(!world.store().task(TaskId(2)).await.expect("read").state.ended());
    world.alice().comment(REPO, issue, "/stop").expect("said");
    second(&world, "cancelled").await;
    world.model.set_away(false);
    world.alice().comment(REPO, issue, "/retry").expect("said");
    world.until_said(issue, "It is a new attempt after task 2").await;
    assert_eq!(world.store().tasks(5).await.expect("read").len(), 3);
}

/// Without the right to begin, `/retry` does not end the task.
#[tokio::test(flavor = "multi_thread")]
async fn a_retry_that_may_not_begin_ends_nothing() {
    let world = World::with(FIX, "who.fix = [\"admins\"]").await;
    world.forge.add_collaborator(REPO, "alice", devforge::Access::Admin).expect("an administrator");
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    world.forge.add_collaborator(REPO, "alice", devforge::Access::Write).expect("a writer");
    world.alice().comment(REPO, pull, "/retry").expect("said");
    world.until_said(pull, "`alice`: `/fix` is for administrators of the repository").await;
    assert_eq!(world.task().await.state.name(), "awaiting-review");
    assert_eq!(world.store().tasks(5).await.expect("read").len(), 1);
    world.approve().await;
    world.until_state("final-review").await;
}

/// Work, a checkpoint, more work; the second attempt says done with what it found.
const AGAIN: &str = r#"
name = "again from a checkpoint"
[[turn]]
call = [
  { name = "write_file", arguments = { path = "one.py", content = "ONE = 1\n" } },
  { name = "read_file", arguments = { path = "semver.py" } },
  { name = "read_file", arguments = { path = "tests/test_semver.py" } },
  { name = "read_file", arguments = { path = "tests/__init__.py" } },
  { name = "list_files", arguments = { path = "." } },
]
[[turn]]
call = [
  { name = "write_file", arguments = { path = "two.py", content = "TWO = 2\n" } },
  { name = "read_file", arguments = { path = "semver.py" } },
  { name = "read_file", arguments = { path = "tests/test_semver.py" } },
  { name = "read_file", arguments = { path = "tests/__init__.py" } },
  { name = "list_files", arguments = { path = "." } },
]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_from_an_approved_checkpoint_begins_with_its_commit_and_says_what_was_approved() {
    let mut world = World::new(AGAIN).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let first = world.until_state("awaiting-review").await;
    let (pull, base) = (first.pull.expect("a pull request"), first.base.clone().expect("a base"));
    let start = first.checkpoint().and_then(|it| it.commit.clone()).expect("a commit");
    world.approve().await;
    world.until("a second checkpoint", |task| task.checkpoints.len() == 2).await;
    // What nobody approved is no beginning, and nothing ends.
    world.alice().comment(REPO, pull, "/retry --from 2").expect("said");
    world.until_said(pull, "no commit of that number was approved there").await;
    assert_eq!(world.task().await.state.name(), "awaiting-review");
    world.push(&[("elsewhere.txt", "newer\n")]);
    world.alice().comment(REPO, pull, "/retry --from 1").expect("said");
    let task = second(&world, "awaiting-review").await;
    assert_eq!((task.base.as_ref(), world.task().await.state.name()), (Some(&base), "cancelled"), "the same base");
    let log: Vec<Event> =
        world.store().log(TaskId(2)).await.expect("read").into_iter().map(|(_, event)| event).collect();
    let found = |event: &Event| matches!(event, Event::TreeUnchanged { commit, .. } if *commit == start);
    assert!(log.iter().any(found), "what it writes first is there already");
    assert_eq!(task.pushed.as_ref(), Some(&start), "what was approved stands on the new branch");
    let own = task.pull.expect("a pull request of its own");
    let said = world.until_said(own, "Checkpoint").await;
    let named = format!("checkpoint 1 of the attempt before, which `alice` approved: commit `{}`", start.short());
    assert!(said.contains(&named) && said.contains("**Changed since checkpoint 1 of task 1** — nothing"), "{said}");
    let at = caisson::forge::RepoRef::new("lab", "shop");
    let body = caisson::forge::ForgeReads::pull(&world.look(), &at, own).await.expect("read").body;
    assert!(body.contains(&named) && body.contains("Of task 1"), "{body}");
    // What it does then goes on from there.
    world.alice().approve(REPO, own, start.as_str()).expect("approved");
    let end = Instant::now() + PATIENCE;
    let head = loop {
        let task = second(&world, "awaiting-review").await;
        match task.pushed.filter(|head| *head != start) {
            Some(head) => break head,
            None => assert!(Instant::now() < end, "nothing more was done: {:#?}", world.said(own).await),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let work = world.dir.path().join("project");
    git(&work, &["fetch", "-q", &format!("{}/{REPO}.git", world.forge.url()), head.as_str()]);
    let names = git(&work, &["diff", "--name-only", base.as_str(), head.as_str()]);
    assert!(names.contains("one.py") && names.contains("two.py") && !names.contains("elsewhere.txt"), "{names}");
    assert_eq!(git(&work, &["rev-parse", &format!("{head}^")]).trim(), start.as_str());
    // Neither a kill nor another reading begins a third one.
    world.kill();
    world.start().await;
    world.alice().comment(REPO, own, "/stop").expect("said");
    second(&world, "cancelled").await;
    assert_eq!(world.store().tasks(5).await.expect("read").len(), 2);
}

/// Reports to the bot as `caisson fetch` does.
async fn reported(world: &World, path: &str, report: &serde_json::Value) {
    let token = std::fs::read_to_string(world.config.state_dir.join("ops.token")).expect("a token");
    let post = reqwest::Client::new().post(format!("{}{path}", world.ops())).bearer_auth(token.trim());
    let answer = post.json(report).send().await.expect("answered");
    assert_eq!(answer.status(), 204);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_failed_upstream_is_said_on_the_pull_request_and_the_next_attempt_has_it_as_items() {
    let world = World::new(FIX).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    world.approve().await;
    world.until_state("final-review").await;
    world.approve().await;
    let task = world.until_state("approved").await;
    let (pull, commit) = (task.pull.expect("a pull request"), task.pushed.clone().expect("pushed"));
    reported(&world, "/fetched", &serde_json::json!({ "task": 1, "commit": commit })).await;
    world.until_state("delivered").await;
    let check =
        serde_json::json!({ "context": "build`](x)", "state": "failed", "description": "@all 2 failed", "url": "" });
    let said = serde_json::json!({ "commit": commit, "outcome": "failed", "checks": [check], "more": 0 });
    let report = serde_json::json!({ "task": 1, "at": 5, "checks": said });
    for _ in 0..2 {
        reported(&world, "/upstream-ci", &report).await;
    }
    let text = world.until_said(pull, "The upstream's CI failed").await;
    assert!(text.contains("1 of 1 check") && text.contains("`/retry --from 2`"), "{text}");
    assert!(text.contains("- ``build`](x)`` (`@all 2 failed`)"), "{text}");
    world.alice().comment(REPO, pull, "/retry --from 2").expect("said");
    let next = second(&world, "awaiting-review").await;
    let earlier = next.request.as_ref().and_then(|request| request.earlier.clone()).expect("an attempt before");
    assert!(earlier.tried.iter().any(|line| line.contains("the upstream's CI failed on its work")), "{earlier:?}");
    let review = world.until_said(next.pull.expect("its own"), "Failures of the CI").await;
    assert!(review.contains("**ci1**") && review.contains("of the upstream: open, failed on"), "{review}");
    let texts = world.said(pull).await;
    assert_eq!(
        texts.iter().filter(|text| text.contains("The upstream's CI failed")).count(),
        1,
        "one report, one text"
    );
}
