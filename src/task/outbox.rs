//! Carries out effects: in order within a queue, repeated after temporary failures, and each closed together with its result.

mod unreadable;

use super::Machine;
use super::cut::{self, Boundary, Cut};
use super::workers::Workers;
use crate::barrier::BarrierState;
use crate::clock::now;
use crate::effect::{EffectRunner, not_merged};
use crate::forge::Refusals;
use crate::store::{Begun, Close, EffectRow, StoreError};
use crate::supervise::{Works, caught};
use crate::trouble::{Denial, TELL_AFTER, Trouble};
use domain::{Again, Effect, Failure, Input, Notice, Queue, Task, TaskId};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::sync::CancellationToken;

/// Tries after which an effect that panics waits for a person.
const PARK_AFTER: i64 = 4;
const SHORTEST_WAIT_MS: i64 = 50;
const FIRST_WAIT_MS: i64 = 500;
const LONGEST_WAIT_MS: i64 = 60_000;
/// Time between two tries of an effect that the forge denies.
const DENIED_WAIT_MS: u64 = 2_000;

/// First and longest postponement of a text that the forge forbids; it doubles each time.
const FIRST_ASIDE_MS: i64 = 10_000;
const LONGEST_ASIDE_MS: i64 = 6 * 3_600_000;
/// Postponements of the status comment that make it wait longer: it is never given up, and tried at least every ten minutes, because it would
/// show an old state.
const MOST_STATUS_ASIDE: i64 = 6;
/// Postponements (three days) after which it is given up.
const MOST_ASIDE: i64 = 23;

/// How long a row with this time still waits; a time too far away was written before the clock was set back.
fn due_in(not_before: i64, now: i64, aside: i64) -> i64 {
    let longest = if aside > 0 { LONGEST_ASIDE_MS } else { LONGEST_WAIT_MS };
    Some(not_before.saturating_sub(now)).filter(|wait| (1..=longest).contains(wait)).unwrap_or(0)
}

/// The rest of a pause of `pause` milliseconds since `last`; none where a clock that was set back would make it longer.
fn pause_after(last: i64, now: i64, pause: i64) -> i64 {
    let rest = last.saturating_add(pause).saturating_sub(now);
    if rest > pause { 0 } else { rest.max(0) }
}

/// How long a text waits after so many postponements; none when it is given up.
fn aside_ms(times: i64) -> Option<i64> {
    (times < MOST_ASIDE).then(|| (FIRST_ASIDE_MS << times.clamp(0, 20)).min(LONGEST_ASIDE_MS))
}

/// Time until the next try after so many failures; a server's request for a delay counts, within limits.
fn wait_ms(failures: i64, asked_ms: Option<u64>) -> i64 {
    let doubling = FIRST_WAIT_MS << failures.clamp(0, 10);
    asked_ms
        .map_or(doubling, |ms| i64::try_from(ms).unwrap_or(LONGEST_WAIT_MS))
        .clamp(SHORTEST_WAIT_MS, LONGEST_WAIT_MS)
}

/// How long to wait for the outbox when it stops.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For any effect under way.
    pub all: Duration,
    /// For effects that would cost money again.
    pub paid: Duration,
}

/// Carries out the effects of all tasks, each queue of a task in order.
pub struct Outbox {
    machine: Arc<Machine>,
    effects: Arc<EffectRunner>,
    workers: Workers,
    barrier: watch::Receiver<BarrierState>,
    works: Works,
    cut: Option<Cut>,
    /// Effects that the forge denied, by row.
    refusals: Refusals<i64>,
    stopping: CancellationToken,
}

