//! A sandbox whose task waits: frozen, stopped, and back at work.
//!
//! Owns the way down (freeze, stop) and the way back up from each. What is further away than stopped is removed, and made anew by
//! whoever opens it. Its subnet is closed on every rung. Tests: `tests/trees.rs`.

use domain::Loss;

use super::TaskSandboxes;
use crate::sandbox::Result;
use crate::sandbox::session;

impl TaskSandboxes {
    /// Opens the subnet of a task with its rules again, unless it was cut off, before work goes on; wakes a paused container.
    ///
    /// True when it had been stopped, until [`TaskSandboxes::confirm_awake`]: the engine has given it a network anew.
    ///
    /// # Errors
    /// [`Gone`](crate::sandbox::SandboxError::Gone) without a prepared sandbox, [`Unavailable`](crate::sandbox::SandboxError::Unavailable) when the router is away.
    pub async fn open(&self, task: i64) -> Result<bool> {
        self.core.must_be_current(task)?;
        let record = self.core.records.ready(task)?;
        let woken = record.stopped;
        if woken {
            self.sessions.wake(&record).await?;
        }
        // Attaching wakes it, and finds out whether it is still the one that was prepared.
        self.sessions.of(task).await?;
        self.core.broker.unpause(&record.name).await.map_err(session::from_broker)?;
        if let Some(subnet) = record.subnet {
            // Read again then: the rules may just have been replaced.
            let rules = || self.core.records.ready(task).map(|record| (!record.cut_off).then_some(record.egress));
            self.core.subnets.open(subnet, rules).await?;
        }
        // One that is complete and of this version has in it what was brought over.
        self.carried.forget(task);
        Ok(woken)
    }

    /// Freezes a container while its task waits: no process of it runs until [`TaskSandboxes::open`].
    ///
    /// # Errors
    /// [`Unavailable`](crate::sandbox::SandboxError::Unavailable) when the engine is away. A container that is gone is fine.
    pub async fn rest(&self, task: i64) -> Result<()> {
        self.quarantines.forget(task);
        // One that is only being made may run setup commands.
        let Some(record) = self.core.records.get(task) else { return Ok(()) };
        self.core.subnets.close(record.subnet).await?;
        self.sessions.forget(task).await;
        match self.core.broker.pause(&record.name).await {
            Err(e) if e.kind == protocol::broker::ProblemKind::Unavailable => Err(session::from_broker(e)),
            _ => Ok(()),
        }
    }

    /// Ends every process of a container whose task waits, and keeps workspace and home. Only what is on disk outlives this
    /// (`sandbox.workspace_mib = 0`); `/tmp` is empty afterwards.
    ///
    /// # Errors
    /// [`Unavailable`](crate::sandbox::SandboxError::Unavailable) when engine or router is away. A container that is gone is fine.
    pub async fn stop(&self, task: i64) -> Result<()> {
        let Ok(record) = self.core.records.ready(task) else { return Ok(()) };
        self.quarantines.forget(task);
        self.core.subnets.close(record.subnet).await?;
        self.sessions.forget(task).await;
        // Before it stops: a host that dies in between starts what may be running already, which is fine.
        self.core.records.change(task, |record| record.stopped = true)?;
        self.core.broker.stop(&record.name).await.map_err(session::from_broker)
    }

    /// Starts a stopped container so that its tree can be taken; its way out stays closed.
    ///
    /// # Errors
    /// [`Gone`](crate::sandbox::SandboxError::Gone) without a prepared sandbox, [`Unavailable`](crate::sandbox::SandboxError::Unavailable) when the engine is away.
    pub async fn wake_to_capture(&self, task: i64) -> Result<()> {
        match self.core.records.ready(task)? {
            record if record.stopped => self.sessions.wake(&record).await,
            _ => Ok(()),
        }
    }

    /// A sandbox that was stopped is as it should be: from now on another boot of its runner is a loss again.
    ///
    /// # Errors
    /// [`Gone`](crate::sandbox::SandboxError::Gone) without a sandbox, [`Unavailable`](crate::sandbox::SandboxError::Unavailable) when this cannot be written down.
    pub fn confirm_awake(&self, task: i64) -> Result<()> {
        self.core.records.change(task, |record| record.stopped = false)
    }

    /// How the sandbox before this one was lost, if a try of this name made this one.
    pub fn made_anew(&self, task: i64, by: &str) -> Option<Loss> {
        let anew = self.core.records.ready(task).ok()?.anew?;
        (anew.by == by).then_some(anew.loss)
    }

    /// When a task's sandbox was made, in milliseconds since 1970; none when it has none.
    pub fn made_at(&self, task: i64) -> Option<i64> {
        self.core.records.get(task).map(|record| record.made_at)
    }
}
