//! Remembers which commits are in the local repositories, because looking for them before each effect would cost more than the effect.

use domain::{Commit, TaskId};
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Commits known to be in the local repositories, by task.
#[derive(Default)]
pub struct KnownCommits {
    known: Mutex<HashMap<TaskId, HashSet<Commit>>>,
    bringing: tokio::sync::Mutex<()>,
}

impl KnownCommits {
    fn lock(&self) -> MutexGuard<'_, HashMap<TaskId, HashSet<Commit>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has(&self, task: TaskId, all: &[Commit]) -> bool {
        self.lock().get(&task).is_some_and(|known| all.iter().all(|commit| known.contains(commit)))
    }

    pub(super) fn note(&self, task: TaskId, all: Vec<Commit>) {
        self.lock().entry(task).or_default().extend(all);
    }

    /// Held while commits are fetched.
    pub(super) async fn one_at_a_time(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.bringing.lock().await
    }

    pub(super) fn forget(&self, task: TaskId) {
        self.lock().remove(&task);
    }
}
