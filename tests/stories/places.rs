//! Each command in each place where a task's people write: a comment of its issue or its pull request, the text of a review, and a line. It is
//! carried out, answered, or refused with where to write it; and that once.

use crate::world::{FIX, PATIENCE, REPO, World};
use domain::{Event, Task};
use std::time::{Duration, Instant};

/// Where a text stands: a comment of the issue or the pull request; the text of a review that comments, approves or requests changes; and a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Page {
    Issue,
    Pull,
    Review,
    Approval,
    Rejection,
    Line,
}

/// A task at the checkpoint that waits.
struct At {
    issue: u64,
    pull: u64,
    commit: String,
}

impl At {
    /// The world's first task, at its first checkpoint.
    async fn first(world: &World) -> At {
        let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
        let task = world.until_state("awaiting-review").await;
        world.settled().await;
        At::of(issue, &task)
    }

    fn of(issue: u64, task: &Task) -> At {
        let commit = task.checkpoint().and_then(|checkpoint| checkpoint.commit.clone()).expect("a commit");
        At { issue, pull: task.pull.expect("a pull request"), commit: commit.as_str().to_owned() }
    }

    /// Has alice write this text there.
    fn write(&self, world: &World, page: Page, text: &str) {
        let (alice, commit) = (world.alice(), self.commit.as_str());
        let written = match page {
            Page::Issue => alice.comment(REPO, self.issue, text),
            Page::Pull => alice.comment(REPO, self.pull, text),
            Page::Review => alice.review_comment(REPO, self.pull, commit, text),
            Page::Approval => alice.approve_with(REPO, self.pull, commit, text, &[]),
            Page::Rejection => alice.request_changes(REPO, self.pull, commit, text, &[]),
            Page::Line => alice.remark(REPO, self.pull, commit, "", &[("semver.py", 2, text)]),
        };
        written.expect("written");
    }

    /// As [`At::write`], and waits for exactly these answers.
    async fn write_and_hear(&self, world: &World, page: Page, text: &str, expected: &[&str]) {
        let before = self.answers(world).await;
        self.write(world, page, text);
        let expected: Vec<String> = expected.iter().map(|&words| words.to_owned()).collect();
        self.answered(world, &before, &expected).await;
    }

    /// What the bot has answered on issue and pull request: neither the status comment, which is the issue's first, nor reviews.
    async fn answers(&self, world: &World) -> Vec<String> {
        let mut all: Vec<String> = world.said(self.issue).await.into_iter().skip(1).collect();
        all.extend(world.said(self.pull).await);
        all.retain(|text| !text.starts_with("### "));
        all
    }

    /// Waits until each of these words stands in an answer of its own beside those `before`, and checks that there is no other one.
    async fn answered(&self, world: &World, before: &[String], expected: &[String]) {
        let end = Instant::now() + PATIENCE;
        while self.answers(world).await.len() < before.len() + expected.len() {
            assert!(Instant::now() < end, "waited for {expected:#?}: {:#?}", self.answers(world).await);
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
        world.read_now().await.expect("read");
        world.settled().await;
        let mut new = self.answers(world).await;
        for words in before.iter().chain(expected) {
            let found = new.iter().position(|text| text.contains(words.as_str()));
            let Some(found) = found else { panic!("{words:?} is in none of {new:#?}") };
            new.remove(found);
        }
        assert!(new.is_empty(), "beyond {expected:#?}: {new:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_readers_command_on_a_line_is_answered_or_refused_as_in_a_comment() {
    let world = World::new(FIX).await;
    let at = At::first(&world).await;
    let before = at.answers(&world).await;
    let on_line = |text: &str| {
        world.bob().remark(REPO, at.pull, &at.commit, "", &[("semver.py", 2, text)]).expect("posted");
    };
    for text in ["/status", "rename it", "/approve", "/allow a.test"] {
        on_line(text);
    }
    let refused = "`bob`: `/approve` is for those who may write";
    at.answered(&world, &before, &["| asked by |".to_owned(), refused.to_owned()]).await;
    let before = at.answers(&world).await;
    let why = [("semver.py", 6, "why a list?")];
    let review = world.alice().remark(REPO, at.pull, &at.commit, "", &why).expect("posted");
    world.until("the remark", |task| task.numbered.open().count() == 1).await;
    world.bob().reply(REPO, at.pull, review, "/cost").expect("said");
    at.answered(&world, &before, &["What task 1 has used so far".to_owned()]).await;
    let task = world.task().await;
    assert_eq!((task.state.name(), task.numbered.open().count()), ("awaiting-review", 1));
}

/// Of an approving review the command counts that is more careful, and nothing is approved.
const NOT_APPROVED: &str = "that one was taken up, and nothing was approved";

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_holds_wherever_it_stands_and_a_review_that_approves_beside_it_approves_nothing() {
    let world = World::new(FIX).await;
    let at = At::first(&world).await;
    let pauses = [Page::Issue, Page::Pull, Page::Review, Page::Line, Page::Approval];
    let resumes = [Page::Issue, Page::Pull, Page::Review, Page::Pull, Page::Pull];
    for (pauses, resumes) in pauses.into_iter().zip(resumes) {
        let paused = "The task is paused. `alice` asked for it.";
        match pauses {
            Page::Approval => at.write_and_hear(&world, pauses, "Fine.\n\n/pause", &[paused, NOT_APPROVED]).await,
            _ => at.write_and_hear(&world, pauses, "/pause", &[paused]).await,
        }
        assert_eq!(world.task().await.state.name(), "paused", "{pauses:?}");
        at.write_and_hear(&world, resumes, "/resume", &["The task goes on where it stopped"]).await;
        assert_eq!(world.task().await.state.name(), "awaiting-review", "{resumes:?}");
    }
    let same_base = "still ends at the commit that the work stands on";
    at.write_and_hear(&world, Page::Approval, "/rebase", &[same_base, NOT_APPROVED]).await;
    let named = "`/pause` contradicts `/approve`; of such the careful one counts";
    let paused = "The task is paused. `alice` asked for it.";
    at.write_and_hear(&world, Page::Approval, "/approve\n/pause", &[paused, named]).await;
    assert_eq!(world.task().await.state.name(), "paused");
    let used = |event: &Event| matches!(event, Event::DecisionUsed { .. });
    assert!(!world.log().await.iter().any(used), "nothing is decided about the checkpoint");
}
