//! The operator's orders from the command line, for a running bot (through its operations listener) and for `caisson task` without one.

use super::{FeedResult, Machine};
use crate::git::Repos;
use crate::store::{Deleted, StoreError};
use domain::{Input, Order, State, TaskId};

/// Result of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrderResult {
    /// The task's state now.
    Now(&'static str),
    /// There is no such task.
    Unknown,
    /// The order does not apply to the task's present state, which this is.
    Unfit(&'static str),
}

impl Machine {
    /// Deletes an ended task: its checkpoints' refs in the local repository, then everything in the store, the outbox included.
    ///
    /// # Errors
    /// When git or the store cannot write; the task still exists then, and can be deleted again.
    pub async fn delete(&self, id: TaskId, repos: &Repos) -> anyhow::Result<Deleted> {
        let Some(row) = self.store().task_row(id).await? else { return Ok(Deleted::Unknown) };
        if row.live {
            return Ok(Deleted::Live);
        }
        // Refs first, because after an interruption the task's row can still be found.
        repos.forget_task(&row.repository, id.0).await?;
        let deleted = self.store().delete_task(id).await?;
        self.forget(id);
        Ok(deleted)
    }

    /// Carries an order out; the outbox carries out its effects.
    pub async fn order(&self, id: TaskId, order: Order) -> Result<OrderResult, StoreError> {
        if self.store().task_row(id).await?.is_none() {
            return Ok(OrderResult::Unknown);
        }
        if !self.works_for(id).await? {
            // Another host may have changed it.
            self.forget(id);
        }
        let task = self.look(id).await?;
        let fits = match order {
            Order::Stop => !task.state.ended(),
            Order::Resume => matches!(task.state, State::Paused { .. }),
        };
        if !fits {
            return Ok(OrderResult::Unfit(task.state.name()));
        }
        let key = format!("ordered:{id}:{order:?}:{}", task.seq);
        Ok(match self.feed(id, &key, Input::Ordered { order }, None).await? {
            FeedResult::Taken(task) => OrderResult::Now(task.state.name()),
            FeedResult::Known => OrderResult::Now(self.look(id).await?.state.name()),
        })
    }
}
