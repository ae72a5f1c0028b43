//! The berths of this installation as this process left them: open with rules, or closed; and to whom each was lent.
//!
//! Owns what the router is told, one thing at a time: new rules never open what a checkpoint has just closed. A berth counts as open
//! until the router has confirmed that it is not. Tests: `tests/trees/`.

use std::collections::HashMap;
use std::sync::Arc;

use protocol::router::{LogEntry, Rule};
use tokio::sync::{Mutex, Notify};

use super::gate::Gate;
use super::leases::BerthLeases;
use super::record::now_ms;
use super::{Result, SandboxError};

/// What the router is told of berths, and who has them.
pub(super) struct Berths {
    gate: Option<Arc<dyn Gate>>,
    leases: BerthLeases,
    /// Which this process has opened (true) or closed (false). Held while the router is told anything.
    told: Mutex<HashMap<u32, bool>>,
    /// Rung when every berth is taken and another is wanted.
    crowded: Notify,
}

impl Berths {
    pub fn new(gate: Option<Arc<dyn Gate>>, leases: BerthLeases) -> Self {
        Self { gate, leases, told: Mutex::default(), crowded: Notify::new() }
    }

    /// Whether there is a router.
    pub fn routed(&self) -> bool {
        self.gate.is_some()
    }

    /// Opens a berth with the rules that `rules` says once nothing else is told; none = it stays closed. Without a router there is
    /// nothing to open.
    pub async fn open(&self, berth: u32, rules: impl FnOnce() -> Result<Option<Vec<Rule>>> + Send) -> Result<()> {
        let Some(gate) = &self.gate else { return Ok(()) };
        let mut told = self.told.lock().await;
        let rules = rules()?;
        if let Some(rules) = &rules {
            gate.open(berth, rules).await.map_err(SandboxError::Unavailable)?;
        }
        told.insert(berth, rules.is_some());
        Ok(())
    }

    /// Replaces rules: `change` writes them down, and says whose berth has them now. Only one that is open is told.
    pub async fn replace(&self, change: impl FnOnce() -> Result<(Option<u32>, Vec<Rule>)> + Send) -> Result<()> {
        let told = self.told.lock().await;
        let (berth, rules) = change()?;
        match (berth.filter(|berth| told.get(berth) == Some(&true)), &self.gate) {
            (Some(berth), Some(gate)) => gate.open(berth, &rules).await.map_err(SandboxError::Unavailable),
            _ => Ok(()),
        }
    }

    /// Closes a berth. Fails closed: it counts as open until the router has confirmed that it is not.
    pub async fn close(&self, berth: Option<u32>) -> Result<()> {
        match (berth, &self.gate) {
            (Some(berth), Some(gate)) => {
                let mut told = self.told.lock().await;
                told.insert(berth, false);
                gate.close(berth).await.map_err(SandboxError::Unavailable)
            }
            (Some(_), None) => {
                Err(SandboxError::Unavailable("the router is not attached, so the berth cannot be closed".to_owned()))
            }
            (None, _) => Ok(()),
        }
    }

    /// Whether this process has neither opened nor closed it: a router that greets a new process closes every berth.
    pub async fn untouched(&self, berth: u32) -> bool {
        !self.told.lock().await.contains_key(&berth)
    }

    /// From here on, lines of the router's log about this berth are this task's.
    pub fn lend(&self, berth: Option<u32>, task: i64) -> Result<()> {
        match (berth, &self.gate) {
            (Some(berth), Some(gate)) => self.leases.lend(berth, task, gate.log_read(), now_ms()),
            _ => Ok(()),
        }
    }

    /// The task that a line of the router's log belongs to.
    pub fn holder(&self, boot: &str, entry: &LogEntry) -> Option<i64> {
        self.leases.holder(boot, entry)
    }

    /// Waits until a router took the place of another while berths stood open: its life, and those berths.
    pub async fn replaced(&self) -> (String, Vec<u32>) {
        match &self.gate {
            Some(gate) => gate.replaced().await,
            None => std::future::pending().await,
        }
    }

    /// A sandbox was to be made, and every berth is taken.
    pub fn ring_crowded(&self) {
        self.crowded.notify_one();
    }

    /// Returns once a sandbox was to be made and every berth was taken.
    pub async fn crowded(&self) {
        self.crowded.notified().await;
    }
}