impl Outbox {
    /// `cut` is only for tests. Nothing runs before [`Outbox::run`].
    pub fn new(
        machine: Arc<Machine>,
        effects: Arc<EffectRunner>,
        barrier: watch::Receiver<BarrierState>,
        works: Works,
        cut: Option<Cut>,
        stopping: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            machine,
            effects,
            workers: Workers::default(),
            barrier,
            works,
            cut,
            refusals: Refusals::default(),
            stopping,
        })
    }

    /// Runs until told to stop; effects under way are then finished, or left as started for the next life.
    pub async fn run(self: &Arc<Self>, moved: &mut mpsc::UnboundedReceiver<TaskId>) {
        match self.machine.store().tasks_with_effects().await {
            Ok(tasks) => tasks.into_iter().for_each(|task| self.ring(task)),
            Err(error) => tracing::error!(%error, "the outbox cannot be read"),
        }
        loop {
            let task = tokio::select! {
                () = self.stopping.cancelled() => return,
                task = moved.recv() => task,
            };
            let Some(task) = task else { return };
            self.ring(task);
            if self.machine.look(task).await.is_ok_and(|task| task.state.ended()) {
                self.workers.call_off(task);
            }
        }
    }

    fn ring(self: &Arc<Self>, task: TaskId) {
        for queue in [Queue::Work, Queue::Egress, Queue::Talk] {
            if let Some((bell, calloff)) = self.workers.ring(task, queue) {
                let outbox = self.clone();
                tokio::spawn(async move { outbox.keep_draining(task, queue, &bell, &calloff).await });
            }
        }
    }

    /// Waits until no queue is active, at most as long as the patience allows; whether none is.
    pub async fn settle(&self, patience: Patience) -> bool {
        let began = Instant::now();
        while !self.workers.is_empty() {
            let paid = self.effects.paid.any();
            if began.elapsed() >= if paid { patience.paid.max(patience.all) } else { patience.all } {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        true
    }

    /// A queue that panics continues after a delay; it stays registered, so that no second worker starts.
    async fn keep_draining(&self, task: TaskId, queue: Queue, bell: &Notify, calloff: &CancellationToken) {
        let mut failures = 0;
        while let Err(panic) = caught("queue", self.drain(task, queue, bell, calloff)).await {
            let why = format!("its queue panicked: {panic}");
            if !self.wait_after(task, queue, &why, failures).await {
                break;
            }
            failures += 1;
        }
        self.workers.leave(task, queue);
        self.works.well(&work(task, queue));
        // A wake-up between the last look and deregistering was not noticed, so it looks again.
        let ours = !self.stopping.is_cancelled() && !matches!(self.machine.works_for(task).await, Ok(false));
        if ours && !matches!(self.machine.store().next_effect(task, queue).await, Ok(None)) {
            self.machine.nudge(task);
        }
    }

    /// Runs until no effect is left, or the bot is told to stop.
    async fn drain(&self, task: TaskId, queue: Queue, bell: &Notify, calloff: &CancellationToken) {
        let (mut failures, mut logged) = (0, HashSet::new());
        while !self.stopping.is_cancelled() {
            let next = match self.machine.works_for(task).await {
                Ok(true) => self.machine.store().next_effect(task, queue).await,
                // Another host works for it, or it was deleted.
                Ok(false) | Err(StoreError::NoTask(_)) => return,
                Err(error) => Err(error),
            };
            let done = match next {
                Ok(Some(row)) => self.one(row, bell, calloff).await,
                Ok(None) => return,
                Err(StoreError::Effect(effect)) => self.unreadable((task, queue), &effect, bell, &mut logged).await,
                Err(error) => Err(error),
            };
            match done {
                Ok(()) => failures = 0,
                Err(error @ StoreError::Elsewhere { .. }) => self.machine.note_loss(&error),
                Err(error) if error.is_unreadable() => self.pass_over(bell).await,
                Err(error) => {
                    self.wait_after(task, queue, &error.to_string(), failures).await;
                    failures += 1;
                }
            }
        }
    }

    /// Reports a failure to read rows and waits, longer each time; false when the bot is told to stop.
    async fn wait_after(&self, task: TaskId, queue: Queue, why: &str, failures: i64) -> bool {
        let wait = wait_ms(failures, None);
        tracing::error!(task = task.0, ?queue, why, wait_ms = wait, "the outbox cannot go on here; tried again");
        metrics::counter!("caisson_outbox_failures_total").increment(1);
        self.works.set_wrong(&work(task, queue), why);
        self.stopping.run_until_cancelled(tokio::time::sleep(Duration::from_millis(wait as u64))).await.is_some()
    }

    /// Waits so long, or until the queue is woken or the bot is told to stop.
    async fn wait(&self, time: Duration, bell: &Notify) {
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = bell.notified() => {}
            () = self.stopping.cancelled() => {}
        }
    }

    async fn one(&self, row: EffectRow, bell: &Notify, calloff: &CancellationToken) -> Result<(), StoreError> {
        let wait = due_in(row.not_before, now(), row.aside).max(self.paced(&row).await?);
        if wait > 0 {
            self.wait(Duration::from_millis(wait as u64), bell).await;
            return Ok(());
        }
        let barrier = match row.effect.needs().barrier {
            true => self.behind_barrier(bell).await,
            false => Some(Ok(())),
        };
        let Some(barrier) = barrier else { return Ok(()) };
        self.attempt(&row, calloff, barrier).await
    }

    /// Milliseconds until the status comment of a task at work may be edited again; any other state is shown at once.
    async fn paced(&self, row: &EffectRow) -> Result<i64, StoreError> {
        let Some(last) = row.closed_at.filter(|_| is_status(row)) else { return Ok(0) };
        let busy = self.machine.look(row.task).await?.state.busy();
        Ok(if busy { pause_after(last, now(), self.effects.status_edit_ms) } else { 0 })
    }

    /// Waits until the barrier is proven or failed; `None` when the queue has to look again first.
    async fn behind_barrier(&self, bell: &Notify) -> Option<Result<(), Trouble>> {
        let mut barrier = self.barrier.clone();
        let judged = async {
            let judged = barrier.wait_for(|it| matches!(it, BarrierState::Proven | BarrierState::Refused(_))).await;
            match judged.map(|it| it.clone()) {
                Ok(BarrierState::Refused(why)) => Err(Trouble::blocked(why)),
                Ok(BarrierState::Proven | BarrierState::Waiting(_) | BarrierState::Broken(_)) => Ok(()),
                // The prover is gone.
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            judged = judged => Some(judged),
            () = bell.notified() => None,
            () = self.stopping.cancelled() => None,
        }
    }

    async fn attempt(
        &self,
        row: &EffectRow,
        calloff: &CancellationToken,
        barrier: Result<(), Trouble>,
    ) -> Result<(), StoreError> {
        let repository = self.machine.look(row.task).await?.request.map(|request| request.repository);
        let term = repository.as_ref().map(|key| self.machine.leases().term(key));
        // The task as of this term of the lease.
        let task = self.machine.look(row.task).await?;
        if !self.machine.store().effect_started(row.id, self.machine.epoch()).await? {
            return Ok(());
        }
        let lost = async {
            match (&repository, term) {
                (Some(key), Some(Some(term))) => self.machine.leases().lost(key, term).await,
                (Some(_), _) => {}
                (None, _) => std::future::pending().await,
            }
        };
        let _paid = (row.effect.needs().again == Again::Charged).then(|| self.effects.paid.one());
        let began = Instant::now();
        let kind = row.effect.kind();
        let called_off = async {
            if row.effect.needs().ends_with_task { calloff.cancelled().await } else { std::future::pending().await }
        };
        let performed = async {
            barrier?;
            // Boxed, because the largest future is too large to be moved by value.
            let work =
                cut::within(self.cut.as_ref(), row, Box::pin(self.effects.perform(&task, row, self.machine.as_ref())));
            caught(kind, work).await.unwrap_or_else(|panic| Err(self.panicked(row, &panic)))
        };
        let result = tokio::select! {
            result = performed => result,
            () = called_off => {
                tracing::info!(task = row.task.0, effect = row.key, "called off: the task has ended");
                return Ok(());
            }
            () = lost => {
                tracing::warn!(task = row.task.0, effect = row.key, repository, "broken off: another host may work for its repository");
                return Ok(());
            }
        };
        metrics::histogram!("caisson_effect_seconds", "kind" => kind).record(began.elapsed().as_secs_f64());
        if !matches!(result, Err(Trouble::Doubtful { .. })) {
            self.refusals.forget(&row.id);
        }
        let closed = match result {
            Ok(input) => self.close(row, input, false).await,
            Err(Trouble::Failed(failure)) => self.failed(row, failure).await,
            Err(Trouble::Later { sentence, after_ms }) => return self.later(row, &sentence, after_ms).await,
            Err(Trouble::Doubtful { denial, sentence }) => return self.denied(&task, row, (denial, sentence)).await,
            Err(Trouble::Moved { sentence }) => return self.redirected(&task, row, sentence).await,
        };
        cut::at(self.cut.as_ref(), row, Boundary::Closed).await;
        closed
    }

    /// Retries at once only if the repository was renamed, because a permanent redirect (to https, to a login) would be retried without
    /// end.
    async fn redirected(&self, task: &Task, row: &EffectRow, sentence: String) -> Result<(), StoreError> {
        match self.effects.repositories.find_again(task).await {
            Ok(true) => self.later(row, &sentence, Some(0)).await,
            Ok(false) | Err(Trouble::Moved { .. }) => {
                let stays = "the repository was not renamed; set `forge.url` to the address at which the forge answers without a redirect";
                self.later(row, &format!("{sentence}; {stays}"), None).await
            }
            Err(Trouble::Later { .. } | Trouble::Doubtful { .. } | Trouble::Failed(_)) => {
                tracing::warn!(task = row.task.0, "its repository was not found again");
                self.later(row, &sentence, None).await
            }
        }
    }

    async fn failed(&self, row: &EffectRow, failure: Failure) -> Result<(), StoreError> {
        // A text that cannot be posted does not stop the work.
        if row.effect.queue() == Queue::Talk {
            tracing::warn!(task = row.task.0, effect = row.key, ?failure, "not said");
            let input = not_merged(&row.effect, &failure).unwrap_or(Input::Settled);
            return self.close(row, input, true).await;
        }
        tracing::warn!(task = row.task.0, effect = row.key, ?failure, "an effect failed for good");
        let input = Input::EffectFailed { effect: row.key.clone(), failure };
        self.close(row, input, true).await
    }

    /// A denial counts once it is certain; a text for people is then postponed, unless its thread is gone.
    async fn denied(
        &self,
        task: &Task,
        row: &EffectRow,
        (denial, sentence): (Denial, String),
    ) -> Result<(), StoreError> {
        if !self.effects.threads.accounts.forge_answers().await {
            self.refusals.forget(&row.id);
            return self.later(row, &sentence, None).await;
        }
        let certain = self.refusals.heard(&row.id);
        match certain {
            false => self.later(row, &sentence, Some(DENIED_WAIT_MS)).await,
            // Of one text, a thread that is gone is the end; a state may have to be shown once it is back.
            true if row.effect.needs().set_aside && (denial != Denial::Missing || is_status(row)) => {
                self.set_aside(row, sentence).await
            }
            true => {
                self.refusals.forget(&row.id);
                let sentence = self.effects.repositories.or_archived(task, sentence).await;
                self.failed(row, Failure::Blocked { sentence }).await
            }
        }
    }

    /// Postpones a text, so that a blocked user or a locked thread does not hold up labels, statuses and pull requests.
    async fn set_aside(&self, row: &EffectRow, sentence: String) -> Result<(), StoreError> {
        let times = if is_status(row) { row.aside.min(MOST_STATUS_ASIDE) } else { row.aside };
        let Some(wait) = aside_ms(times) else {
            self.refusals.forget(&row.id);
            return self.failed(row, Failure::Blocked { sentence }).await;
        };
        tracing::warn!(
            task = row.task.0,
            effect = row.key,
            wait_ms = wait,
            sentence,
            "set aside: the forge forbids it"
        );
        self.machine.store().effect_aside(self.begun(row), now() + wait, &sentence).await
    }

    /// A panic may be temporary; after some tries a person decides.
    fn panicked(&self, row: &EffectRow, panic: &str) -> Trouble {
        self.works.set_wrong(&work(row.task, row.effect.queue()), format!("{} panicked: {panic}", row.key));
        let sentence = "the bot itself failed while it did this (a panic; its log says where)";
        match row.failures + 1 < PARK_AFTER {
            true => Trouble::later(sentence),
            false => Trouble::blocked(format!("{sentence}, {PARK_AFTER} times; `/resume` tries it again")),
        }
    }

    async fn close(&self, row: &EffectRow, input: Input, failed: bool) -> Result<(), StoreError> {
        let key = format!("effect:{}:{}#{}", row.task, row.key, row.tries + 1);
        self.machine.feed(row.task, &key, input, Some(Close { effect: row.id, failed })).await?;
        if row.failures >= TELL_AFTER && row.effect.queue() != Queue::Talk {
            // What it waited for is over, and there may be no event that shows it.
            self.tell_trouble(row, "over").await?;
        }
        self.works.well(&work(row.task, row.effect.queue()));
        Ok(())
    }

    fn begun(&self, row: &EffectRow) -> Begun {
        Begun { id: row.id, epoch: self.machine.epoch() }
    }

    /// Postpones an effect after a temporary failure, which the status comment shows once it lasts.
    async fn later(&self, row: &EffectRow, sentence: &str, after_ms: Option<u64>) -> Result<(), StoreError> {
        let wait = wait_ms(row.failures, after_ms);
        tracing::warn!(
            task = row.task.0,
            effect = row.key,
            failures = row.failures + 1,
            wait_ms = wait,
            sentence,
            "will be tried again"
        );
        self.machine.store().effect_later(self.begun(row), now() + wait, sentence).await?;
        // Again ever more rarely, because an edit that was under way the first time does not show it.
        let failures = row.failures + 1;
        if failures >= TELL_AFTER && failures & (failures - 1) == 0 && row.effect.queue() != Queue::Talk {
            self.tell_trouble(row, sentence).await?;
        }
        Ok(())
    }

    /// Has the status comment show what a step waits for, or that it no longer does.
    async fn tell_trouble(&self, row: &EffectRow, sentence: &str) -> Result<(), StoreError> {
        let notice = Notice::Trouble { sentence: sentence.to_owned() };
        let key = format!("trouble:{}:{}#{}:{}", row.task, row.key, row.tries, row.failures);
        self.machine.feed(row.task, &key, Input::Noticed { notice }, None).await.map(drop)
    }
}

fn is_status(row: &EffectRow) -> bool {
    matches!(row.effect, Effect::StatusComment)
}

/// A queue's name in what `/readyz` says.
fn work(task: TaskId, queue: Queue) -> String {
    format!("task {task}, {queue:?}")
}

#[cfg(test)]
mod tests {
    use super::{aside_ms, due_in, pause_after, wait_ms};

    #[test]
    fn a_pause_ends_in_time_whatever_became_of_the_clock() {
        let last = 1_800_000_000_000;
        let rests = [last, last + 4_000, last + 10_000, last + 99_000].map(|now| pause_after(last, now, 10_000));
        assert_eq!(rests, [10_000, 6_000, 0, 0]);
        assert_eq!(pause_after(last, last - 3_600_000, 10_000), 0, "set back");
        assert_eq!(pause_after(i64::MAX, 0, 10_000), 0);
    }

    #[test]
    fn a_clock_that_was_set_back_makes_nothing_wait() {
        let now = 1_800_000_000_000;
        let waits = [now - 1, now, now + 500, now + 60_000].map(|at| due_in(at, now, 0));
        assert_eq!(waits, [0, 0, 500, 60_000]);
        for back_ms in [3_600_000, 365 * 24 * 3_600_000] {
            assert_eq!(due_in(now + 500, now - back_ms, 0), 0);
            assert_eq!(due_in(now + 500, now + back_ms, 0), 0);
        }
    }

    #[test]
    fn what_is_forbidden_waits_long_and_is_given_up_within_days() {
        let waits: Vec<i64> = (0..).map_while(aside_ms).collect();
        assert!(waits.is_sorted() && waits[0] == 10_000, "{waits:?}");
        assert!((2..5).contains(&(waits.iter().sum::<i64>() / (24 * 3_600_000))), "{waits:?}");
        assert_eq!([due_in(3_600_000, 0, 1), due_in(3_600_000, 0, 0), due_in(i64::MAX, 0, 1)], [3_600_000, 0, 0]);
    }

    #[test]
    fn the_wait_doubles_with_each_failure_and_stays_within_bounds() {
        let waits: Vec<_> = [0, 1, 2, 6, 7, 1000].into_iter().map(|failures| wait_ms(failures, None)).collect();
        assert_eq!(waits, [500, 1_000, 2_000, 32_000, 60_000, 60_000]);
        assert_eq!((wait_ms(5, Some(2_000)), wait_ms(0, Some(0)), wait_ms(0, Some(u64::MAX))), (2_000, 50, 60_000));
    }
}
