//! Deletes old data, maintains the local repositories and removes those that nobody needs, regularly and in small slices.
//!
//! Owns when; the configuration's `[keep]` says what is old enough, the store and `git` how it is deleted. Tests: below, and
//! `src/store/contract/retention.rs`.

use crate::config::process::Keep;
use crate::git::{Repos, UNBORN};
use crate::store::{Before, DAY_MS, Deleted, StoreError, unless_unreadable};
use crate::task::Machine;
use anyhow::Result;
use domain::{Commit, TaskId};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Keys of the repositories, queried each time because they change.
pub type Keys = Arc<dyn Fn() -> Vec<String> + Send + Sync>;

const ROUND: Duration = Duration::from_secs(60 * 60);
/// Time until it checks again whether our clock and the forge's agree.
const AGAIN: Duration = Duration::from_secs(60);
/// Time between two maintenance runs of a repository.
const TIDY: Duration = Duration::from_secs(24 * 60 * 60);

pub struct Cleanup {
    pub machine: Arc<Machine>,
    pub repos: Repos,
    pub keep: Keep,
    /// Keys of the present repositories.
    pub repositories: Keys,
    pub stopping: CancellationToken,
}

impl Cleanup {
    pub async fn run(self) {
        let mut tidied: Option<Instant> = None;
        loop {
            let done = self.agreed_round().await;
            if done && tidied.is_none_or(|at| at.elapsed() >= TIDY) {
                tidied = Some(Instant::now());
                self.tidy().await;
            }
            let wait = if done { ROUND } else { AGAIN };
            if self.stopping.run_until_cancelled(tokio::time::sleep(wait)).await.is_none() {
                return;
            }
        }
    }

    /// Runs a round by our clock, unless that may be wrong; whether it did.
    async fn agreed_round(&self) -> bool {
        let Some(now) = self.machine.clock().agreed() else { return false };
        if let Err(error) = self.round(now).await {
            tracing::warn!(error = format!("{error:#}"), "what is old could not be deleted; tried again in an hour");
        }
        true
    }

    /// Deletes everything that is old enough at this time.
    async fn round(&self, now: i64) -> Result<()> {
        let store = self.machine.store();
        let before = before(&self.keep, now);
        while !self.stopping.is_cancelled() && store.prune(before).await? {}
        let Some(tasks) = before.tasks else { return Ok(()) };
        let (mut deleted, mut left, mut failed) = (0, 0, HashSet::new());
        while !self.stopping.is_cancelled() {
            let overdue = store.overdue_tasks(tasks, left).await?;
            if overdue.is_empty() {
                break;
            }
            for (task, repository) in overdue {
                if failed.contains(&repository) || !self.machine.leases().holds(&repository) {
                    left += 1;
                    continue;
                }
                match self.machine.delete(task, &self.repos).await {
                    Ok(gone) => deleted += usize::from(matches!(gone, Deleted::Gone { .. })),
                    Err(error) => {
                        let error = format!("{error:#}");
                        tracing::warn!(
                            error,
                            task = task.0,
                            repository,
                            "ended tasks could not be deleted; tried again in an hour"
                        );
                        failed.insert(repository);
                        left += 1;
                    }
                }
            }
        }
        if deleted > 0 {
            tracing::info!(deleted, "deleted tasks that ended long ago");
        }
        Ok(())
    }

    async fn tidy(&self) {
        let bases = match self.bases().await {
            Ok(bases) => bases,
            Err(error) => {
                tracing::warn!(%error, "the local repositories were not tidied; tried again tomorrow");
                return;
            }
        };
        let mut keys = (self.repositories)();
        match self.taken_out(&keys).await {
            Ok(others) => keys.extend(others),
            Err(error) => {
                let error = format!("{error:#}");
                tracing::warn!(error, "local repositories that were taken out stay; tried again tomorrow");
            }
        }
        for key in &keys {
            let tidied = async {
                for (_, task, base) in bases.iter().filter(|(repository, ..)| repository == key) {
                    // A base that is already lost must not prevent the clean-up.
                    if self.repos.has(key, base).await? {
                        self.repos.keep_base(key, *task, base).await?;
                    }
                }
                // A task may have been deleted on another host; its refs here would keep its objects.
                for number in self.repos.tasks_with_refs(key).await? {
                    if self.is_nobodys(number).await {
                        self.repos.forget_task(key, number).await?;
                    }
                }
                self.repos.tidy(key, UNBORN).await
            };
            if let Err(error) = tidied.await {
                tracing::warn!(%error, key, "a local repository could not be tidied; tried again tomorrow");
            }
        }
    }

