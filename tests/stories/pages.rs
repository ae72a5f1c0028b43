//! What people do to the agent's branch and to its page, besides answering: `docs/pages-and-branches.md` has the rule for each.

use crate::world::{FIX, PATIENCE, REPO, World, git};
use caisson::forge::{ForgeReads, PullRequest, RepoRef};
use caisson::task::Boundary;
use devforge::Access;
use domain::{End, Event, PauseReason, State};
use std::path::PathBuf;

/// A task at its first checkpoint; returns its issue and pull request.
async fn at_review(world: &World) -> (u64, u64) {
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    (issue, world.until_state("awaiting-review").await.pull.expect("a pull request"))
}

async fn pull_request(world: &World, pull: u64) -> PullRequest {
    world.look().pull(&RepoRef::new("lab", "shop"), pull).await.expect("the pull request")
}

/// How many decisions were used.
pub async fn used(world: &World) -> usize {
    world.log().await.iter().filter(|event| matches!(event, Event::DecisionUsed { .. })).count()
}

/// Somebody's clone, and what git needs to push from it.
struct Clone {
    work: PathBuf,
    header: String,
    url: String,
    branch: String,
}

impl Clone {
    async fn of(world: &World) -> Self {
        let header = format!("http.extraHeader=Authorization: token {}", world.forge.admin_token());
        let branch = world.task().await.request.expect("asked").branch;
        let (work, url) = (world.dir.path().join("project"), format!("{}/{REPO}.git", world.forge.url()));
        Self { work, header, url, branch }
    }

    fn git(&self, args: &[&str]) -> String {
        git(&self.work, &[&["-c", self.header.as_str()], args].concat())
    }

    /// Puts another commit on the branch, whatever stands there; returns what stood there.
    fn force(&self) -> String {
        self.git(&["fetch", "-q", &self.url, &self.branch]);
        let before = self.git(&["rev-parse", "FETCH_HEAD"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "by hand"]);
        self.put("HEAD");
        before
    }

    fn put(&self, commit: &str) {
        self.git(&["push", "-q", "--force", &self.url, &format!("{commit}:refs/heads/{}", self.branch)]);
    }
}

/// FIX, whose sixth action runs until the test lets it end.
fn held_after_the_review() -> String {
    FIX.replace("git diff --stat || true", "while [ ! -e go ]; do sleep 0.02; done")
}

fn let_go(world: &World) {
    std::fs::write(world.broker.workspace("task-1-1").join("go"), "").expect("let go");
}

/// The text of the pull request says who pushes; a push all the same is never overwritten, and the sentence says what to do.
#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_somebody_else_moved_is_not_overwritten_and_the_task_goes_on_once_it_is_put_back() {
    let world = World::new(&held_after_the_review()).await;
    let (_, pull) = at_review(&world).await;
    let body = pull_request(&world, pull).await.body;
    assert!(body.contains("Only the bot pushes to this branch") && body.contains("rather than overwrite it"), "{body}");
    world.approve().await;
    world.until("an action that runs", |task| task.running.is_some()).await;
    let clone = Clone::of(&world).await;
    let before = clone.force();
    let by_hand = clone.git(&["rev-parse", "HEAD"]);
    let_go(&world);
    let task = world.until_state("paused").await;
    let State::Paused { reason: PauseReason::Blocked { sentence }, .. } = &task.state else { panic!("{task:?}") };
    assert!(sentence.contains("only the bot pushes to it"), "{sentence}");
    world.until_said(pull, "Put the branch back").await;
    assert_eq!(pull_request(&world, pull).await.head_sha, by_hand, "it was overwritten");
    clone.put(&before);
    world.alice().comment(REPO, pull, "/resume").expect("said");
    world.until_state("final-review").await;
}

/// A branch reset to before the agent's work is treated like one with foreign commits.
#[tokio::test(flavor = "multi_thread")]
async fn an_approval_of_a_branch_that_was_set_back_does_not_count() {
    let world = World::new(FIX).await;
    let (_, pull) = at_review(&world).await;
    let clone = Clone::of(&world).await;
    let base = world.task().await.base.expect("a base");
    let before = clone.force();
    clone.put(base.as_str());
    world.approve().await;
    world.until_said(pull, "no longer ends at").await;
    assert_eq!(used(&world).await, 0);
    clone.put(&before);
    world.approve().await;
    world.until_state("final-review").await;
}

