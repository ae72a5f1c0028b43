//! What a task's sandbox may reach: its rules, which the router has while its subnet is open.
//!
//! Owns what of it is written down with the sandbox. Tests: `tests/trees/way_out.rs`.

use std::sync::Arc;

use protocol::router::{LogEntry, Rule};

use super::Result;
use super::core::Core;

/// The ways out of tasks' sandboxes.
pub struct SandboxEgress {
    pub(super) core: Arc<Core>,
}

impl SandboxEgress {
    /// Replaces the rules of a task (`/allow`, `/deny`). An open subnet has them when this returns; a closed one when it is
    /// opened.
    ///
    /// # Errors
    /// [`Gone`](super::SandboxError::Gone) without a sandbox, [`Unavailable`](super::SandboxError::Unavailable) when the router is away.
    pub async fn allow(&self, task: i64, rules: Vec<Rule>) -> Result<()> {
        let change = || {
            self.core.records.change(task, |record| (record.egress, record.cut_off) = (rules.clone(), false))?;
            Ok((self.subnet(task), rules))
        };
        self.core.subnets.replace(change).await
    }

    /// Closes the subnet of a task, and keeps it closed until [`SandboxEgress::allow`]: its repository has no network any more.
    ///
    /// # Errors
    /// As [`SandboxEgress::allow`].
    pub async fn cut_off(&self, task: i64) -> Result<()> {
        if !self.is_cut_off(task) {
            self.core.records.change(task, |record| (record.egress, record.cut_off) = (Vec::new(), true))?;
        }
        self.core.subnets.close(self.subnet(task)).await
    }

    /// Whether a task's sandbox reaches nothing until [`SandboxEgress::allow`].
    pub fn is_cut_off(&self, task: i64) -> bool {
        self.core.records.get(task).is_some_and(|record| record.cut_off)
    }

    /// The subnet a task holds: for questions to the router about it.
    pub fn subnet(&self, task: i64) -> Option<u32> {
        self.core.subnet(task)
    }

    /// The task that a line of the router's log belongs to: the one its subnet was lent to when the router wrote it.
    pub fn held_by(&self, boot: &str, entry: &LogEntry) -> Option<i64> {
        self.core.subnets.holder(boot, entry)
    }

    /// Waits until a router took the place of another while ways out stood open: its life, and the tasks whose ways those are.
    pub async fn router_replaced(&self) -> (String, Vec<i64>) {
        let (boot, subnets) = self.core.subnets.replaced().await;
        let records = self.core.records.all().into_iter();
        let cut = records.filter(|record| record.subnet.is_some_and(|subnet| subnets.contains(&subnet)));
        (boot, cut.map(|record| record.task).collect())
    }

    /// Returns once a sandbox was to be made and every subnet was taken.
    pub async fn crowded(&self) {
        self.core.subnets.crowded().await;
    }
}