    /// Local repositories of none of these keys that tasks still have. Others that were taken out are removed.
    async fn taken_out(&self, keys: &[String]) -> Result<Vec<String>> {
        let store = self.machine.store();
        let mut needed: HashSet<String> = store.repositories_with_tasks().await?.into_iter().collect();
        needed.extend(store.open_test_runs().await?.into_iter().map(|row| row.repository));
        let mut others = self.repos.keys()?;
        others.retain(|key| !keys.contains(key));
        let (kept, gone): (Vec<String>, Vec<String>) = others.into_iter().partition(|key| needed.contains(key));
        for key in gone {
            // Added since.
            if (self.repositories)().contains(&key) {
                continue;
            }
            match self.repos.remove(&key).await {
                Ok(()) => tracing::info!(key, "removed a local repository that is not configured any more"),
                // It keeps no other one.
                Err(error) => tracing::warn!(%error, key, "what was taken out stays here; tried again tomorrow"),
            }
        }
        Ok(kept)
    }

    /// Whether refs with this number are of no task, and of no test run that is not answered: that one's commit may stand on no branch.
    async fn is_nobodys(&self, number: i64) -> bool {
        let store = self.machine.store();
        let (task, run) = (store.task_row(TaskId(number)).await, store.repository_of_test_run(number).await);
        matches!((task, run), (Ok(None), Ok(None)))
    }

    /// Bases of live tasks with their repositories; tasks prepared by an older version have no ref of theirs yet. Of one that cannot be read,
    /// a newer version made that ref.
    async fn bases(&self) -> Result<Vec<(String, i64, Commit)>, StoreError> {
        let mut bases = Vec::new();
        for row in self.machine.store().live_tasks().await? {
            let id = TaskId(row.id);
            let task = unless_unreadable(id, self.machine.store().task(id).await)?;
            bases.extend(task.and_then(|task| task.base).map(|base| (row.repository, row.id, base)));
        }
        Ok(bases)
    }
}