/// The forge lists a review whose text was deleted on the page, where nobody can read it any more.
#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_that_was_deleted_on_the_page_is_posted_again() {
    let world = World::new(FIX).await;
    let (_, pull) = at_review(&world).await;
    let shown = world.task().await.checkpoint().expect("a checkpoint").number;
    world.alice().delete_comment(REPO, shown).expect("deleted");
    let task = world.until("it is there again", |task| task.checkpoints.len() == 2).await;
    assert!(task.checkpoints[0].void && task.checkpoints[1].number > shown, "{:?}", task.checkpoints);
    world.until_said(pull, "was edited or deleted").await;
    world.approve().await;
    world.until_state("final-review").await;
}

/// The forge closes the pull request of a branch that is deleted.
#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_branch_ends_the_task() {
    let world = World::new(FIX).await;
    let (_, pull) = at_review(&world).await;
    let clone = Clone::of(&world).await;
    clone.git(&["push", "-q", &clone.url, &format!(":refs/heads/{}", clone.branch)]);
    let task = world.until("an end", |task| task.end().is_some()).await;
    assert_eq!(task.end(), Some(&End::Declined));
    let said = world.until_said(pull, "Closed, so the task ends here").await;
    assert!(said.contains("was pushed to"), "the branch is not said to be there: {said}");
    world.nothing_left().await;
}

/// A world whose bot is broken off while it opens its pull request, and the number of its issue.
async fn broken_off_while_it_opens_its_pull_request(boundary: Boundary) -> (World, u64) {
    let world = World::new(FIX).await;
    let (met, mut reached) = tokio::sync::mpsc::unbounded_channel();
    world.cuts.set(move |row, at| row.effect.kind() == "open_pull" && at == boundary && met.send(()).is_ok());
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    tokio::time::timeout(PATIENCE, reached.recv()).await.expect("in time").expect("it begins to");
    (world, issue)
}

/// The same with a bot that was killed there.
async fn killed_while_it_opened_its_pull_request(boundary: Boundary) -> (World, u64) {
    let (mut world, issue) = broken_off_while_it_opens_its_pull_request(boundary).await;
    world.kill();
    world.cuts.clear();
    (world, issue)
}

/// Waits until the task is paused; the sentence that says why.
async fn blocked(world: &World) -> String {
    let task = world.until_state("paused").await;
    let State::Paused { reason: PauseReason::Blocked { sentence }, .. } = &task.state else { panic!("{task:?}") };
    sentence.clone()
}

/// There is no pull request yet that the forge could close, and none can be opened.
#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_is_gone_before_there_is_a_pull_request_pauses_the_task_until_it_is_put_back() {
    let (mut world, issue) = killed_while_it_opened_its_pull_request(Boundary::Begun).await;
    let clone = Clone::of(&world).await;
    clone.git(&["fetch", "-q", &clone.url, &clone.branch]);
    let pushed = clone.git(&["rev-parse", "FETCH_HEAD"]);
    clone.git(&["push", "-q", &clone.url, &format!(":refs/heads/{}", clone.branch)]);
    world.start().await;
    let sentence = blocked(&world).await;
    assert!(sentence.contains(&format!("`{}` is gone but I left it at {}", clone.branch, &pushed[..10])), "{sentence}");
    world.until_said(issue, "Put the branch back").await;
    clone.put(&pushed);
    world.alice().comment(REPO, issue, "/resume").expect("said");
    world.until_state("awaiting-review").await;
}

