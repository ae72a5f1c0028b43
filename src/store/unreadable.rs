//! Tasks of which a stored row cannot be read, because a newer version wrote it or it is damaged.

use super::{Store, StoreError};
use domain::TaskId;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The tasks that could not be read when this process tried last.
#[derive(Debug, Default)]
pub(super) struct UnreadableTasks(Mutex<BTreeSet<TaskId>>);

impl UnreadableTasks {
    fn lock(&self) -> MutexGuard<'_, BTreeSet<TaskId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn forget(&self, task: TaskId) {
        self.lock().remove(&task);
    }

    /// Notes whether a task could be read; one that could not is in the log once, because this version will not read it the next time either.
    pub(super) fn note<T>(&self, task: TaskId, read: Result<T, StoreError>) -> Result<T, StoreError> {
        match &read {
            Ok(_) => self.forget(task),
            Err(error) if error.is_unreadable() => {
                if self.lock().insert(task) {
                    tracing::error!(%error, task = task.0, "a task cannot be read: it is passed over");
                }
            }
            Err(_) => {}
        }
        read
    }
}

impl Store {
    /// The tasks that could not be read when this process tried last. They are passed over, and take no slot.
    pub fn unreadable(&self) -> BTreeSet<TaskId> {
        self.unreadable.lock().clone()
    }
}

impl StoreError {
    /// Whether a row of one task cannot be read, which says nothing of the store or of other tasks.
    pub fn is_unreadable(&self) -> bool {
        matches!(self, Self::Body(_) | Self::Newer { .. } | Self::Effect(_))
    }
}

/// What was read of one of several tasks; none if this version cannot read that task, so that the others are still looked at.
///
/// # Errors
/// Any other failure.
pub fn unless_unreadable<T>(task: TaskId, read: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match read {
        Ok(it) => Ok(Some(it)),
        Err(error) if error.is_unreadable() => {
            // Said at each look; the store has logged it once.
            tracing::debug!(%error, task = task.0, "passed over");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
