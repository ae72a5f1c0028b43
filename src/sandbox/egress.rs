//! Egress of a task's sandbox: the rules that the router has while its subnet is open.
//!
//! Owns the part of it in the sandbox's record. Tests: `tests/trees/way_out.rs`.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use protocol::router::{LogEntry, Rule};

use super::Result;
use super::core::Core;

/// Egress of tasks' sandboxes.
pub struct SandboxEgress {
    pub(super) core: Arc<Core>,
}

impl SandboxEgress {
    /// Replaces the rules of a task (`/allow`, `/deny`). For an open subnet they apply when this returns; for a closed one when it is
    /// opened.
    ///
    /// # Errors
    /// [`Gone`](super::SandboxError::Gone) without a sandbox, [`Unavailable`](super::SandboxError::Unavailable) when the router is
    /// unreachable.
    pub async fn allow(&self, task: i64, rules: Vec<Rule>) -> Result<()> {
        let change = || {
            self.core.records.change(task, |record| (record.egress, record.cut_off) = (rules.clone(), false))?;
            Ok((self.subnet(task), rules))
        };
        self.core.subnets.replace(change).await
    }

    /// Closes the subnet of a task until [`SandboxEgress::allow`], because its repository may no longer use the network.
    ///
    /// # Errors
    /// As [`SandboxEgress::allow`].
    pub async fn cut_off(&self, task: i64) -> Result<()> {
        if !self.is_cut_off(task) {
            self.core.records.change(task, |record| (record.egress, record.cut_off) = (Vec::new(), true))?;
        }
        self.core.subnets.close(self.subnet(task)).await
    }

    /// Whether [`SandboxEgress::cut_off`] closed the task's subnet.
    pub fn is_cut_off(&self, task: i64) -> bool {
        self.core.records.get(task).is_some_and(|record| record.cut_off)
    }

    /// The subnet of a task, for questions to the router.
    pub fn subnet(&self, task: i64) -> Option<u32> {
        self.core.subnet(task)
    }

    /// The task that a line of the router's log belongs to: the one its subnet was allocated to when the line was written.
    pub fn held_by(&self, boot: &str, entry: &LogEntry) -> Option<i64> {
        self.core.subnets.holder(boot, entry)
    }

    /// The tasks that may have had a line among these of the router's log, by their numbers; for a life of the router without an
    /// allocation by the time `ts` (Unix milliseconds).
    pub fn held_between(&self, boot: &str, lines: &RangeInclusive<u64>, ts: i64) -> BTreeSet<i64> {
        self.core.subnets.holders(boot, lines, ts)
    }

    /// The tasks of which a life of the router may have had more to report when it ended: those of the subnets `cut`, or, where these are
    /// not known, all whose sandbox was not stopped. Another life answered at `at` (Unix milliseconds).
    pub fn held_at_end(&self, boot: &str, cut: Option<&BTreeSet<u32>>, at: i64) -> BTreeSet<i64> {
        if let Some(cut) = cut {
            return self.core.subnets.last_holders(boot, cut, at);
        }
        let records = self.core.records.all().into_iter();
        let left = records.filter(|record| record.subnet.is_some() && !record.stopped);
        left.map(|record| record.task).collect()
    }

    /// Notes that the router's log is stored up to this entry: its life, and the entry's number.
    pub fn log_stored(&self, read: (String, u64)) {
        self.core.subnets.log_stored(read);
    }

    /// Waits until every line that was received of the router's log about the task's subnet is stored; of a closed subnet these are all. False
    /// if that took longer than `patience`.
    pub async fn log_is_stored(&self, task: i64, patience: Duration) -> bool {
        self.core.subnets.log_is_stored(self.subnet(task), patience).await
    }

    /// Waits until the router was replaced while subnets were open; gives its life and the tasks affected.
    pub async fn router_replaced(&self) -> (String, Vec<i64>) {
        let (boot, subnets) = self.core.subnets.replaced().await;
        let records = self.core.records.all().into_iter();
        let cut = records.filter(|record| record.subnet.is_some_and(|subnet| subnets.contains(&subnet)));
        (boot, cut.map(|record| record.task).collect())
    }

    /// Returns when a sandbox needed a subnet and all were taken.
    pub async fn crowded(&self) {
        self.core.subnets.crowded().await;
    }
}