/// The bot died before it stored the pull request's number, so that closing it could not be noticed.
#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_that_was_closed_before_the_bot_recorded_it_pauses_the_task_until_it_is_open_again() {
    let (mut world, issue) = killed_while_it_opened_its_pull_request(Boundary::Done).await;
    let branch = world.task().await.request.expect("asked").branch;
    let pulls = world.look().pulls_of_branch(&RepoRef::new("lab", "shop"), &branch).await.expect("listed");
    let pull = pulls[0].number;
    world.alice().close(REPO, pull).expect("closed");
    world.start().await;
    assert_eq!(blocked(&world).await, format!("pull request {pull} was closed; reopen it and say `/resume`"));
    world.until_said(issue, "was closed; reopen it").await;
    world.alice().set_open(REPO, pull, true).expect("opened");
    world.alice().comment(REPO, issue, "/resume").expect("said");
    assert_eq!(world.until_state("awaiting-review").await.pull, Some(pull));
}

/// The forge has made it, and the bot never learns its number.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_is_stopped_while_its_pull_request_is_opened_leaves_none_open() {
    let (world, issue) = broken_off_while_it_opens_its_pull_request(Boundary::Done).await;
    let branch = world.task().await.request.expect("asked").branch;
    world.alice().comment(REPO, issue, "/stop").expect("said");
    let end = std::time::Instant::now() + PATIENCE;
    loop {
        let pulls = world.look().pulls_of_branch(&RepoRef::new("lab", "shop"), &branch).await.expect("listed");
        if pulls.len() == 1 && !pulls[0].open {
            break;
        }
        assert!(std::time::Instant::now() < end, "{pulls:?}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(world.task().await.pull, None);
}

/// What stands in the pull request's own text or title is no command, and ends or approves nothing.
#[tokio::test(flavor = "multi_thread")]
async fn an_edited_title_and_text_of_the_pull_request_count_for_nothing() {
    let world = World::new(FIX).await;
    let (_, pull) = at_review(&world).await;
    world.alice().edit_issue(REPO, pull, Some("/approve"), Some("/stop\n\nAnother text.")).expect("edited");
    world.heard(pull).await;
    world.read_now().await.expect("read");
    assert_eq!((world.task().await.state.name(), used(&world).await), ("awaiting-review", 0));
    world.approve().await;
    world.until_state("final-review").await;
    let shown = pull_request(&world, pull).await;
    assert!(shown.open && used(&world).await == 1, "{shown:?}");
    let issue = world.look().issue(&RepoRef::new("lab", "shop"), pull).await.expect("the page");
    assert!(issue.title == "/approve" && issue.body.contains("Another text."), "{issue:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_pull_request_ends_the_task_and_one_that_is_opened_again_does_not_begin_it_again() {
    let world = World::new(FIX).await;
    let (_, pull) = at_review(&world).await;
    world.alice().close(REPO, pull).expect("closed");
    let task = world.until("an end", |task| task.end().is_some()).await;
    assert_eq!(task.end(), Some(&End::Declined));
    world.until_said(pull, "Closed, so the task ends here").await;
    world.alice().set_open(REPO, pull, true).expect("opened");
    world.approve().await;
    // What is said there begins a new attempt, and nothing else does.
    world.alice().comment(REPO, pull, "/fix").expect("said");
    world.until_said(pull, "`alice`").await;
    assert_eq!((used(&world).await, world.store().tasks(5).await.expect("read").len()), (0, 1));
    assert_eq!(world.task().await.end(), Some(&End::Declined));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_after_the_last_approval_delivers_and_one_before_it_declines() {
    for approved in [true, false] {
        let world = World::new(FIX).await;
        let (_, pull) = at_review(&world).await;
        if approved {
            world.approve().await;
            world.until_state("final-review").await;
            world.approve().await;
            world.until_state("approved").await;
            let end = std::time::Instant::now() + PATIENCE;
            while pull_request(&world, pull).await.draft {
                assert!(std::time::Instant::now() < end, "it stays a draft");
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        } else {
            world.alice().edit_issue(REPO, pull, Some("Merged by hand"), None).expect("no draft any more");
        }
        world.alice().merge(REPO, pull).await.expect("merged");
        let task = world.until("an end", |task| task.end().is_some()).await;
        let (end, words) = match approved {
            true => (End::Delivered, "Merged at `"),
            false => (End::Declined, "Closed, so the task ends here"),
        };
        assert_eq!(task.end(), Some(&end));
        world.until_said(pull, words).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_does_not_count_while_the_pull_request_aims_at_another_branch() {
    let world = World::new(FIX).await;
    let (_, pull) = at_review(&world).await;
    let clone = Clone::of(&world).await;
    clone.git(&["push", "-q", &clone.url, "main:refs/heads/stable"]);
    world.alice().retarget(REPO, pull, "stable").expect("retargeted");
    world.approve().await;
    world.until_said(pull, "the pull request now aims at another branch").await;
    assert_eq!(used(&world).await, 0);
    world.alice().retarget(REPO, pull, "main").expect("put back");
    world.approve().await;
    world.until_state("final-review").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transferred_repository_is_followed() {
    let world = World::new(FIX).await;
    let (issue, pull) = at_review(&world).await;
    world.forge.add_organisation("works", "caisson").expect("an organisation");
    world.forge.transfer(REPO, "works").expect("transferred");
    let told = world.until_said_in("works/shop", pull, "is `works/shop` now").await;
    assert!(told.contains("This repository was `lab/shop`"), "{told}");
    world.alice().comment("works/shop", issue, "/approve").expect("said");
    world.until_state("final-review").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archived_repository_takes_no_push_and_the_task_waits_for_a_person() {
    let world = World::new(&held_after_the_review()).await;
    let (_, pull) = at_review(&world).await;
    world.approve().await;
    world.until("an action that runs", |task| task.running.is_some()).await;
    world.forge.archive(REPO, true).expect("archived");
    let_go(&world);
    let sentence = "lab/shop is archived on the forge: un-archive it, then say `/resume`";
    assert_eq!(blocked(&world).await, sentence);
    world.forge.archive(REPO, false).expect("taken back");
    // Said once it can be: what is forbidden is set aside, and tried again after ten seconds at first.
    let said = world.until_said(pull, "The task is paused").await;
    assert!(said.contains("`lab/shop` is archived on the forge: un-archive it"), "{said}");
    world.alice().comment(REPO, pull, "/resume").expect("said");
    world.until_state("final-review").await;
}

/// The forge answers as if the branch were not there, whatever is missing for a pull request.
#[tokio::test(flavor = "multi_thread")]
async fn where_no_pull_request_can_be_opened_the_task_waits_for_a_person_who_is_told_why() {
    let world = World::new(FIX).await;
    world.forge.switch_pulls(REPO, false).expect("switched");
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let sentence = blocked(&world).await;
    assert!(sentence.contains("those of shop are switched off"), "{sentence}");
    world.until_said(issue, "Switch them on in its settings").await;
    world.forge.switch_pulls(REPO, true).expect("switched");

    world.forge.rename_branch(REPO, "main", "trunk").await.expect("renamed");
    world.alice().comment(REPO, issue, "/resume").expect("said");
    world.until_said(issue, "has no branch `main` any more, to which it would go").await;
    world.until_state("paused").await;
    world.forge.rename_branch(REPO, "trunk", "main").await.expect("renamed");
    world.alice().comment(REPO, issue, "/resume").expect("said");
    world.until_state("awaiting-review").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_repository_pauses_its_task() {
    let world = World::new(FIX).await;
    at_review(&world).await;
    // No effect meets the deletion before the thread's reading does.
    world.settled().await;
    world.forge.delete_repository(REPO).expect("deleted");
    let task = world.until_state("paused").await;
    let State::Paused { reason: PauseReason::Blocked { sentence }, .. } = &task.state else { panic!("{task:?}") };
    let gone = "the repository shop was deleted, or the bot may not see it any more; if it is gone, end the task with `caisson task stop`";
    assert_eq!(sentence, gone);
    assert!(world.is_running());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_of_somebody_who_lost_the_right_does_not_count() {
    let world = World::new(FIX).await;
    let (_, pull) = at_review(&world).await;
    world.forge.add_collaborator(REPO, "alice", Access::Read).expect("taken");
    world.approve().await;
    world.until_said(pull, "`/approve` is for").await;
    assert_eq!(used(&world).await, 0);
    // A right granted later does not revive the refused text.
    world.forge.add_collaborator(REPO, "alice", Access::Write).expect("given");
    world.heard(pull).await;
    assert_eq!(world.task().await.state.name(), "awaiting-review");
    world.approve().await;
    world.until_state("final-review").await;
}
