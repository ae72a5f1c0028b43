//! Life of a task's sandbox: made, opened for work, put away while its task waits, removed.
//!
//! Owns the order of these steps, and which sandbox belongs to which task. `act.rs` runs actions in one; `carry.rs` moves work out of one
//! of another version. Tests: `tests/trees.rs`.

pub(super) mod act;
pub(super) mod carry;
mod merge;
mod prepare;
mod rest;

use std::sync::Arc;

use super::Result;
use super::cache::loader::RepositoryLoader;
use super::cache::mirror::Mirrors;
use super::cache::setup::Setups;
use super::capture::quarantine::Quarantines;
use super::core::Core;
use super::index::Indexes;
use super::proven::ProvenImages;
use super::session;
use super::sessions::Sessions;
use carry::Carried;

/// The sandboxes of tasks.
pub struct TaskSandboxes {
    pub(super) core: Arc<Core>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) mirrors: Arc<Mirrors>,
    pub(super) loader: Arc<RepositoryLoader>,
    pub(super) setups: Arc<Setups>,
    pub(super) carried: Arc<Carried>,
    pub(super) indexes: Arc<Indexes>,
    pub(super) quarantines: Arc<Quarantines>,
    pub(super) images: Arc<ProvenImages>,
}

impl TaskSandboxes {
    /// Removes what exists here of a task that another host continued, because it is older than the task's log.
    ///
    /// # Errors
    /// As [`TaskSandboxes::remove`].
    pub async fn moved_here(&self, task: i64) -> Result<()> {
        self.remove(task).await?;
        self.core.records.came(task);
        Ok(())
    }

    /// The tasks whose sandboxes exist or were being made.
    pub fn tasks(&self) -> Vec<i64> {
        self.core.records.all().into_iter().map(|record| record.task).collect()
    }

    /// Whether a task's sandbox is complete, as far as recorded.
    pub fn is_whole(&self, task: i64) -> bool {
        self.core.records.ready(task).is_ok()
    }

    /// Removes a task's container and releases its subnet; succeeds if it is gone already.
    ///
    /// # Errors
    /// [`Unavailable`](super::SandboxError::Unavailable) when router or engine is unreachable: the subnet stays allocated until a
    /// repetition succeeds.
    pub async fn remove(&self, task: i64) -> Result<()> {
        self.quarantines.forget(task);
        self.sessions.forget(task).await;
        let Some(record) = self.core.records.get(task) else { return Ok(()) };
        self.core.subnets.close(record.subnet).await?;
        self.core.broker.remove(&record.name).await.map_err(session::from_broker)?;
        self.carried.forget(task);
        self.core.records.forget(task)?;
        self.indexes.forget(&task.to_string());
        self.mirrors.remove_retired().await;
        Ok(())
    }

    /// Removes every container of this installation that belongs to no live task, and gives their names.
    ///
    /// # Errors
    /// [`Unavailable`](super::SandboxError::Unavailable) when the engine is unreachable.
    pub async fn reap(&self, live: &[i64]) -> Result<Vec<String>> {
        let busy = self.core.busy.lock();
        let mut keep: Vec<String> = busy.map(|busy| busy.keys().cloned().collect()).unwrap_or_default();
        for record in self.core.records.all() {
            if live.contains(&record.task) {
                keep.push(record.name);
            } else {
                self.core.subnets.close(record.subnet).await?;
                self.carried.forget(record.task);
                self.core.records.forget(record.task)?;
                self.indexes.forget(&record.task.to_string());
                self.sessions.forget(record.task).await;
            }
        }
        self.setups.sweep().await?;
        self.indexes.sweep();
        let mirrors = self.mirrors.names();
        self.core.broker.reap(&keep, &mirrors).await.map_err(session::from_broker)
    }
}
