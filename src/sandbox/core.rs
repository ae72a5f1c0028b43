//! What every part of the sandboxes stands on: the broker, the repositories, the records, whose user and whose subnet.
//!
//! Owns nothing that one part alone needs, and how a container for one piece of work goes when that work ends. Tests: `tests/trees.rs`.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use domain::Loss;
use protocol::broker::ImageInfo;
use protocol::runner::VERSION;
use tokio_util::task::TaskTracker;

use super::broker::Broker;
use super::record::{Record, Records};
use super::session::{self, Passing};
use super::subnets::Subnets;
use super::users::Users;
use super::{Result, SandboxError, Settings};
use crate::git::Repos;

/// Shared by all parts, and made once.
pub(super) struct Core {
    pub broker: Arc<dyn Broker>,
    pub repos: Repos,
    pub settings: Settings,
    /// This process's life: a runner obeys the highest it has seen.
    pub epoch: u64,
    pub records: Records,
    pub subnets: Subnets,
    pub users: Users,
    /// Names of containers that a call of this process is using: reaping leaves them alone.
    pub busy: Arc<Mutex<HashSet<String>>>,
    /// Of the host's own requests.
    pub ids: Arc<AtomicU64>,
    /// Removals that nobody waits for.
    pub leaving: TaskTracker,
}

impl Core {
    /// The image the engine has under this reference.
    pub async fn image(&self, reference: &str) -> Result<Option<ImageInfo>> {
        self.broker.image(reference).await.map_err(session::from_broker)
    }

    /// A name for a container that goes when this is dropped.
    pub fn passing(&self, name: &str) -> Passing {
        Passing::new(Arc::clone(&self.broker), Arc::clone(&self.busy), self.leaving.clone(), name)
    }

    /// Waits until everything that was let go is removed.
    pub async fn leave(&self) {
        self.leaving.close();
        self.leaving.wait().await;
        self.leaving.reopen();
    }

    /// The record of a sandbox that is to be made, with a subnet if `network` asks for one: closed, and from here on this task's.
    pub async fn begin(&self, record: Record, network: bool) -> Result<Record> {
        if network && self.records.free_subnet(record.task).is_none() {
            self.subnets.ring_crowded();
        }
        let record = self.records.begin(record, network)?;
        self.subnets.close(record.subnet).await?;
        self.subnets.lend(record.subnet, record.task)?;
        Ok(record)
    }

    /// The subnet a task holds.
    pub fn subnet(&self, task: i64) -> Option<u32> {
        self.records.get(task).and_then(|record| record.subnet)
    }

    /// What the setup of a task's sandbox left, by its key.
    pub fn setup_of(&self, task: i64) -> Option<String> {
        self.records.get(task).and_then(|record| record.setup)
    }

    /// A sandbox of another version takes no orders of a task any more.
    pub fn must_be_current(&self, task: i64) -> Result<()> {
        match self.records.ready(task) {
            Ok(record) if record.runner != VERSION => Err(SandboxError::Gone(Loss::Outdated)),
            _ => Ok(()),
        }
    }

    /// A number that no other request or container of this process has.
    pub fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }
}
