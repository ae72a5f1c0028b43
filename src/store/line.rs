//! Data for the order of tasks: queued and active tasks, and when each person last got a slot. Tests: `contract/line.rs`.

use super::{Store, StoreError};
use domain::TaskId;
use sqlx::{AnyConnection, FromRow};

/// A task that waits for a slot or has one.
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

/// When a person last got a slot for work in a repository.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Turn {
    /// The repository's key in the configuration.
    pub repository: String,
    /// Login of the account that gave the command.
    pub person: String,
    /// Unix milliseconds; later than each turn before, whatever the clock said.
    pub at: i64,
}

pub(super) const LINE: &str = "SELECT id, repository, asker, state, seq FROM tasks WHERE live \
     AND state IN ('queued', 'preparing', 'running', 'publishing', 'verifying') ORDER BY id";

impl Store {
    /// Tasks of all repositories that wait for a slot or have one, ordered by number.
    pub async fn line(&self) -> Result<Vec<LineRow>, StoreError> {
        self.read(sqlx::query_as(LINE).fetch_all(&self.readers())).await
    }

    /// When people last got slots; entries as old as deleted details of tasks are gone.
    pub async fn turns(&self) -> Result<Vec<Turn>, StoreError> {
        let sql = "SELECT repository, person, at FROM turns ORDER BY repository, person";
        self.read(sqlx::query_as(sql).fetch_all(&self.readers())).await
    }
}

/// Records that a task got a slot: later than everybody before, also after the clock was set back, because these times are an order.
pub(super) async fn granted(c: &mut AnyConnection, id: TaskId, now: i64) -> Result<(), StoreError> {
    let sql = "INSERT INTO turns (repository, person, at) SELECT repository, asker, \
               (SELECT CASE WHEN COALESCE(MAX(at), 0) < $1 THEN $1 ELSE MAX(at) + 1 END FROM turns) FROM tasks WHERE id = $2 \
               ON CONFLICT (repository, person) DO UPDATE SET at = excluded.at";
    sqlx::query(sql).bind(now).bind(id.0).execute(c).await?;
    Ok(())
}
