//! Tasks of which a stored row cannot be read, because a newer version wrote it or it is damaged.

use super::StoreError;
use domain::TaskId;

impl StoreError {
    /// Whether a row of one task cannot be read, which says nothing of the store or of other tasks.
    pub fn is_unreadable(&self) -> bool {
        matches!(self, Self::Body(_) | Self::Newer { .. } | Self::Effect(_))
    }
}

/// What was read of one of several tasks; none, with a line in the log, if this version cannot read that task, so that the others are
/// still looked at.
///
/// # Errors
/// Any other failure.
pub fn unless_unreadable<T>(task: TaskId, read: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match read {
        Ok(it) => Ok(Some(it)),
        Err(error) if error.is_unreadable() => {
            tracing::warn!(%error, task = task.0, "a task cannot be read: it is passed over");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
