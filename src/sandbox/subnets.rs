//! The subnets of this installation as this process left them: open with rules, or closed; and to whom each was lent.
//!
//! Owns what the router is told, one thing at a time: new rules never open what a checkpoint has just closed. A subnet counts as open
//! until the router has confirmed that it is not. Tests: `tests/trees/`.

use std::collections::HashMap;
use std::sync::Arc;

use protocol::router::{LogEntry, Rule};
use tokio::sync::{Mutex, Notify};

use super::allocations::SubnetAllocations;
use super::egress_control::EgressControl;
use super::record::now_ms;
use super::{Result, SandboxError};

/// What the router is told of subnets, and who has them.
pub(super) struct Subnets {
    control: Option<Arc<dyn EgressControl>>,
    allocations: SubnetAllocations,
    /// Which this process has opened (true) or closed (false). Held while the router is told anything.
    opened: Mutex<HashMap<u32, bool>>,
    /// Rung when every subnet is taken and another is wanted.
    crowded: Notify,
}

impl Subnets {
    pub fn new(control: Option<Arc<dyn EgressControl>>, allocations: SubnetAllocations) -> Self {
        Self { control, allocations, opened: Mutex::default(), crowded: Notify::new() }
    }

    /// Whether there is a router.
    pub fn routed(&self) -> bool {
        self.control.is_some()
    }

    /// Opens a subnet with the rules that `rules` says once nothing else is told; none = it stays closed. Without a router there is
    /// nothing to open.
    pub async fn open(&self, subnet: u32, rules: impl FnOnce() -> Result<Option<Vec<Rule>>> + Send) -> Result<()> {
        let Some(control) = &self.control else { return Ok(()) };
        let mut opened = self.opened.lock().await;
        let rules = rules()?;
        if let Some(rules) = &rules {
            control.open(subnet, rules).await.map_err(SandboxError::Unavailable)?;
        }
        opened.insert(subnet, rules.is_some());
        Ok(())
    }

    /// Replaces rules: `change` writes them down, and says whose subnet has them now. Only one that is open is told.
    pub async fn replace(&self, change: impl FnOnce() -> Result<(Option<u32>, Vec<Rule>)> + Send) -> Result<()> {
        let opened = self.opened.lock().await;
        let (subnet, rules) = change()?;
        match (subnet.filter(|subnet| opened.get(subnet) == Some(&true)), &self.control) {
            (Some(subnet), Some(control)) => control.open(subnet, &rules).await.map_err(SandboxError::Unavailable),
            _ => Ok(()),
        }
    }

    /// Closes a subnet. Fails closed: it counts as open until the router has confirmed that it is not.
    pub async fn close(&self, subnet: Option<u32>) -> Result<()> {
        match (subnet, &self.control) {
            (Some(subnet), Some(control)) => {
                let mut opened = self.opened.lock().await;
                opened.insert(subnet, false);
                control.close(subnet).await.map_err(SandboxError::Unavailable)
            }
            (Some(_), None) => {
                Err(SandboxError::Unavailable("the router is not attached, so the subnet cannot be closed".to_owned()))
            }
            (None, _) => Ok(()),
        }
    }

    /// Whether this process has neither opened nor closed it: a router that greets a new process closes every subnet.
    pub async fn untouched(&self, subnet: u32) -> bool {
        !self.opened.lock().await.contains_key(&subnet)
    }

    /// From here on, lines of the router's log about this subnet are this task's.
    pub fn lend(&self, subnet: Option<u32>, task: i64) -> Result<()> {
        match (subnet, &self.control) {
            (Some(subnet), Some(control)) => self.allocations.lend(subnet, task, control.log_read(), now_ms()),
            _ => Ok(()),
        }
    }

    /// The task that a line of the router's log belongs to.
    pub fn holder(&self, boot: &str, entry: &LogEntry) -> Option<i64> {
        self.allocations.holder(boot, entry)
    }

    /// Waits until a router took the place of another while subnets stood open: its life, and those subnets.
    pub async fn replaced(&self) -> (String, Vec<u32>) {
        match &self.control {
            Some(control) => control.replaced().await,
            None => std::future::pending().await,
        }
    }

    /// A sandbox was to be made, and every subnet is taken.
    pub fn ring_crowded(&self) {
        self.crowded.notify_one();
    }

    /// Returns once a sandbox was to be made and every subnet was taken.
    pub async fn crowded(&self) {
        self.crowded.notified().await;
    }
}
