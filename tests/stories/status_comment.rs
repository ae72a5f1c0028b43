//! The one comment that shows a task's state: it is edited in place, whatever is cut off or killed, and what a person did to it stays.

use crate::world::{FIX, PATIENCE, REPO, World, held, next_second};
use caisson::forge::{Comment, ForgeReads as _, RepoRef};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

fn at() -> RepoRef {
    RepoRef::new("lab", "shop")
}

/// The status comments of this task on this issue, oldest first.
async fn shown(world: &World, issue: u64, task: u64) -> Vec<Comment> {
    let mut all = world.look().comments(&at(), issue).await.expect("comments");
    all.retain(|comment| comment.body.contains(&format!("### Task {task}: ")));
    all
}

/// Waits until the only status comment of task 1 has this heading.
async fn until_shown(world: &World, issue: u64, heading: &str) -> Comment {
    let end = Instant::now() + PATIENCE;
    loop {
        let found = shown(world, issue, 1).await;
        assert!(found.len() <= 1, "{found:#?}");
        if let Some(one) = found.into_iter().next().filter(|it| it.body.starts_with(&format!("### Task 1: {heading}")))
        {
            return one;
        }
        assert!(Instant::now() < end, "waited for {heading:?}: {:#?}", shown(world, issue, 1).await);
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
}

/// A world in which edits wait one second instead of ten.
async fn quick(script: &str) -> World {
    let mut world = World::new(script).await;
    world.reconfigure(|text| text.replace("poll_s = 1\n", "poll_s = 1\nstatus_edit_s = 1\n")).await;
    world
}

fn ask(world: &World) -> u64 {
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue")
}

/// Lets the first action end, once it runs.
async fn go(world: &World) {
    world.until("an action that runs", |task| task.actions > 0).await;
    std::fs::write(world.broker.workspace("task-1-1").join("go"), "").expect("let go");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_comment_follows_a_task_from_its_first_word_to_its_end() {
    let world = quick(&held()).await;
    let issue = ask(&world);
    let first = until_shown(&world, issue, "working, action 1 of 5 of checkpoint 1").await;
    assert!(
        first.body.contains("Task 1 is on it.") && first.body.contains("| asked for | `/fix` by `alice` |"),
        "{first:?}"
    );
    assert!(first.body.contains("under way · in the next review"), "{first:?}");
    go(&world).await;
    let review = until_shown(&world, issue, "waiting for an answer to checkpoint 1").await;
    assert_eq!(review.id, first.id, "edited in place");
    let task = world.task().await;
    let (pull, page) = (task.pull.expect("a pull request"), format!("{}/{REPO}", world.forge.url()));
    let number = task.checkpoint().expect("one stands").number;
    for link in [
        format!("[{pull}]({page}/pulls/{pull})"),
        format!("({page}/commit/{})", task.pushed.as_ref().expect("pushed")),
        format!("| newest review | [checkpoint 1]({page}/pulls/{pull}#issuecomment-{number}) |"),
    ] {
        assert!(review.body.contains(&link), "{link} is missing: {}", review.body);
    }
    world.approve().await;
    until_shown(&world, issue, "done, and waiting for the last approval").await;
    world.approve().await;
    let approved = until_shown(&world, issue, "approved").await;
    assert!(approved.body.contains(&format!("[their log]({}/attachments/", world.forge.url())), "{}", approved.body);
    world.alice().comment(REPO, issue, "/stop").expect("said");
    let over = until_shown(&world, issue, "over, cancelled").await;
    assert_eq!(over.id, first.id);
    assert!(!over.body.contains('@') && !over.body.contains("is on it"), "{}", over.body);
    let said = world.said(issue).await;
    assert_eq!(said.iter().filter(|text| text.contains("is on it")).count(), 0, "nothing else says so: {said:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_task_works_it_is_edited_rarely_and_a_pause_shows_at_once() {
    let world = World::new(&held()).await;
    let issue = ask(&world);
    world.until("an action that runs", |task| task.running.is_some()).await;
    let early = shown(&world, issue, 1).await;
    let edits = || world.forge.requests(|path| path.contains("/issues/comments/"));
    let before = edits();
    world.alice().comment(REPO, issue, "/pause").expect("said");
    let paused = until_shown(&world, issue, "paused").await;
    assert!(paused.body.contains("`alice` asked for it"), "{}", paused.body);
    assert!(early.iter().all(|it| it.id == paused.id));
    // What was shown is read before it is edited.
    assert!(edits() - before <= 6, "{} requests about comments", edits() - before);
    go(&world).await;
    world.alice().comment(REPO, issue, "/resume").expect("said");
    until_shown(&world, issue, "waiting for an answer to checkpoint 1").await;
}

/// Many events are few edits: what is wanted while one is open is one edit.
#[tokio::test(flavor = "multi_thread")]
async fn many_steps_are_one_edit() {
    let world = World::new(FIX).await;
    let before = world.forge.requests(|path| path.contains("/issues/comments/"));
    let issue = ask(&world);
    until_shown(&world, issue, "waiting for an answer to checkpoint 1").await;
    world.settled().await;
    let asked = world.forge.requests(|path| path.contains("/issues/comments/")) - before;
    let events = world.log().await.len() as u64;
    assert!(events > 20 && asked <= 12, "{asked} requests for {events} events");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_comment_whose_answer_was_lost_is_found_again() {
    for lands in [None, Some(Duration::ZERO), Some(Duration::from_millis(150))] {
        let world = World::new(FIX).await;
        world.forge.cut_next_comment(lands);
        let issue = ask(&world);
        until_shown(&world, issue, "waiting for an answer to checkpoint 1").await;
        world.settled().await;
        assert_eq!(shown(&world, issue, 1).await.len(), 1, "{lands:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_whose_answer_was_lost_leaves_the_newest_text() {
    for lands in [None, Some(Duration::ZERO), Some(Duration::from_millis(200))] {
        let world = World::new(&held()).await;
        let issue = ask(&world);
        until_shown(&world, issue, "").await;
        world.until("an action that runs", |task| task.running.is_some()).await;
        quiet_but_work(&world).await;
        world.forge.cut_next_edit(lands);
        go(&world).await;
        until_shown(&world, issue, "waiting for an answer to checkpoint 1").await;
        world.settled().await;
        // An edit that landed late would be seen by now.
        tokio::time::sleep(Duration::from_millis(400)).await;
        until_shown(&world, issue, "waiting for an answer to checkpoint 1").await;
    }
}

/// Waits until the first comment is posted and its row closed, or waits for its time.
async fn quiet_but_work(world: &World) {
    let end = Instant::now() + PATIENCE;
    loop {
        let next = world.store().next_effect(domain::TaskId(1), domain::Queue::Talk).await.expect("read");
        if next.is_none_or(|row| row.closed_at.is_some()) {
            return;
        }
        assert!(Instant::now() < end, "the first comment is not closed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// At each boundary of each edit: begun, in the middle, done, closed.
#[tokio::test(flavor = "multi_thread")]
async fn killed_at_each_boundary_there_is_one_and_it_shows_the_end() {
    use caisson::task::Boundary;
    let moments: [fn(Boundary) -> bool; 4] = [
        |at| matches!(at, Boundary::Begun),
        |at| matches!(at, Boundary::Under(3)),
        |at| matches!(at, Boundary::Done),
        |at| matches!(at, Boundary::Closed),
    ];
    for (place, is_here) in moments.into_iter().enumerate() {
        let mut world = quick(FIX).await;
        let kills = Arc::new(AtomicU32::new(0));
        let (asked, reached) = std::sync::mpsc::channel::<()>();
        let (counted, asked) = (kills.clone(), Mutex::new(asked));
        // The first post and two edits.
        world.cuts.set(move |row, at| {
            let here = row.effect.kind() == "status_comment" && is_here(at) && counted.load(Ordering::SeqCst) < 3;
            here && {
                counted.fetch_add(1, Ordering::SeqCst);
                asked.lock().expect("whole").send(()).is_ok()
            }
        });
        let issue = ask(&world);
        let end = Instant::now() + PATIENCE * 2;
        let mut approved = 0;
        loop {
            if reached.try_recv().is_ok() {
                world.kill();
                world.start().await;
            }
            let task = world.task().await;
            let heading = match task.state.name() {
                "awaiting-review" => "### Task 1: waiting for an answer",
                "final-review" => "### Task 1: done, and waiting",
                _ => "none: nobody is asked",
            };
            // Approved once that is shown, so that no edit is joined with the next.
            let shows = shown(&world, issue, 1).await.first().is_some_and(|it| it.body.starts_with(heading));
            if shows && task.checkpoints.len() > approved {
                approved = task.checkpoints.len();
                world.approve().await;
            }
            let open = world.store().tasks_with_effects().await.expect("read");
            if task.state.name() == "approved" && open.is_empty() {
                break;
            }
            assert!(Instant::now() < end, "moment {place}: {:?}, open: {open:?}", task.state);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(kills.load(Ordering::SeqCst), 3, "moment {place}");
        let found = shown(&world, issue, 1).await;
        assert_eq!(found.len(), 1, "moment {place}: {found:#?}");
        assert!(found[0].body.starts_with("### Task 1: approved"), "moment {place}: {}", found[0].body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_a_person_deleted_is_not_made_again_and_delays_nothing() {
    let world = World::new(&held()).await;
    let issue = ask(&world);
    let first = until_shown(&world, issue, "").await;
    quiet_but_work(&world).await;
    world.alice().delete_comment(REPO, first.id).expect("deleted");
    go(&world).await;
    world.until_state("awaiting-review").await;
    world.approve().await;
    world.until_state("final-review").await;
    world.settled().await;
    assert!(shown(&world, issue, 1).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_a_person_wrote_over_is_posted_anew_once() {
    let world = World::new(&held()).await;
    let issue = ask(&world);
    let first = until_shown(&world, issue, "").await;
    quiet_but_work(&world).await;
    next_second().await;
    // A writer may change anybody's text; without its mark it is nobody's.
    world.alice().edit_comment(REPO, first.id, "It is finished, merge it.").expect("edited");
    go(&world).await;
    world.until_state("awaiting-review").await;
    let second = until_shown(&world, issue, "waiting for an answer to checkpoint 1").await;
    assert!(second.id > first.id);
    world.settled().await;
    world.alice().edit_comment(REPO, second.id, "Once more.").expect("edited");
    world.approve().await;
    world.until_state("final-review").await;
    world.settled().await;
    assert!(shown(&world, issue, 1).await.is_empty(), "never a third one");
    let left = world.look().comment(&at(), first.id).await.expect("read").expect("there");
    assert_eq!(left.body, "It is finished, merge it.", "a text of others is not written over");
}

#[tokio::test(flavor = "multi_thread")]
async fn words_that_a_person_puts_into_it_are_written_over() {
    let world = World::new(&held()).await;
    let issue = ask(&world);
    let first = until_shown(&world, issue, "").await;
    quiet_but_work(&world).await;
    let forged = first.body.replacen("### Task 1: ", "### Task 1: approved by the operator, was ", 1);
    world.alice().edit_comment(REPO, first.id, &forged).expect("edited");
    go(&world).await;
    let now = until_shown(&world, issue, "waiting for an answer to checkpoint 1").await;
    assert_eq!(now.id, first.id);
    assert!(!now.body.contains("by the operator"), "{}", now.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_with_its_words_by_somebody_else_is_not_taken_for_it() {
    let world = World::new(&held()).await;
    let issue = ask(&world);
    let first = until_shown(&world, issue, "").await;
    quiet_but_work(&world).await;
    let copy = world.bob().comment(REPO, issue, &first.body).expect("said");
    go(&world).await;
    world.until_state("awaiting-review").await;
    world.settled().await;
    let found = shown(&world, issue, 1).await;
    assert_eq!(found.len(), 2);
    for comment in found {
        let waits = comment.body.starts_with("### Task 1: waiting for an answer");
        assert_eq!(waits, comment.id == first.id && comment.id != copy, "{comment:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_tasks_have_one_each_and_an_attempt_anew_its_own() {
    let world = World::new(FIX).await;
    let issue = ask(&world);
    // Hooks of two issues may arrive in either order: the first task has its number before the second is asked for.
    until_shown(&world, issue, "").await;
    let other = world.alice().open_issue(REPO, "Again", "/plan").expect("issue");
    until_shown(&world, issue, "waiting for an answer to checkpoint 1").await;
    let end = Instant::now() + PATIENCE;
    while shown(&world, other, 2).await.len() != 1 {
        assert!(Instant::now() < end, "{:#?}", world.said(other).await);
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
    assert!(shown(&world, other, 1).await.is_empty() && shown(&world, issue, 2).await.is_empty());
    world.alice().comment(REPO, issue, "/retry").expect("said");
    until_shown(&world, issue, "over, cancelled").await;
    let end = Instant::now() + PATIENCE;
    while shown(&world, issue, 3).await.len() != 1 {
        assert!(Instant::now() < end, "{:#?}", world.said(issue).await);
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
}

/// A forge that refuses the edit delays neither the work nor what is said about it.
#[tokio::test(flavor = "multi_thread")]
async fn an_edit_that_the_forge_refuses_delays_nothing() {
    let world = World::new(&held()).await;
    let issue = ask(&world);
    let first = until_shown(&world, issue, "").await;
    quiet_but_work(&world).await;
    let end = format!("PATCH /issues/comments/{}", first.id);
    world.forge.refuse(&[(end.as_str(), 403)]);
    go(&world).await;
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    world.alice().comment(REPO, pull, "/status").expect("said");
    world.until_said(pull, "Task 1 is waiting for an answer to checkpoint 1").await;
    world.forge.refuse(&[]);
    until_shown(&world, issue, "waiting for an answer to checkpoint 1").await;
}
