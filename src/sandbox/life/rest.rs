//! Puts the sandbox of a waiting task to rest: frozen or stopped, and back.
//!
//! Owns freezing, stopping and the way back. A sandbox put away further is removed, and made anew when it is opened. Its subnet is closed
//! in each of these states. Tests: `tests/trees.rs`.

use domain::Loss;
use protocol::broker::ProblemKind;

use super::TaskSandboxes;
use crate::sandbox::Result;
use crate::sandbox::session;

impl TaskSandboxes {
    /// Opens the subnet of a task with its rules, unless it was cut off, and thaws or starts the container.
    ///
    /// True if it was stopped, until [`TaskSandboxes::confirm_awake`], because the engine has attached its network anew.
    ///
    /// # Errors
    /// [`Gone`](crate::sandbox::SandboxError::Gone) without a prepared sandbox, [`Unavailable`](crate::sandbox::SandboxError::Unavailable)
    /// when the router is unreachable.
    pub async fn open(&self, task: i64) -> Result<bool> {
        self.core.must_be_current(task)?;
        let record = self.core.records.ready(task)?;
        let woken = record.stopped;
        if woken {
            self.sessions.wake(&record).await?;
        }
        // Attaching thaws or starts it, and checks that it is still the one that was prepared.
        self.sessions.of(task).await?;
        self.core.broker.unpause(&record.name).await.map_err(session::from_broker)?;
        if let Some(subnet) = record.subnet {
            // Read at the time of opening, because the rules may just have been replaced.
            let rules = || self.core.records.ready(task).map(|record| (!record.cut_off).then_some(record.egress));
            self.core.subnets.open(subnet, rules).await?;
        }
        // A complete sandbox of this version contains the work that was carried over.
        self.carried.forget(task);
        Ok(woken)
    }

    /// Freezes a container while its task waits, until [`TaskSandboxes::open`].
    ///
    /// # Errors
    /// [`Unavailable`](crate::sandbox::SandboxError::Unavailable) when the engine is unreachable or did not freeze it. A container that is
    /// missing or does not run is fine.
    pub async fn rest(&self, task: i64) -> Result<()> {
        self.quarantines.forget(task);
        // A sandbox that is still being made may be running setup commands, so any record counts.
        let Some(record) = self.core.records.get(task) else { return Ok(()) };
        self.core.subnets.close(record.subnet).await?;
        self.sessions.forget(task).await;
        match self.core.broker.pause(&record.name).await {
            Err(e) if !matches!(e.kind, ProblemKind::NotFound | ProblemKind::Conflict) => Err(session::from_broker(e)),
            _ => Ok(()),
        }
    }

    /// Ends every process of a waiting task's container. Only workspace and home on disk survive this (`sandbox.workspace_mib = 0`), so one
    /// that was made with these in memory is frozen instead; `/tmp` is lost.
    ///
    /// # Errors
    /// [`Unavailable`](crate::sandbox::SandboxError::Unavailable) when engine or router is unreachable. A missing container is fine.
    pub async fn stop(&self, task: i64) -> Result<()> {
        let Ok(record) = self.core.records.ready(task) else { return Ok(()) };
        if record.in_memory {
            return self.rest(task).await;
        }
        self.quarantines.forget(task);
        self.core.subnets.close(record.subnet).await?;
        self.sessions.forget(task).await;
        // Recorded before it stops: after a crash in between the container is started although it may run, which is harmless.
        self.core.records.change(task, |record| record.stopped = true)?;
        self.core.broker.stop(&record.name).await.map_err(session::from_broker)
    }

    /// Records that a stopped sandbox is back at work, so that another boot of its runner counts as a loss again.
    ///
    /// # Errors
    /// [`Gone`](crate::sandbox::SandboxError::Gone) without a sandbox, [`Unavailable`](crate::sandbox::SandboxError::Unavailable) when the
    /// record cannot be written.
    pub fn confirm_awake(&self, task: i64) -> Result<()> {
        self.core.records.change(task, |record| record.stopped = false)
    }

    /// How the sandbox before was lost, if the try with this name made the present one.
    pub fn made_anew(&self, task: i64, by: &str) -> Option<Loss> {
        let anew = self.core.records.ready(task).ok()?.anew?;
        (anew.by == by).then_some(anew.loss)
    }

    /// Unix milliseconds at which a task's sandbox was made; none when it has none.
    pub fn made_at(&self, task: i64) -> Option<i64> {
        self.core.records.get(task).map(|record| record.made_at)
    }
}
