//! The attached containers of tasks, with one connection to each runner.
//!
//! Owns attaching, thawing or starting a container, and detecting that it is not the one that was prepared, or that its runner is silent.
//! Tests: `tests/trees/losses.rs`.

use std::collections::HashMap;
use std::sync::Arc;

use domain::Loss;
use protocol::broker::ContainerState;
use protocol::runner::LATER_EPOCH;
use tokio::sync::Mutex;

use super::container_end::ended;
use super::core::Core;
use super::link::{LinkError, Welcome};
use super::record::Record;
use super::session::{self, HOST_IDS, Session};
use super::{Result, SandboxError};

/// How often in a row a runner may leave its greeting unanswered until its container is removed: a minute at least, for one whose memory is
/// nearly full, or whose disk is busy, may be slow and hold work that is in no commit yet.
const SILENT: u8 = 6;

/// Attached containers, by task.
pub(super) struct Sessions {
    core: Arc<Core>,
    attached: Mutex<HashMap<i64, Arc<Session>>>,
    /// How often in a row a task's runner left its greeting unanswered.
    silent: Mutex<HashMap<i64, u8>>,
    /// Held while a task's container is looked for and attached, so that those who need it at the same time share one connection.
    attaching: Mutex<HashMap<i64, Arc<Mutex<()>>>>,
}

impl Sessions {
    pub fn new(core: Arc<Core>) -> Self {
        Self { core, attached: Mutex::default(), silent: Mutex::default(), attaching: Mutex::default() }
    }

    /// Drops the connection to a task's runner; the container stays.
    pub async fn forget(&self, task: i64) {
        self.attached.lock().await.remove(&task);
        self.silent.lock().await.remove(&task);
        let mut attaching = self.attaching.lock().await;
        if attaching.get(&task).is_some_and(|it| Arc::strong_count(it) == 1) {
            attaching.remove(&task);
        }
    }

    /// Sets the attached container of a task.
    pub async fn put(&self, task: i64, session: Arc<Session>) {
        self.attached.lock().await.insert(task, session);
        self.silent.lock().await.remove(&task);
    }

    /// The attached container of a task, which is attached (and thawed or started) if necessary, also where its connection is over.
    pub async fn of(&self, task: i64) -> Result<Arc<Session>> {
        let attaching = Arc::clone(self.attaching.lock().await.entry(task).or_default());
        let _one = attaching.lock().await;
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
        let (session, _) = self.attach(&record).await?;
        if record.boot.as_ref() != Some(&session.boot) {
            return Err(self.lost(task, Loss::Restarted));
        }
        // Left by earlier connections.
        session.settle(|id| id & HOST_IDS != 0).await;
        let session = Arc::new(session);
        self.put(task, Arc::clone(&session)).await;
        Ok(session)
    }

    async fn attach(&self, record: &Record) -> Result<(Session, Welcome)> {
        let Core { broker, epoch, ids, settings, .. } = self.core.as_ref();
        match Session::attach(broker.as_ref(), record, *epoch, Arc::clone(ids), settings.hello).await? {
            Ok(attached) => Ok(attached),
            Err(LinkError::Silent) => Err(self.unanswered(record.task).await),
            Err(LinkError::Refused(why)) if why.starts_with(LATER_EPOCH) => Err(self.outlived(record.task, &why)),
            Err(e) => Err(self.unless_trusted(record.task, session::from_link(&e)).await),
        }
    }

    /// The error for a runner that obeys a host of a later epoch. A prepared sandbox obeyed this installation, so this one has obeyed a later
    /// life than this one: a copy of the state directory was put back, and the task's log knows nothing of what happened in there since.
    fn outlived(&self, task: i64, why: &str) -> SandboxError {
        let why = crate::text::one_line(crate::text::cut(why, 200).0);
        tracing::warn!(why, "a sandbox obeys a later life than this one: was a copy of the state directory put back?");
        self.lost(task, Loss::Unknown)
    }

    /// The error for a greeting without an answer. A container that runs and stays silent would never be lost by itself, so it is removed.
    async fn unanswered(&self, task: i64) -> SandboxError {
        let times = {
            let mut silent = self.silent.lock().await;
            let times = silent.entry(task).or_default();
            *times += 1;
            *times
        };
        if times < SILENT {
            return session::from_link(&LinkError::Silent);
        }
        tracing::warn!(task, "a sandbox's runner answers no greeting, so its container is removed");
        self.unless_trusted(task, SandboxError::Gone(Loss::Untrusted)).await
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

    /// Returns `e`, after this connection was dropped; as [`Sessions::unless_trusted`].
    pub async fn dropped_after(&self, task: i64, session: &Arc<Session>, e: SandboxError) -> SandboxError {
        self.drop_session(task, session).await;
        self.unless_trusted(task, e).await
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
        let (session, welcome) = self.attach(record).await?;
        // It stays recorded as stopped, so that nothing begins in it and the next try asks again.
        session::enough(welcome.lacks)?;
        let boot = session.boot.clone();
        self.put(record.task, Arc::new(session)).await;
        self.core.records.change(record.task, |record| record.boot = Some(boot))
    }
}
