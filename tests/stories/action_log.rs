//! The log of actions that hangs on the pull request of approved work, and of a task that ended otherwise.

use crate::world::{FIX, PATIENCE, REPO, World, held};
use caisson::forge::{Attachment, ForgeReads, RepoRef};
use devforge::Fault;
use domain::Task;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

async fn finished(world: &World) {
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    world.approve().await;
    world.until_state("final-review").await;
}

async fn approved(world: &World) -> Task {
    world.approve().await;
    world.until_state("approved").await
}

/// Whether it is a name of the log that nobody else can know before.
fn is_log(name: &str) -> bool {
    let digits = name.strip_prefix("task-1-actions-").and_then(|rest| rest.strip_suffix(".md"));
    digits.is_some_and(|digits| digits.len() == 12 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

async fn attached(world: &World, pull: u64) -> Vec<Attachment> {
    world.look().attachments(&RepoRef::new("lab", "shop"), pull).await.expect("attachments")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_agent_did_hangs_on_the_pull_request_once() {
    let world = World::new(FIX).await;
    finished(&world).await;
    let pull = approved(&world).await.pull.expect("a pull request");
    world.settled().await;
    let files = attached(&world, pull).await;
    assert!(matches!(files.as_slice(), [one] if is_log(&one.name)), "{files:?}");
    let text = world.look().attachment(&files[0], 1 << 20).await.expect("the file");
    let text = String::from_utf8(text).expect("text");
    for words in
        ["6 actions out of", "## 4. `edit_file semver.py`", "return parse(a) > parse(b)", "## 6. `bash git diff"]
    {
        assert!(text.contains(words), "{words} is missing:\n{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_forge_takes_no_files_a_comment_has_it() {
    let world = World::new(FIX).await;
    finished(&world).await;
    world.forge.refuse(&[("/assets", 404)]);
    let pull = approved(&world).await.pull.expect("a pull request");
    let said = world.until_said(pull, "this forge takes no file of it").await;
    assert!(said.contains("## 4. `edit_file semver.py`"), "{said}");
    world.settled().await;
    let said = world.said(pull).await;
    assert_eq!(said.iter().filter(|text| text.contains("takes no file of it")).count(), 1);
    world.forge.refuse(&[]);
    assert_eq!(attached(&world, pull).await, []);
}

fn is_upload(method: &str, path: &str) -> bool {
    method == "POST" && path.ends_with("/assets")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attachment_whose_answer_is_lost_hangs_there_once() {
    let world = World::new(FIX).await;
    finished(&world).await;
    let lost = AtomicBool::new(false);
    world.forge.set_faults(move |method, path| {
        (is_upload(method, path) && !lost.swap(true, Ordering::SeqCst)).then_some(Fault::Unanswered)
    });
    let pull = approved(&world).await.pull.expect("a pull request");
    world.settled().await;
    assert_eq!(attached(&world, pull).await.len(), 1);
    assert!(!world.said(pull).await.iter().any(|text| text.contains("takes no file of it")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forge_that_fails_at_every_attachment_holds_nothing_up() {
    let world = World::new(FIX).await;
    finished(&world).await;
    world.forge.set_faults(|method, path| is_upload(method, path).then_some(Fault::Refused(503)));
    let pull = approved(&world).await.pull.expect("a pull request");
    world.settled().await;
    assert_eq!(attached(&world, pull).await, []);
}

async fn until_attached(world: &World, pull: u64) {
    let end = Instant::now() + PATIENCE;
    while attached(world, pull).await.is_empty() {
        assert!(Instant::now() < end, "nothing hangs there");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until the status comment on this issue links the log.
async fn linked(world: &World, issue: u64) {
    world.settled().await;
    world.until_said(issue, &format!("[their log]({}/attachments/", world.forge.url())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_of_a_stopped_a_declined_and_a_failed_task_hangs_there_and_is_linked() {
    for end in ["cancelled", "declined", "failed"] {
        let world = World::new(FIX).await;
        let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
        let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
        match end {
            "cancelled" => drop(world.alice().comment(REPO, pull, "/stop").expect("said")),
            "declined" => world.alice().close(REPO, pull).expect("closed"),
            _ => world.forge.delete_issue(REPO, issue).expect("deleted"),
        }
        world.until_state(end).await;
        // What is to be said on an issue that is gone stays open.
        if end == "failed" {
            until_attached(&world, pull).await;
        } else {
            linked(&world, issue).await;
        }
        let names: Vec<String> = attached(&world, pull).await.into_iter().map(|file| file.name).collect();
        assert!(matches!(names.as_slice(), [one] if is_log(one)), "{end}: {names:?}");
    }
}

/// Without a pull request the issue has the file, and nothing where the forge takes none.
#[tokio::test(flavor = "multi_thread")]
async fn the_log_of_a_task_without_a_pull_request_hangs_on_its_issue() {
    for takes in [true, false] {
        let world = World::new(&held()).await;
        if !takes {
            world.forge.refuse(&[("POST /assets", 404)]);
        }
        let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
        world.until("an action", |task| task.running == Some(1)).await;
        world.alice().comment(REPO, issue, "/stop").expect("said");
        let task = world.until_state("cancelled").await;
        assert_eq!(task.pull, None, "it was stopped before its first checkpoint");
        world.settled().await;
        assert_eq!(attached(&world, issue).await.len(), usize::from(takes));
        assert!(!world.said(issue).await.iter().any(|text| text.contains("takes no file of it")));
        if takes {
            linked(&world, issue).await;
        }
    }
}

/// What did nothing has no log.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_did_nothing_leaves_no_file() {
    let world = World::new(FIX).await;
    world.barrier.send_replace(caisson::barrier::BarrierState::Waiting("until the test ends".into()));
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("queued").await;
    world.alice().comment(REPO, issue, "/stop").expect("said");
    world.until_state("cancelled").await;
    world.settled().await;
    assert_eq!(attached(&world, issue).await, []);
}
