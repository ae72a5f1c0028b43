//! The attached containers of tasks, with one connection to each runner.
//!
//! Owns attaching, thawing or starting a container, and detecting that it is not the one that was prepared. Tests: `tests/trees/losses.rs`.

use std::collections::HashMap;
use std::sync::Arc;

use domain::Loss;
use protocol::broker::ContainerState;
use tokio::sync::Mutex;

use super::core::Core;
use super::link::LinkError;
use super::record::Record;
use super::session::{self, HOST_IDS, Session, ended};
use super::{Result, SandboxError};

/// Attached containers, by task.
pub(super) struct Sessions {
    core: Arc<Core>,
    attached: Mutex<HashMap<i64, Arc<Session>>>,
}

impl Sessions {
    pub fn new(core: Arc<Core>) -> Self {
        Self { core, attached: Mutex::default() }
    }

    /// Drops the connection to a task's runner; the container stays.
    pub async fn forget(&self, task: i64) {
        self.attached.lock().await.remove(&task);
    }

    /// Sets the attached container of a task.
    pub async fn put(&self, task: i64, session: Arc<Session>) {
        self.attached.lock().await.insert(task, session);
    }

    /// The attached container of a task, which is attached (and thawed or started) if necessary, also where its connection is over.
    pub async fn of(&self, task: i64) -> Result<Arc<Session>> {
        let current = self.attached.lock().await.get(&task).cloned();
        if let Some(session) = current {
            let Some(end) = session.link.end() else { return Ok(session) };
            self.drop_session(task, &session).await;
            if matches!(end, LinkError::Protocol(_)) {
                return Err(self.unless_trusted(task, session::from_link(&end)).await);
            }
        }
        let record = self.core.records.ready(task)?;
        let found = self.core.broker.inspect(&record.name).await.map_err(session::from_broker)?;
        match found.map(|container| container.state) {
            Some(ContainerState::Running) => {}
            Some(ContainerState::Paused) => {
                self.core.broker.unpause(&record.name).await.map_err(session::from_broker)?
            }
            Some(ContainerState::Exited { end, .. }) => return Err(self.lost(task, ended(end))),
            // A container that was never started is not the prepared one, which is gone.
            Some(ContainerState::Created | ContainerState::Gone) | None => return Err(self.lost(task, Loss::Removed)),
        }
        let attached =
            Session::attach(self.core.broker.as_ref(), &record, self.core.epoch, Arc::clone(&self.core.ids)).await;
        let session = match attached {
            Ok((session, _)) => session,
            Err(e) => return Err(self.unless_trusted(task, e).await),
        };
        if record.boot.as_ref() != Some(&session.boot) {
            return Err(self.lost(task, Loss::Restarted));
        }
        // Left by earlier connections.
        session.settle(|id| id & HOST_IDS != 0).await;
        let session = Arc::new(session);
        self.put(task, Arc::clone(&session)).await;
        Ok(session)
    }

    /// Marks the sandbox as lost, so that every operation but preparing it again reports the loss.
    fn lost(&self, task: i64, loss: Loss) -> SandboxError {
        let marked = self.core.records.change(task, |record| (record.boot, record.lost) = (None, Some(loss)));
        marked.err().unwrap_or(SandboxError::Gone(loss))
    }

    pub async fn drop_session(&self, task: i64, session: &Arc<Session>) {
        let mut sessions = self.attached.lock().await;
        if sessions.get(&task).is_some_and(|current| Arc::ptr_eq(current, session)) {
            sessions.remove(&task);
        }
    }

    /// Returns `e`; the container of a runner that broke the protocol is removed first.
    pub async fn unless_trusted(&self, task: i64, e: SandboxError) -> SandboxError {
        if e != SandboxError::Gone(Loss::Untrusted) {
            return e;
        }
        self.forget(task).await;
        let name = self.core.records.get(task).map(|record| record.name).unwrap_or_default();
        self.lost(task, Loss::Untrusted);
        self.core.broker.remove(&name).await.err().map_or(e, session::from_broker)
    }

    /// Starts a stopped container; its runner's new boot is expected and no loss.
    pub async fn wake(&self, record: &Record) -> Result<()> {
        self.core.broker.unpause(&record.name).await.map_err(session::from_broker)?;
        self.core.broker.start(&record.name).await.map_err(session::from_broker)?;
        let attached =
            Session::attach(self.core.broker.as_ref(), record, self.core.epoch, Arc::clone(&self.core.ids)).await;
        let (session, welcome) = match attached {
            Ok(attached) => attached,
            Err(e) => return Err(self.unless_trusted(record.task, e).await),
        };
        // It stays recorded as stopped, so that nothing begins in it and the next try asks again.
        session::enough(welcome.lacks)?;
        let boot = session.boot.clone();
        self.put(record.task, Arc::new(session)).await;
        self.core.records.change(record.task, |record| record.boot = Some(boot))
    }
}
