//! Open effects that this version cannot parse, and those of a task that it cannot, because a newer one stored them or they are damaged.
//!
//! Where hosts share the store a version that can read it may come, so a step is left as it is. Otherwise it is closed, and people are told;
//! a text never is: it would be lost without a word. Tests: `tests/stories/faults.rs`.

use super::Outbox;
use crate::clock::now;
use crate::store::{Begun, Close, StoreError, UnreadEffect};
use domain::{Failure, Input, Queue, TaskId};
use std::collections::HashSet;
use std::time::Duration;
use tokio::sync::Notify;

/// Time between two looks at an effect, or a task, that is left.
const LOOK: Duration = Duration::from_secs(5 * 60);

impl Outbox {
    /// Handles the next effect of a queue; `logged` has the numbers of those that the queue's worker has named in the log.
    pub(super) async fn unreadable(
        &self,
        (task, queue): (TaskId, Queue),
        effect: &UnreadEffect,
        bell: &Notify,
        logged: &mut HashSet<i64>,
    ) -> Result<(), StoreError> {
        if logged.insert(effect.id) {
            let (key, why) = (&effect.key, effect.source.to_string());
            tracing::error!(task = task.0, effect = key, why, "a stored effect cannot be read");
            metrics::counter!("caisson_outbox_failures_total").increment(1);
        }
        let is_text = queue == Queue::Talk;
        if !is_text && !self.machine.leases().are_shared() {
            return self.park(task, effect).await;
        }
        let look_ms = LOOK.as_millis() as i64;
        let waits = effect.aside && (1..=look_ms).contains(&effect.not_before.saturating_sub(now()));
        if is_text && !waits {
            return self.go_last(effect, now() + look_ms).await;
        }
        self.wait(LOOK, bell).await;
        Ok(())
    }

    /// Leaves the effects of a task that cannot be read; the store has it in the log, and `/readyz` names it.
    pub(super) async fn pass_over(&self, bell: &Notify) {
        metrics::counter!("caisson_outbox_failures_total").increment(1);
        self.wait(LOOK, bell).await;
    }

    /// Closes an effect and tells a person; `/resume` wants it anew.
    async fn park(&self, task: TaskId, effect: &UnreadEffect) -> Result<(), StoreError> {
        let sentence = format!(
            "a stored step (`{}`) cannot be read: was the bot replaced by an older version? `/resume` asks for it anew",
            effect.key
        );
        let failure = Failure::Blocked { sentence };
        let input = Input::EffectFailed { effect: effect.key.clone(), failure };
        let close = Some(Close { effect: effect.id, failed: true });
        self.machine.feed(task, &format!("unreadable:{task}:{}:{}", effect.id, now()), input, close).await.map(drop)
    }

    /// Lets everything else of the queue go before it until then. Set aside only once, because so often counts when a forge forbids it.
    async fn go_last(&self, effect: &UnreadEffect, not_before: i64) -> Result<(), StoreError> {
        let (store, begun) = (self.machine.store(), Begun { id: effect.id, epoch: self.machine.epoch() });
        if !store.effect_started(begun.id, begun.epoch).await? {
            return Ok(());
        }
        let why = "this version cannot read it";
        match effect.aside {
            true => store.effect_later(begun, not_before, why).await,
            false => store.effect_aside(begun, not_before, why).await,
        }
    }
}
