//! One try at one task: the issue with `/fix`, then approvals by policy, until the task ends or is stopped.
//!
//! Owns the policy (every review is approved, up to a number) and the clock: the limit is on the task's own time, without waits for a
//! person. Reads the store as `caisson task list` does; acts as a person through the forge. Tests: below (the clock), `tests/eval.rs`.

use super::own::bot::Bot;
use super::own::person::Person;
use crate::forge::{RepoRef, Review};
use crate::store::Store;
use anyhow::{Context, Result, bail};
use domain::{Commit, End, Event, PauseReason, Queue, State, Task, TaskId};
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(150);
/// Time limit from the issue to the task.
const BEGIN: Duration = Duration::from_secs(60);
/// Time limit for an approval to be taken up.
const TAKEN: Duration = Duration::from_secs(90);
/// The login of the working account by `caisson setup`.
const BOT: &str = "caisson";

/// End of a try that was stopped by its time limit.
pub const LIMIT: &str = "limit";

/// Limits of a try.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    pub reviews: u32,
    pub limit: Duration,
}

/// How a try ended.
pub struct TryResult {
    /// Name of the task's state, or `limit` or `reviews`.
    pub end: String,
    pub reason: String,
    /// Why the step that it was at was put off, if it was: its server or the engine is unavailable.
    pub trouble: Option<String>,
    /// The agent's last commit on the forge.
    pub commit: Option<Commit>,
    pub log: Vec<(i64, Event)>,
    pub own: Duration,
    pub waiting: Duration,
}

/// The task's own time, and the time that it waited.
struct Clock {
    last: Instant,
    own: Duration,
    waiting: Duration,
}

impl Clock {
    fn new(now: Instant) -> Clock {
        Clock { last: now, own: Duration::ZERO, waiting: Duration::ZERO }
    }

    fn tick(&mut self, now: Instant, waits: bool) {
        let passed = now.saturating_duration_since(self.last);
        self.last = now;
        *(if waits { &mut self.waiting } else { &mut self.own }) += passed;
    }
}

/// The environment of a try.
pub struct TryEnvironment<'a> {
    pub bot: &'a mut Bot,
    pub person: &'a Person,
    pub repo: RepoRef,
    /// The repository's key.
    pub key: &'a str,
}

