//! The subnets as this process left them: open with rules, or closed; and their allocation to tasks.
//!
//! Owns the orders to the router, one at a time, so that new rules never reopen a subnet that a checkpoint has just closed. A subnet counts
//! as open until the router confirmed that it is closed. Tests: `tests/trees/`.

use std::collections::{BTreeSet, HashMap};
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError};
use std::time::Duration;

use protocol::router::{LogEntry, Rule};
use tokio::sync::{Mutex, Notify, watch};

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
    /// Of each subnet that this process closed and has not opened since: the router's life and the newest line of its log at that time.
    closed: StdMutex<HashMap<u32, (String, u64)>>,
    /// Up to which entry the router's log is stored: its life, and the entry's number; none = nobody stores it.
    stored: watch::Sender<Option<(String, u64)>>,
    /// Notified when a subnet is needed and all are taken.
    crowded: Notify,
}

impl Subnets {
    pub fn new(control: Option<Arc<dyn EgressControl>>, allocations: SubnetAllocations) -> Self {
        let (opened, closed, crowded) = (Mutex::default(), StdMutex::default(), Notify::new());
        let stored = watch::Sender::new(None);
        Self { control, allocations, opened, closed, stored, crowded }
    }

    fn closed(&self) -> MutexGuard<'_, HashMap<u32, (String, u64)>> {
        // A panic while the lock was held leaves the map consistent.
        self.closed.lock().unwrap_or_else(PoisonError::into_inner)
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
            self.closed().remove(&subnet);
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
                control.close(subnet).await.map_err(SandboxError::Unavailable)?;
                if let Some(read) = control.log_read() {
                    let mut closed = self.closed();
                    // Of an earlier closing in the same life everything since counts.
                    if closed.get(&subnet).is_none_or(|(life, _)| *life != read.0) {
                        closed.insert(subnet, read);
                    }
                }
                Ok(())
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

    /// The tasks that may have had a line among these of the router's log: not those whose subnet was closed before and has been since.
    pub fn holders(&self, boot: &str, lines: &RangeInclusive<u64>, ts: i64) -> BTreeSet<i64> {
        let is_closed = |(_, (life, read)): &(&u32, &(String, u64))| life == boot && read < lines.start();
        let closed = self.closed().iter().filter(is_closed).map(|(subnet, _)| *subnet).collect();
        self.allocations.holders(boot, lines, ts, &closed)
    }

    /// The tasks that had these subnets when a life of the router ended; another one answered at `at` (Unix milliseconds).
    pub fn last_holders(&self, boot: &str, subnets: &BTreeSet<u32>, at: i64) -> BTreeSet<i64> {
        subnets.iter().filter_map(|subnet| self.allocations.holder_at(boot, *subnet, u64::MAX, at)).collect()
    }

    /// Notes that the router's log is stored up to this entry: its life, and the entry's number.
    pub fn log_stored(&self, read: (String, u64)) {
        self.stored.send_replace(Some(read));
    }

    /// Waits until what was received of the router's log about this subnet is stored, if somebody stores it; false if that took longer. Of a
    /// closed subnet that is what came before it was closed, so that another one's lines keep nobody waiting.
    pub async fn log_is_stored(&self, subnet: Option<u32>, patience: Duration) -> bool {
        let Some((boot, newest)) = self.control.as_ref().and_then(|control| control.log_read()) else { return true };
        let closed = subnet.and_then(|subnet| self.closed().get(&subnet).cloned());
        // What an earlier life said is stored once something of this one is.
        let seq = closed.map_or(newest, |(life, last)| if life == boot { last.min(newest) } else { 0 });
        let mut stored = self.stored.subscribe();
        let far_enough = |(life, last): &(String, u64)| *life == boot && *last >= seq;
        let reached = stored.wait_for(|read| read.as_ref().is_none_or(far_enough));
        matches!(tokio::time::timeout(patience, reached).await, Ok(Ok(_)))
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
