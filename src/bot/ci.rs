//! Looks at the forge's CI for tasks that wait for it: once in a round for each, rarer the longer it takes.
//!
//! Owns only when: `effect` reads, `domain::transition` decides. What is waited for, and since when, stands in the task's log, so that the
//! next life goes on waiting. Tests: `tests/stories/ci_status.rs`.

use crate::effect::CiReader;
use crate::store::{LiveRow, StoreError};
use crate::supervise::caught;
use crate::task::Machine;
use crate::trouble::Trouble;
use domain::{Input, State, TaskId};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The longest time between two looks, in milliseconds.
const RAREST_MS: i64 = 120_000;
/// A look comes after this part of the time that was waited already.
const PART: i64 = 10;

pub struct CiWatch {
    pub machine: Arc<Machine>,
    pub reader: Arc<CiReader>,
    /// The time between two rounds.
    pub every: Duration,
    pub stopping: CancellationToken,
}

impl CiWatch {
    pub async fn run(self) {
        // When each task is looked at next, by our clock.
        let mut due: HashMap<i64, i64> = HashMap::new();
        loop {
            tokio::select! {
                () = tokio::time::sleep(self.every) => {}
                () = self.stopping.cancelled() => return,
            }
            if let Err(error) = self.round(&mut due).await {
                tracing::warn!(%error, "tasks that wait for the forge's CI could not be looked at");
            }
        }
    }

    async fn round(&self, due: &mut HashMap<i64, i64>) -> Result<(), StoreError> {
        let mut rows = self.machine.own_rows().await?;
        rows.retain(|row| row.state == State::AWAITING_CI);
        due.retain(|task, _| rows.iter().any(|row| row.id == *task));
        for row in rows {
            let now = self.machine.clock().time();
            if due.get(&row.id).is_some_and(|at| *at > now && *at - now <= RAREST_MS) {
                continue;
            }
            match caught("the forge's CI", Box::pin(self.one(&row, now))).await {
                Ok(Ok(waited)) => {
                    due.insert(row.id, now + (waited / PART).clamp(0, RAREST_MS));
                }
                Ok(Err(trouble)) => tracing::warn!(task = row.id, %trouble, "the forge's CI is read again"),
                Err(panic) => tracing::error!(task = row.id, panic, "the forge's CI is read again"),
            }
        }
        Ok(())
    }

    /// One look; how long was waited by then, in milliseconds.
    async fn one(&self, row: &LiveRow, now: i64) -> Result<i64, Trouble> {
        let task = self.machine.look(TaskId(row.id)).await?;
        let Some(awaited) = task.ci_awaited.as_ref().filter(|_| task.state.name() == State::AWAITING_CI) else {
            return Ok(0);
        };
        let waited = now.saturating_sub(awaited.at);
        if let Some((outcome, checks)) = self.reader.look(&task, awaited, waited).await? {
            // With the length of the log: what a pause overtook is looked at again after it.
            let key = format!("ci:{}:{}:{}", row.id, awaited.n, task.seq);
            let input = Input::CiEnded { n: awaited.n, outcome, checks };
            self.machine.feed(task.id, &key, input, None).await?;
        }
        Ok(waited)
    }
}
