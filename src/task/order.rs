//! The operator's orders, given at the machine: the same for a running bot, which hears them on its second listener, and for
//! `caisson task` where none runs.

use super::{Fed, Machine};
use crate::git::Repos;
use crate::store::{Deleted, StoreError};
use domain::{Input, Order, State, TaskId};

/// What became of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obeyed {
    /// The task's state now.
    Now(&'static str),
    /// There is no such task.
    Unknown,
    /// It is in this state, to which the order does not fit.
    Unfit(&'static str),
}

impl Machine {
    /// Deletes an ended task, also what the outbox still has of it: its checkpoints' refs in the local repository, then everything in
    /// the store.
    ///
    /// # Errors
    /// When git or the store cannot write; it is still there then, and can be deleted again.
    pub async fn delete(&self, id: TaskId, repos: &Repos) -> anyhow::Result<Deleted> {
        let Some(row) = self.store().task_row(id).await? else { return Ok(Deleted::Unknown) };
        if row.live {
            return Ok(Deleted::Live);
        }
        // Refs first: a life that is cut off in between finds the task's row again.
        repos.forget_task(&row.repository, id.0).await?;
        let deleted = self.store().delete_task(id).await?;
        self.forget(id);
        Ok(deleted)
    }

    /// Carries an order out. What it brings about (a word on the forge, a sandbox that goes) is the outbox's.
    pub async fn order(&self, id: TaskId, order: Order) -> Result<Obeyed, StoreError> {
        if self.store().task_row(id).await?.is_none() {
            return Ok(Obeyed::Unknown);
        }
        if !self.works_for(id).await? {
            // What another host did with it is not known here.
            self.forget(id);
        }
        let task = self.look(id).await?;
        let fits = match order {
            Order::Stop => !task.state.ended(),
            Order::Resume => matches!(task.state, State::Paused { .. }),
        };
        if !fits {
            return Ok(Obeyed::Unfit(task.state.name()));
        }
        let key = format!("ordered:{id}:{order:?}:{}", task.seq);
        Ok(match self.feed(id, &key, Input::Ordered { order }, None).await? {
            Fed::Taken(task) => Obeyed::Now(task.state.name()),
            Fed::Known => Obeyed::Now(self.look(id).await?.state.name()),
        })
    }
}
