//! A sandbox whose task waits: frozen, stopped, and back at work.
//!
//! Owns the way down (freeze, stop) and the way back up from each. What is further away than stopped is removed, and made anew by
//! whoever opens it. Its subnet is closed on every rung. Tests: `tests/trees.rs`.

use std::sync::Arc;

use domain::Loss;

use super::record::Record;
use super::session::{self, Session};
use super::{Result, Sandboxes};

impl Sandboxes {
    /// Opens the subnet of a task with its rules again, unless it was cut off, before work goes on; wakes a paused container.
    ///
    /// True when it had been stopped, until [`Sandboxes::confirm_awake`]: the engine has given it a network anew.
    ///
    /// # Errors
    /// [`Gone`](super::SandboxError::Gone) without a prepared sandbox, [`Unavailable`](super::SandboxError::Unavailable) when the router is away.
    pub async fn open(&self, task: i64) -> Result<bool> {
        self.must_be_current(task)?;
        let record = self.records.ready(task)?;
        let woken = record.stopped;
        if woken {
            self.wake(&record).await?;
        }
        // Attaching wakes it, and finds out whether it is still the one that was prepared.
        self.session(task).await?;
        self.broker.unpause(&record.name).await.map_err(session::from_broker)?;
        if let Some(subnet) = record.subnet {
            // Read again then: the rules may just have been replaced.
            let rules = || self.records.ready(task).map(|record| (!record.cut_off).then_some(record.egress));
            self.subnets.open(subnet, rules).await?;
        }
        // One that is complete and of this version has in it what was brought over.
        self.forget_carried(task);
        Ok(woken)
    }

    /// Freezes a container while its task waits: no process of it runs until [`Sandboxes::open`].
    ///
    /// # Errors
    /// [`Unavailable`](super::SandboxError::Unavailable) when the engine is away. A container that is gone is fine.
    pub async fn rest(&self, task: i64) -> Result<()> {
        self.standby.forget(task);
        // One that is only being made may run setup commands.
        let Some(record) = self.records.get(task) else { return Ok(()) };
        self.subnets.close(record.subnet).await?;
        self.sessions.lock().await.remove(&task);
        match self.broker.pause(&record.name).await {
            Err(e) if e.kind == protocol::broker::ProblemKind::Unavailable => Err(session::from_broker(e)),
            _ => Ok(()),
        }
    }

    /// Ends every process of a container whose task waits, and keeps workspace and home. Only what is on disk outlives this
    /// (`sandbox.workspace_mib = 0`); `/tmp` is empty afterwards.
    ///
    /// # Errors
    /// [`Unavailable`](super::SandboxError::Unavailable) when engine or router is away. A container that is gone is fine.
    pub async fn stop(&self, task: i64) -> Result<()> {
        let Ok(record) = self.records.ready(task) else { return Ok(()) };
        self.standby.forget(task);
        self.subnets.close(record.subnet).await?;
        self.sessions.lock().await.remove(&task);
        // Before it stops: a host that dies in between starts what may be running already, which is fine.
        self.records.change(task, |record| record.stopped = true)?;
        self.broker.stop(&record.name).await.map_err(session::from_broker)
    }

    /// Starts a stopped container so that its tree can be taken; its way out stays closed.
    ///
    /// # Errors
    /// [`Gone`](super::SandboxError::Gone) without a prepared sandbox, [`Unavailable`](super::SandboxError::Unavailable) when the engine is away.
    pub async fn wake_to_capture(&self, task: i64) -> Result<()> {
        match self.records.ready(task)? {
            record if record.stopped => self.wake(&record).await,
            _ => Ok(()),
        }
    }

    /// Returns once a sandbox was to be made and every subnet was taken.
    pub async fn crowded(&self) {
        self.subnets.crowded().await;
    }

    /// Starts a stopped container: another boot of its runner, which is no surprise here and no loss.
    pub(super) async fn wake(&self, record: &Record) -> Result<()> {
        self.broker.unpause(&record.name).await.map_err(session::from_broker)?;
        self.broker.start(&record.name).await.map_err(session::from_broker)?;
        let attached = Session::attach(self.broker.as_ref(), record, self.epoch, Arc::clone(&self.ids)).await;
        let (session, welcome) = match attached {
            Ok(attached) => attached,
            Err(e) => return Err(self.unless_trusted(record.task, e).await),
        };
        // It stays as good as stopped: nothing begins in it, and the next try asks again.
        session::enough(welcome.lacks)?;
        let boot = session.boot.clone();
        self.sessions.lock().await.insert(record.task, Arc::new(session));
        self.records.change(record.task, |record| record.boot = Some(boot))
    }

    /// A sandbox that was stopped is as it should be: from now on another boot of its runner is a loss again.
    ///
    /// # Errors
    /// [`Gone`](super::SandboxError::Gone) without a sandbox, [`Unavailable`](super::SandboxError::Unavailable) when this cannot be written down.
    pub fn confirm_awake(&self, task: i64) -> Result<()> {
        self.records.change(task, |record| record.stopped = false)
    }

    /// How the sandbox before this one was lost, if a try of this name made this one.
    pub fn made_anew(&self, task: i64, by: &str) -> Option<Loss> {
        let anew = self.records.ready(task).ok()?.anew?;
        (anew.by == by).then_some(anew.loss)
    }

    /// When a task's sandbox was made, in milliseconds since 1970; none when it has none.
    pub fn made_at(&self, task: i64) -> Option<i64> {
        self.records.get(task).map(|record| record.made_at)
    }
}