fn before(keep: &Keep, now: i64) -> Before {
    let at = |days: u32| (days > 0).then(|| now - i64::from(days) * DAY_MS);
    Before { deliveries: at(keep.deliveries_days), details: at(keep.details_days), tasks: at(keep.tasks_days) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::now;
    use crate::store::tests::{acting, created, created_in, feed_at, make_unreadable};
    use crate::store::{Cause, NewTestRun, Store, TakenUp, sandbox_number};
    use domain::{Account, Input, TestRun};
    use std::path::Path;

    fn cleanup(store: &Store, dir: &Path) -> Cleanup {
        Cleanup {
            machine: Machine::new(store.clone(), 1).0,
            repos: Repos::new(dir.join("repos")),
            keep: Keep { deliveries_days: 7, details_days: 30, tasks_days: 90 },
            repositories: Arc::new(Vec::new),
            stopping: CancellationToken::new(),
        }
    }

    #[tokio::test]
    async fn a_task_goes_when_its_days_are_over_and_not_while_it_lives() {
        let dir = tempfile::tempdir().expect("dir");
        let store = Store::open(dir.path()).await.expect("open");
        let ended = created(&store, "opened:3").await;
        let live = created(&store, "opened:4").await.id;
        feed_at(20, &store, &ended, "closed", Input::IssueClosed).await;
        let cleanup = cleanup(&store, dir.path());
        let there = async |id: TaskId| store.task_row(id).await.expect("read").is_some();
        cleanup.round(20 + 90 * DAY_MS).await.expect("done");
        assert!(there(ended.id).await);
        cleanup.round(21 + 90 * DAY_MS).await.expect("done");
        assert!(!there(ended.id).await && there(live).await);
        assert!(store.knows_input("opened:3").await.expect("read"), "and it does not begin anew");
    }

    #[tokio::test]
    async fn a_clock_that_jumped_ahead_deletes_nothing() {
        let dir = tempfile::tempdir().expect("dir");
        let store = Store::open(dir.path()).await.expect("open");
        let ended = created(&store, "opened:3").await;
        feed_at(now() - 100 * DAY_MS, &store, &ended, "closed", Input::IssueClosed).await;
        let cleanup = cleanup(&store, dir.path());
        let there = async || store.task_row(ended.id).await.expect("read").is_some();
        assert!(!cleanup.agreed_round().await && there().await, "the forge was not heard");
        cleanup.machine.clock().hear(now() - 365 * DAY_MS);
        assert!(!cleanup.agreed_round().await && there().await, "by the forge's clock it is not old");
        cleanup.machine.clock().hear(now() - 60_000);
        assert!(cleanup.agreed_round().await && !there().await);
    }

    #[test]
    fn no_days_are_for_ever() {
        let Before { deliveries, details, tasks } = before(&never(), i64::MAX);
        assert_eq!((deliveries, details, tasks), (None, None, None));
    }

    fn never() -> Keep {
        Keep { deliveries_days: 0, details_days: 0, tasks_days: 0 }
    }

    #[tokio::test]
    async fn one_repository_that_fails_stops_the_deletion_of_no_other() {
        let dir = tempfile::tempdir().expect("dir");
        let store = Store::open(dir.path()).await.expect("open");
        let mut ended = Vec::new();
        // More than one slice of the failing repository, all older.
        for n in 0..25 {
            let repository = if n < 24 { "shop" } else { "till" };
            let task = created_in(repository, &store, &format!("opened:{n}")).await;
            feed_at(20 + n, &store, &task, &format!("closed:{n}"), Input::IssueClosed).await;
            ended.push(task.id);
        }
        let repos = Repos::new(dir.path().join("repos"));
        let broken = repos.path("shop").expect("a path");
        std::fs::create_dir_all(&broken).expect("made");
        std::fs::write(broken.join("HEAD"), "no repository").expect("written");
        let keep = Keep { tasks_days: 1, ..never() };
        let stopping = CancellationToken::new();
        let machine = Machine::new(store.clone(), 1).0;
        let cleanup = Cleanup { machine, repos, keep, repositories: Arc::new(Vec::new), stopping };
        cleanup.round(1000 + DAY_MS).await.expect("done");
        let there = async |id: TaskId| store.task_row(id).await.expect("read").is_some();
        assert!(there(ended[0]).await && there(ended[23]).await, "its refs are still to be deleted");
        assert!(!there(ended[24]).await);
    }

    #[tokio::test]
    async fn a_task_that_cannot_be_read_keeps_no_other_base_from_being_kept() {
        let dir = tempfile::tempdir().expect("dir");
        let store = Store::open(dir.path()).await.expect("open");
        make_unreadable(dir.path(), created(&store, "opened:4").await.id).await;
        let id = acting(&store).await;
        let bases = cleanup(&store, dir.path()).bases().await.expect("read");
        assert_eq!(bases, [("shop".to_owned(), id.0, Commit::parse(&"a".repeat(40)).expect("a commit"))]);
    }

    #[tokio::test]
    async fn a_base_that_left_its_branch_stays_while_its_task_lives() {
        let dir = tempfile::tempdir().expect("dir");
        let store = Store::open(dir.path()).await.expect("open");
        let repos = Repos::new(dir.path().join("repos"));
        let commit = |text: &str| {
            format!(
                "reset refs/remotes/origin/main\ncommit refs/remotes/origin/main\ncommitter a <a@b> 1 +0000\ndata 1\n{text}\n"
            )
        };
        repos.fast_import("shop", commit("x")).await.expect("imported");
        let main = crate::git::Branch::parse("main").expect("a branch");
        let base = repos.resolve("shop", &main).await.expect("there");
        let id = created(&store, "opened:3").await.id;
        let (boot, image) = ("b".to_owned(), "i".to_owned());
        let prepared = Input::Prepared {
            base: base.clone(),
            boot,
            image,
            every: 5,
            note: None,
            budget: None,
            rules: domain::Rules::default(),
            pictures: Vec::new(),
            difference: None,
            scan: None,
            on_base: None,
            conflicts: Vec::new(),
        };
        for (key, input) in [("place", Input::SlotFree), ("prepared", prepared)] {
            feed_at(20, &store, &store.task(id).await.expect("folded"), key, input).await;
        }
        assert_eq!(store.task(id).await.expect("folded").base.as_ref(), Some(&base));
        // A forced push: the former history is unreferenced.
        let gone = format!("reset refs/remotes/origin/main\nfrom {}\n\n", "0".repeat(40));
        repos.fast_import("shop", gone).await.expect("deleted");
        repos.fast_import("shop", commit("y")).await.expect("imported");
        let repositories: Keys = Arc::new(|| vec!["shop".to_owned()]);
        let (machine, stopping) = (Machine::new(store, 1).0, CancellationToken::new());
        let cleanup = Cleanup { machine, repos: repos.clone(), keep: never(), repositories, stopping };
        cleanup.tidy().await;
        repos.tidy("shop", Duration::ZERO).await.expect("tidied");
        assert_ne!(repos.resolve("shop", &main).await.as_ref(), Ok(&base));
        assert_eq!(repos.has("shop", &base).await, Ok(true));
        repos.forget_task("shop", id.0).await.expect("forgotten");
        repos.tidy("shop", Duration::ZERO).await.expect("tidied");
        assert_eq!(repos.has("shop", &base).await, Ok(false), "nothing else kept it");
    }

    #[tokio::test]
    async fn a_repository_that_was_taken_out_goes_with_its_last_task() {
        let dir = tempfile::tempdir().expect("dir");
        let store = Store::open(dir.path()).await.expect("open");
        let task = created_in("till", &store, "opened:3").await;
        let cleanup = Cleanup { repositories: Arc::new(|| vec!["shop".to_owned()]), ..cleanup(&store, dir.path()) };
        for key in ["shop", "till", "lab"] {
            let commit = "commit refs/remotes/origin/main\ncommitter a <a@b> 1 +0000\ndata 1\nx\n";
            cleanup.repos.fast_import(key, commit.to_owned()).await.expect("imported");
        }
        let repos = dir.path().join("repos");
        // What is no repository's cannot be removed, and keeps nothing else.
        std::fs::create_dir(repos.join("A.git")).expect("made");
        let left = async || {
            cleanup.tidy().await;
            cleanup.repos.keys().expect("read")
        };
        assert_eq!(left().await, ["A", "shop", "till"], "nobody has work in the third");
        feed_at(20, &store, &task, "closed", Input::IssueClosed).await;
        cleanup.machine.delete(task.id, &cleanup.repos).await.expect("deleted");
        assert_eq!(left().await, ["A", "shop"]);
        std::fs::create_dir(repos.join("making-a1")).expect("made");
        assert_eq!(cleanup.repos.forget_locks().expect("looked"), 1, "of a removal that was cut off");
        assert_eq!(std::fs::read_dir(repos).expect("read").count(), 2, "nothing is left of them");
    }

    #[tokio::test]
    async fn a_commit_that_no_branch_has_stays_until_its_test_run_is_answered() {
        let dir = tempfile::tempdir().expect("dir");
        let store = Store::open(dir.path()).await.expect("open");
        let cleanup = Cleanup { repositories: Arc::new(|| vec!["shop".to_owned()]), ..cleanup(&store, dir.path()) };
        let repos = &cleanup.repos;
        let branch = |name: &str| {
            format!(
                "reset refs/remotes/origin/{name}\ncommit refs/remotes/origin/{name}\ncommitter a <a@b> 1 +0000\ndata 4\n{name}\n"
            )
        };
        repos.fast_import("shop", [branch("main"), branch("mend")].concat()).await.expect("imported");
        let mend = crate::git::Branch::parse("mend").expect("a branch");
        let commit = repos.resolve("shop", &mend).await.expect("there");
        repos.keep_brought("shop", sandbox_number(1).0, &commit).await.expect("kept");
        let gone = format!("reset refs/remotes/origin/mend\nfrom {}\n\n", "0".repeat(40));
        repos.fast_import("shop", gone).await.expect("deleted");
        let run = TestRun {
            command: "true".into(),
            setup: None,
            bug: false,
            branch: "pull/3/head".into(),
            commit: commit.clone(),
            base_branch: "main".into(),
            each_push: false,
        };
        let (cause, poster) = (Cause::Text("comment:7#0".into()), Account { id: 7, login: "alice".into() });
        let new = NewTestRun { cause, repository: "shop".into(), thread: 3, poster, run, now: 10, most: 1 };
        assert_eq!(store.take_up_test_run(new).await.expect("asked"), TakenUp::Begun(1));
        let there = async || {
            cleanup.tidy().await;
            repos.tidy("shop", Duration::ZERO).await.expect("tidied");
            repos.has("shop", &commit).await.expect("looked")
        };
        assert!(there().await, "it is still to be run");
        store.test_run_answered(1).await.expect("answered");
        assert!(!there().await, "nobody needs it any more");
    }
}
