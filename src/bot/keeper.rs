//! Deletes what is over and old enough, and keeps the local repositories tidy, from time to time and in small slices.
//!
//! Owns when; what is old enough is the configuration's `[keep]`, how it is deleted the store's and `git`'s. Tests: below, and
//! `src/store/retention_tests.rs`.

use crate::config::process::Keep;
use crate::git::{Repos, UNBORN};
use crate::store::{Before, Deleted, Store, StoreError};
use crate::task::now;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

const ROUND: Duration = Duration::from_secs(60 * 60);
/// Between two times that a repository's packs are put together.
const TIDY: Duration = Duration::from_secs(24 * 60 * 60);
const DAY_MS: i64 = 24 * 3600 * 1000;

pub struct Keeper {
    pub store: Store,
    pub repos: Repos,
    pub keep: Keep,
    /// Keys of the configured repositories.
    pub repositories: Vec<String>,
    pub stopping: CancellationToken,
}

impl Keeper {
    pub async fn run(self) {
        let mut tidied: Option<Instant> = None;
        loop {
            if let Err(error) = self.round(now()).await {
                tracing::warn!(%error, "what is old could not be deleted; tried again in an hour");
            }
            if tidied.is_none_or(|at| at.elapsed() >= TIDY) {
                tidied = Some(Instant::now());
                self.tidy().await;
            }
            if self.stopping.run_until_cancelled(tokio::time::sleep(ROUND)).await.is_none() {
                return;
            }
        }
    }

    /// Everything that is old enough at this time.
    async fn round(&self, now: i64) -> Result<(), StoreError> {
        let before = before(&self.keep, now);
        while !self.stopping.is_cancelled() && self.store.prune(before).await? {}
        let Some(tasks) = before.tasks else { return Ok(()) };
        let mut deleted = 0;
        while !self.stopping.is_cancelled() {
            let overdue = self.store.overdue_tasks(tasks).await?;
            if overdue.is_empty() {
                break;
            }
            for (task, repository) in overdue {
                // Refs first: a life that is cut off in between finds the task's row again.
                if let Err(error) = self.repos.forget_task(&repository, task.0).await {
                    tracing::warn!(%error, task = task.0, "its checkpoints could not be deleted; tried again in an hour");
                    return Ok(());
                }
                deleted += usize::from(matches!(self.store.delete_task(task).await?, Deleted::Gone { .. }));
            }
        }
        if deleted > 0 {
            tracing::info!(deleted, "deleted tasks that ended long ago");
        }
        Ok(())
    }

    async fn tidy(&self) {
        for key in &self.repositories {
            if let Err(error) = self.repos.tidy(key, UNBORN).await {
                tracing::warn!(%error, key, "a local repository could not be tidied; tried again tomorrow");
            }
        }
    }
}

fn before(keep: &Keep, now: i64) -> Before {
    let at = |days: u32| (days > 0).then(|| now - i64::from(days) * DAY_MS);
    Before { deliveries: at(keep.deliveries_days), details: at(keep.details_days), tasks: at(keep.tasks_days) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::{created, feed_at};
    use domain::{Input, TaskId};

    #[tokio::test]
    async fn a_task_goes_when_its_days_are_over_and_not_while_it_lives() {
        let dir = tempfile::tempdir().expect("dir");
        let store = Store::open(dir.path()).await.expect("open");
        let ended = created(&store, "opened:3").await;
        let live = created(&store, "opened:4").await.id;
        feed_at(20, &store, &ended, "closed", Input::IssueClosed).await;
        let keeper = Keeper {
            store: store.clone(),
            repos: Repos::new(dir.path().join("repos")),
            keep: Keep { deliveries_days: 7, details_days: 30, tasks_days: 90 },
            repositories: Vec::new(),
            stopping: CancellationToken::new(),
        };
        let there = async |id: TaskId| store.task_row(id).await.expect("read").is_some();
        keeper.round(20 + 90 * DAY_MS).await.expect("done");
        assert!(there(ended.id).await);
        keeper.round(21 + 90 * DAY_MS).await.expect("done");
        assert!(!there(ended.id).await && there(live).await);
        assert!(store.knows_input("opened:3").await.expect("read"), "and it does not begin anew");
        let never = Keep { deliveries_days: 0, details_days: 0, tasks_days: 0 };
        let Before { deliveries, details, tasks } = before(&never, i64::MAX);
        assert_eq!((deliveries, details, tasks), (None, None, None));
    }
}