impl TryEnvironment<'_> {
    pub async fn drive(&mut self, title: &str, body: &str, policy: Policy) -> Result<TryResult> {
        let state = self.bot.state();
        let store = Store::look(&state).await?.context("the bot has no store")?;
        let (issue, _) = self.person.open_issue(title, &format!("{body}\n\n/fix\n")).await?;
        let id = self.begun(&store, issue).await?;
        let mut clock = Clock::new(Instant::now());
        let ended = self.follow(&store, id, policy, &mut clock).await;
        let next = store.next_effect(id, Queue::Work).await;
        // Nobody will answer whatever it waits for, so it is stopped before the next try, which the bot would not begin beside it.
        let _ = self.bot.say(&["task", "stop", &id.to_string()]);
        let (end, reason) = ended?;
        let trouble = next?.and_then(|row| row.trouble);
        let log = store.log(id).await?;
        let task = Task::fold(id, log.iter().map(|(_, event)| event));
        let commit = task.pushed.filter(|commit| Some(commit) != task.base.as_ref());
        Ok(TryResult { end, reason, trouble, commit, log, own: clock.own, waiting: clock.waiting })
    }

    async fn begun(&mut self, store: &Store, issue: u64) -> Result<TaskId> {
        let end = Instant::now() + BEGIN;
        loop {
            self.bot.alive()?;
            let rows = store.tasks(1000).await?;
            if let Some(row) = rows.iter().find(|row| row.repository == self.key && row.issue == issue as i64) {
                return Ok(TaskId(row.id));
            }
            if Instant::now() > end {
                bail!("the bot did not take the issue up within {} s", BEGIN.as_secs());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Returns how it ended, and why.
    async fn follow(
        &mut self,
        store: &Store,
        id: TaskId,
        policy: Policy,
        clock: &mut Clock,
    ) -> Result<(String, String)> {
        let (mut approved, mut answered): (u32, Option<(i64, Instant)>) = (0, None);
        loop {
            self.bot.alive()?;
            let task = store.task(id).await?;
            if let Some(reason) = over(&task.state) {
                return Ok((task.state.name().to_owned(), reason));
            }
            let waits = waits(&task.state);
            clock.tick(Instant::now(), waits);
            if waits && task.pull.is_none() {
                return Ok((
                    task.state.name().to_owned(),
                    "it asked for a review without having changed anything".to_owned(),
                ));
            }
            if clock.own > policy.limit {
                return Ok((LIMIT.to_owned(), format!("not done within {} s of its own", policy.limit.as_secs())));
            }
            if let Some((_, since)) = answered.filter(|(review, since)| {
                waits && since.elapsed() > TAKEN && task.checkpoint().is_none_or(|it| it.review == *review)
            }) {
                let seconds = since.elapsed().as_secs();
                return Ok((task.state.name().to_owned(), format!("an approval was not taken up in {seconds} s")));
            }
            let review = if waits { self.review(&task, answered.map(|(review, _)| review)).await? } else { None };
            if let (Some((pull, review)), true) = (&review, approved < policy.reviews) {
                self.person.approve(*pull, review).await?;
                (approved, answered) = (approved + 1, Some((review.id, Instant::now())));
            } else if review.is_some() {
                return Ok(("reviews".to_owned(), format!("more than {} reviews were asked for", policy.reviews)));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The review that waits for an answer, if it has none yet.
    async fn review(&self, task: &Task, answered: Option<i64>) -> Result<Option<(u64, Review)>> {
        let (Some(pull), Some(checkpoint)) = (task.pull, task.checkpoint()) else { return Ok(None) };
        if Some(checkpoint.review) == answered {
            return Ok(None);
        }
        let reviews = self.person.reviews(&self.repo, pull, BOT).await?;
        Ok(reviews.into_iter().find(|review| review.id == checkpoint.review).map(|review| (pull, review)))
    }
}

fn waits(state: &State) -> bool {
    matches!(state, State::AwaitingReview { .. } | State::FinalReview { .. })
}

/// Whether nothing more will happen without a person who does more than approve; with the reason, if that is not a success.
fn over(state: &State) -> Option<String> {
    match state {
        State::Approved { .. } => Some(String::new()),
        State::Paused { reason, .. } => Some(paused(reason)),
        State::Asking { .. } => Some("a person was asked".to_owned()),
        State::Ended { end } => Some(ended(end)),
        State::Queued
        | State::Preparing
        | State::Running
        | State::Publishing { .. }
        | State::AwaitingReview { .. }
        | State::Verifying { .. }
        | State::AwaitingCi { .. }
        | State::FinalReview { .. } => None,
    }
}

fn paused(reason: &PauseReason) -> String {
    match reason {
        PauseReason::DaySpent { sentence } => format!("the day's money is used up: {sentence}"),
        PauseReason::MonthSpent { sentence } => format!("the month's money is used up: {sentence}"),
        PauseReason::Budget { what } => format!("its budget is used up: {what}"),
        PauseReason::Asked { login } => format!("{login} paused it"),
        PauseReason::ContextFull { .. } => "the conversation no longer fits into the model's window".to_owned(),
        PauseReason::Stuck { sentence }
        | PauseReason::Exhausted { sentence, .. }
        | PauseReason::Blocked { sentence } => sentence.clone(),
    }
}

fn ended(end: &End) -> String {
    match end {
        End::Delivered | End::Answered => String::new(),
        End::Declined => "it was declined".to_owned(),
        End::Cancelled { by, .. } => format!("it was stopped by {by}"),
        End::Failed { why } => why.clone(),
        End::Expired => "it expired".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_a_person_is_no_time_of_the_task() {
        let begin = Instant::now();
        let at = |s: u64| begin + Duration::from_secs(s);
        let mut clock = Clock::new(begin);
        clock.tick(at(10), false);
        clock.tick(at(70), true);
        clock.tick(at(75), false);
        assert_eq!((clock.own.as_secs(), clock.waiting.as_secs()), (15, 60));
    }

    #[test]
    fn a_pause_says_why_and_work_goes_on() {
        let stuck = PauseReason::Stuck { sentence: "five answers without a call".to_owned() };
        let paused = State::Paused { reason: stuck, from: Box::new(State::Running) };
        assert_eq!(over(&paused).as_deref(), Some("five answers without a call"));
        assert_eq!(over(&State::Running), None);
    }
}
