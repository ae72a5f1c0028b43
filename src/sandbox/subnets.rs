//! The subnets as this process left them: open with rules, or closed; and their allocation to tasks.
//!
//! Owns the orders to the router, one at a time, so that new rules never reopen a subnet that a checkpoint has just closed. A subnet counts
//! as open until the router confirmed that it is closed. Tests: `tests/trees/`.

use std::collections::{BTreeSet, HashMap};
use std::ops::RangeInclusive;
use std::sync::Arc;

use protocol::router::{LogEntry, Rule};
use tokio::sync::{Mutex, Notify};

use super::allocations::SubnetAllocations;
use super::egress_control::EgressControl;
use super::record::now_ms;
use super::{Result, SandboxError};

/// Orders to the router, and allocations.
pub(super) struct Subnets {
    control: Option<Arc<dyn EgressControl>>,
    allocations: SubnetAllocations,
    /// Subnets that this process opened (true) or closed (false); locked during an order to the router.
    opened: Mutex<HashMap<u32, bool>>,
    /// Notified when a subnet is needed and all are taken.
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

    /// Opens a subnet with the rules of `rules`, which is called after earlier orders; none = it stays closed. Does nothing without a
    /// router.
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

    /// Replaces rules: `change` stores them and gives the subnet they are for; the router is told only if it is open.
    pub async fn replace(&self, change: impl FnOnce() -> Result<(Option<u32>, Vec<Rule>)> + Send) -> Result<()> {
        let opened = self.opened.lock().await;
        let (subnet, rules) = change()?;
        match (subnet.filter(|subnet| opened.get(subnet) == Some(&true)), &self.control) {
            (Some(subnet), Some(control)) => control.open(subnet, &rules).await.map_err(SandboxError::Unavailable),
            _ => Ok(()),
        }
    }

    /// Closes a subnet; it counts as open until the router confirmed.
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

    /// Whether this process has neither opened nor closed it; a router closes every subnet when a new process connects.
    pub async fn untouched(&self, subnet: u32) -> bool {
        !self.opened.lock().await.contains_key(&subnet)
    }

    /// Allocates a subnet: later lines of the router's log about it belong to this task.
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

    /// The tasks that may have had a line among these of the router's log.
    pub fn holders(&self, boot: &str, lines: &RangeInclusive<u64>, ts: i64) -> BTreeSet<i64> {
        self.allocations.holders(boot, lines, ts)
    }

    /// Waits until the router was replaced while subnets were open; gives its life and those subnets.
    pub async fn replaced(&self) -> (String, Vec<u32>) {
        match &self.control {
            Some(control) => control.replaced().await,
            None => std::future::pending().await,
        }
    }

    /// Reports that a sandbox needed a subnet and all were taken.
    pub fn ring_crowded(&self) {
        self.crowded.notify_one();
    }

    /// Returns when a sandbox needed a subnet and all were taken.
    pub async fn crowded(&self) {
        self.crowded.notified().await;
    }
}
