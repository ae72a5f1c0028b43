//! Looks at the forge's CI for tasks that wait for it: once in a round for each, rarer the longer it takes.
//!
//! Owns only when: `effect` reads, `domain::transition` decides. What is waited for, and since when, stands in the task's log, so that the
//! next life goes on waiting. Tests: `tests/stories/ci_status.rs`.

use crate::effect::{CiReader, CommitContexts, Look};
use crate::store::{LiveRow, StoreError};
use crate::supervise::caught;
use crate::task::Machine;
use crate::trouble::Trouble;
use domain::{Input, State, TaskId};
use futures_util::{StreamExt, stream};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The longest time between two looks, in milliseconds.
const RAREST_MS: i64 = 120_000;
/// A look comes after this part of the time that was waited already.
const PART: i64 = 10;
/// Tasks that are looked at at the same time.
const AT_ONCE: usize = 4;

pub struct CiWatch {
    pub machine: Arc<Machine>,
    pub reader: Arc<CiReader>,
    /// The time between two rounds.
    pub every: Duration,
    pub stopping: CancellationToken,
}

impl CiWatch {
    pub async fn run(self) {
        let mut last: HashMap<i64, Last> = HashMap::new();
        loop {
            tokio::select! {
                () = tokio::time::sleep(self.every) => {}
                () = self.stopping.cancelled() => return,
            }
            if let Err(error) = self.round(&mut last).await {
                tracing::warn!(%error, "tasks that wait for the forge's CI could not be looked at");
            }
        }
    }

    async fn round(&self, last: &mut HashMap<i64, Last>) -> Result<(), StoreError> {
        let mut rows = self.machine.own_rows().await?;
        rows.retain(|row| row.state == State::AWAITING_CI);
        last.retain(|task, _| rows.iter().any(|row| row.id == *task));
        let now = self.machine.clock().time();
        rows.retain(|row| last.get(&row.id).is_none_or(|last| last.is_due(now)));
        // Each with its own, so that one slow answer holds up no other task.
        let looks = rows.into_iter().map(|row| {
            let before = last.get(&row.id).and_then(|last| last.seen.clone());
            async move { (row.id, self.look(&row, now, before).await) }
        });
        let looks: Vec<(i64, Last)> = stream::iter(looks.collect::<Vec<_>>()).buffer_unordered(AT_ONCE).collect().await;
        last.extend(looks);
        Ok(())
    }

    /// One look, and when the next one comes: after one that failed as well, because a forge that is in trouble has enough to do.
    async fn look(&self, row: &LiveRow, now: i64, before: Option<CommitContexts>) -> Last {
        let mut waited = 0;
        match caught("the forge's CI", Box::pin(self.one(row, now, before.as_ref(), &mut waited))).await {
            Ok(Ok(Look::Passing(seen))) => return Last::passing(seen, before.as_ref(), now, waited),
            Ok(Ok(Look::GoesOn | Look::Ended(..))) => {}
            Ok(Err(trouble)) => tracing::warn!(task = row.id, %trouble, "the forge's CI is read again"),
            Err(panic) => tracing::error!(task = row.id, panic, "the forge's CI is read again"),
        }
        Last { due: now + pause(waited), seen: None }
    }

    /// One look; `waited` becomes how long was waited by then, in milliseconds.
    async fn one(
        &self,
        row: &LiveRow,
        now: i64,
        before: Option<&CommitContexts>,
        waited: &mut i64,
    ) -> Result<Look, Trouble> {
        let task = self.machine.look(TaskId(row.id)).await?;
        let Some(awaited) = task.ci_awaited.as_ref().filter(|_| task.state.name() == State::AWAITING_CI) else {
            return Ok(Look::GoesOn);
        };
        *waited = now.saturating_sub(awaited.at);
        let look = self.reader.look(&task, awaited, *waited, before).await?;
        if let Look::Ended(outcome, kept) = &look {
            // With the length of the log: what a pause overtook is looked at again after it.
            let key = format!("ci:{}:{}:{}", row.id, awaited.n, task.seq);
            let (outcome, checks, more) = (*outcome, kept.checks.clone(), kept.more);
            self.machine.feed(task.id, &key, Input::CiEnded { n: awaited.n, outcome, checks, more }, None).await?;
        }
        Ok(look)
    }
}

/// What is remembered of a task between two rounds. The next life begins without it and looks twice again.
struct Last {
    /// When it is looked at next, by our clock.
    due: i64,
    /// What was there, where all of it had passed.
    seen: Option<CommitContexts>,
}

impl Last {
    /// After a look that saw nothing but success: what is seen for the first time is looked at again in the next round.
    fn passing(seen: CommitContexts, before: Option<&CommitContexts>, now: i64, waited: i64) -> Self {
        let due = if before == Some(&seen) { now + pause(waited) } else { now };
        Self { due, seen: Some(seen) }
    }

    /// A clock that was set back holds nothing up.
    fn is_due(&self, now: i64) -> bool {
        self.due <= now || self.due - now > RAREST_MS
    }
}

/// The time until the next look.
fn pause(waited: i64) -> i64 {
    (waited / PART).clamp(0, RAREST_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_grow_rarer_and_a_clock_that_was_set_back_holds_nothing_up() {
        assert_eq!((pause(-5), pause(600_000), pause(i64::MAX)), (0, 60_000, RAREST_MS));
        let last = Last { due: 100_000, seen: None };
        assert!(!last.is_due(99_999) && last.is_due(100_000) && last.is_due(-50_000));
    }
}
