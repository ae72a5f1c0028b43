//! State that all parts of the sandboxes share: the broker, the repositories, the records, users and subnets.
//!
//! Owns only what several parts need, and the removal of containers that served one piece of work. Tests: `tests/trees.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use domain::Loss;
use protocol::broker::{ImageInfo, ProblemKind};
use protocol::runner::VERSION;
use tokio_util::task::TaskTracker;

use super::broker::Broker;
use super::record::{Record, Records};
use super::session::{self, ContainerNames, Passing, UsedNames};
use super::subnets::Subnets;
use super::users::Users;
use super::{Result, SandboxError, Settings};
use crate::git::Repos;

/// Shared by all parts, created once.
pub(super) struct Core {
    pub broker: Arc<dyn Broker>,
    pub repos: Repos,
    pub settings: Settings,
    /// Number of this process's life, with which the epochs of its connections to runners begin.
    pub epoch: u64,
    pub records: Records,
    pub subnets: Subnets,
    pub users: Users,
    /// Names of containers in use by this process, which reaping leaves alone.
    pub busy: UsedNames,
    /// Names of containers that served one piece of work and could not be removed.
    pub left: ContainerNames,
    /// Ids of the host's own requests.
    pub ids: Arc<AtomicU64>,
    /// Removals in progress that nobody waits for.
    pub leaving: TaskTracker,
}

impl Core {
    /// The image the engine has under this reference.
    pub async fn image(&self, reference: &str) -> Result<Option<ImageInfo>> {
        self.broker.image(reference).await.map_err(|e| match e.kind {
            // The broker has used it and it is gone since: no sandbox is lost by that, and a broker that is started anew takes another.
            ProblemKind::NotFound => SandboxError::Unavailable(e.text),
            _ => session::from_broker(e),
        })
    }

    /// A handle for a container that is removed when it is dropped.
    pub fn passing(&self, name: &str) -> Passing {
        let names = (Arc::clone(&self.busy), Arc::clone(&self.left));
        Passing::new(Arc::clone(&self.broker), names, self.leaving.clone(), name)
    }

    /// Waits until all removals have finished.
    pub async fn leave(&self) {
        self.leaving.close();
        self.leaving.wait().await;
        self.leaving.reopen();
    }

    /// Begins the record of a sandbox that is to be made; with `network` it gets a subnet, closed and allocated to this task.
    pub async fn begin(&self, record: Record, network: bool) -> Result<Record> {
        if network && self.records.free_subnet(record.task).is_none() {
            self.subnets.ring_crowded();
        }
        let record = self.records.begin(record, network)?;
        self.subnets.close(record.subnet).await?;
        self.subnets.lend(record.subnet, record.task)?;
        Ok(record)
    }

    /// The subnet of a task.
    pub fn subnet(&self, task: i64) -> Option<u32> {
        self.records.get(task).and_then(|record| record.subnet)
    }

    /// Key of the setup result in a task's sandbox.
    pub fn setup_of(&self, task: i64) -> Option<String> {
        self.records.get(task).and_then(|record| record.setup)
    }

    /// An error if the task's sandbox has a runner of another version, which takes no orders of a task.
    pub fn must_be_current(&self, task: i64) -> Result<()> {
        match self.records.ready(task) {
            Ok(record) if record.runner != VERSION => Err(SandboxError::Gone(Loss::Outdated)),
            _ => Ok(()),
        }
    }

    /// A number that is unique among requests and containers of this process.
    pub fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }
}
