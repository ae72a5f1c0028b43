//! Short rows of live tasks, for queries that are repeated often and over thousands of tasks.

use super::{Store, StoreError};
use sqlx::FromRow;

/// States in which a task has a slot.
const BUSY: [&str; 4] = ["preparing", "running", "publishing", "verifying"];

/// A task that has not ended.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct LiveRow {
    /// Number of the task.
    pub id: i64,
    /// The repository's key in the configuration.
    pub repository: String,
    /// Number of the issue in its repository.
    pub issue: i64,
    /// Name of the state.
    pub state: String,
    /// Number of events in its log.
    pub seq: i64,
    /// When its log last grew, in Unix milliseconds.
    pub updated_at: i64,
}

impl LiveRow {
    /// Whether it has a slot, so that it neither waits for a person nor is queued.
    pub fn busy(&self) -> bool {
        BUSY.contains(&self.state.as_str())
    }
}

pub(super) const LIVE_ROWS: &str =
    "SELECT id, repository, issue, state, seq, updated_at FROM tasks WHERE live ORDER BY id";

impl Store {
    /// As [`Store::live_tasks`], without columns for people.
    pub async fn live(&self) -> Result<Vec<LiveRow>, StoreError> {
        self.read(sqlx::query_as(LIVE_ROWS).fetch_all(&self.readers())).await
    }
}
