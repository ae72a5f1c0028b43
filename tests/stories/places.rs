//! Each command in each place where a task's people write: a comment of its issue or its pull request, the text of a review, and a line. It is
//! carried out, answered, or refused with where to write it; and that once.

use crate::world::{FIX, PATIENCE, REPO, World};
use domain::Task;
use std::time::{Duration, Instant};

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
