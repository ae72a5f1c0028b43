//! What says whose turn it is: tasks in line and at work, and when each person was given a slot last. Tests: `contract/line.rs`.

use super::{Store, StoreError};
use domain::TaskId;
use sqlx::{AnyConnection, FromRow};

/// A task in line for a slot, or one that has one.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct LineRow {
    /// Number of the task.
    pub id: i64,
    /// The repository's key in the configuration.
    pub repository: String,
    /// Login of the account that gave the command.
    pub asker: String,
    /// Name of the state.
    pub state: String,
    /// Number of events in its log.
    pub seq: i64,
}

/// When a person was given a slot for work in a repository last.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Turn {
    /// The repository's key in the configuration.
    pub repository: String,
    /// Login of the account that gave the command.
    pub person: String,
    /// Unix milliseconds.
    pub at: i64,
}

pub(super) const LINE: &str = "SELECT id, repository, asker, state, seq FROM tasks WHERE live \
     AND state IN ('queued', 'preparing', 'running', 'publishing', 'verifying') ORDER BY id";

impl Store {
    /// Tasks of all repositories that are in line for a slot or have one, in order of their numbers.
    pub async fn line(&self) -> Result<Vec<LineRow>, StoreError> {
        self.read(sqlx::query_as(LINE).fetch_all(&self.readers())).await
    }

    /// Who was given a slot, and when last; what is older than the details of ended tasks is forgotten.
    pub async fn turns(&self) -> Result<Vec<Turn>, StoreError> {
        let sql = "SELECT repository, person, at FROM turns ORDER BY repository, person";
        self.read(sqlx::query_as(sql).fetch_all(&self.readers())).await
    }
}

/// A task was given a slot.
pub(super) async fn granted(c: &mut AnyConnection, id: TaskId, now: i64) -> Result<(), StoreError> {
    let sql = "INSERT INTO turns (repository, person, at) SELECT repository, asker, $1 FROM tasks WHERE id = $2 \
               ON CONFLICT (repository, person) DO UPDATE SET at = excluded.at";
    sqlx::query(sql).bind(now).bind(id.0).execute(c).await?;
    Ok(())
}
