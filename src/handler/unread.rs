//! What happens when a thread cannot be read: it is read again later, people are told where that is possible, and a task is ended or paused
//! by rule. Other threads are not affected.
//!
//! The rule: a refusal by the forge counts once it is certain (`forge::Refusals`). An issue or pull request that is gone while others of
//! its kind exist then ends its task; everything else (no right to it, too long, all issues switched off, the whole repository) pauses it
//! until a person resumes it.
//! Tests: `tests/stories/unread.rs`.

use super::hidden::Failing;
use super::reader::Reader;
use crate::config::process::Repository;
use crate::forge::ForgeError;
use crate::thread::{Hidden, Part};
use crate::trouble::Trouble;
use domain::{Failure, Input, PauseReason, State, TaskId};
use std::time::{Duration, Instant};

/// State of the repository of a part that was not found.
enum ParentState {
    Answers,
    /// It is unknown whether the part exists; with the reason and what a person can do.
    Refused(String),
}

impl Reader {
    /// Threads that could not be read before a restart, from the store.
    pub(super) async fn unread_before(&self) -> Result<Vec<(String, u64)>, Trouble> {
        let rows = self.store.unread().await?;
        let mut all = self.unread.all();
        for row in &rows {
            all.entry(row.clone()).or_insert(Failing { since: Instant::now(), wait: Duration::ZERO, stored: true });
        }
        Ok(rows)
    }

    /// Remembers a failed reading until it succeeds, and forgets it then.
    pub(super) async fn note(&self, key: &str, number: u64, done: &Result<(), Trouble>) -> Result<(), Trouble> {
        let what = (key.to_owned(), number);
        match done {
            Ok(()) => {
                self.forget(&what);
                let known = self.unread.all().remove(&what);
                if known.is_some_and(|it| it.stored) {
                    self.store.read_at_last(key, number).await?;
                }
            }
            Err(_) => {
                let fresh = Failing { since: Instant::now(), wait: Duration::ZERO, stored: true };
                let new = !self.unread.all().contains_key(&what);
                if new {
                    self.store.could_not_read(key, number, crate::clock::now()).await?;
                    self.unread.all().insert(what, fresh);
                }
            }
        }
        Ok(())
    }

    /// Judges the hidden parts of a task's thread. Always returns an error, because the thread has to be read again.
    pub(super) async fn hidden(&self, entry: &Repository, number: u64, id: TaskId, hidden: &[Hidden]) -> Trouble {
        let Some(first) = hidden.first() else { return Trouble::later("nothing was hidden") };
        let sentence = format!("{} cannot be read: {}", first.what, first.error);
        let what = (entry.key.clone(), number);
        let refused = self.certain(entry, number).await;
        let missing = hidden.iter().find(|it| matches!(it.error, ForgeError::NotFound(_)));
        let above = match missing {
            Some(it) => match self.above(entry, it.what).await {
                Ok(above) => above,
                Err(error) => {
                    self.gone.forget(&what);
                    return error.into();
                }
            },
            None => ParentState::Refused(advice(first)),
        };
        let input = match (above, missing) {
            (ParentState::Answers, Some(it)) if self.gone.heard(&what) && refused => {
                let why = format!("{} is not there any more", it.what);
                Input::EffectFailed { effect: "reading".to_owned(), failure: Failure::Fatal { why } }
            }
            (ParentState::Answers, _) => return Trouble::later(sentence),
            (ParentState::Refused(why), _) => {
                self.gone.forget(&what);
                if !refused {
                    return Trouble::later(sentence);
                }
                Input::PauseAsked { reason: PauseReason::Blocked { sentence: why } }
            }
        };
        let fed = self.end_or_pause(id, input).await;
        self.unread.put_off(&what);
        fed.err().unwrap_or_else(|| Trouble::later(sentence))
    }

    /// As [`Reader::hidden`], for a reading that failed as a whole; `id` is the task that it is about, if there is one.
    pub(super) async fn refused(
        &self,
        entry: &Repository,
        number: u64,
        id: Option<TaskId>,
        trouble: Trouble,
    ) -> Result<(), Trouble> {
        let sentence = match &trouble {
            Trouble::Later { .. } | Trouble::Moved { .. } => return Err(trouble),
            Trouble::Doubtful { sentence, .. } => sentence.clone(),
            Trouble::Failed(Failure::Blocked { sentence }) => sentence.clone(),
            Trouble::Failed(Failure::ContextFull { .. } | Failure::SandboxGone { .. } | Failure::Fatal { .. }) => {
                return Err(trouble);
            }
        };
        if !self.certain(entry, number).await {
            return Err(trouble);
        }
        let Some(id) = id else {
            // No task is at work there, so the next delivery about it causes the next reading.
            tracing::warn!(key = entry.key, number, sentence, "given up: it cannot be read");
            return Ok(());
        };
        let sentence = format!("the bot cannot read what is said to this task: {sentence}");
        self.end_or_pause(id, Input::PauseAsked { reason: PauseReason::Blocked { sentence } }).await?;
        self.unread.put_off(&(entry.key.clone(), number));
        Err(trouble)
    }

    /// Whether a refusal counts by now.
    async fn certain(&self, entry: &Repository, number: u64) -> bool {
        let what = (entry.key.clone(), number);
        if self.threads.accounts.forge_answers().await {
            return self.refusals.heard(&what);
        }
        self.forget(&what);
        false
    }

    fn forget(&self, what: &(String, u64)) {
        self.refusals.forget(what);
        self.gone.forget(what);
    }

    /// A part is gone only if its repository can still be seen by its id, and others of its kind can be listed: after a loss of rights, or
    /// with issues switched off, the part is not found either.
    async fn above(&self, entry: &Repository, what: Part) -> Result<ParentState, ForgeError> {
        match self.forge.locate(entry.id).await {
            Ok(_) => {}
            Err(ForgeError::NotFound(_) | ForgeError::Forbidden(_)) => {
                return Ok(ParentState::Refused(format!(
                    "the repository {} was deleted, or the bot may not see it any more; if it is gone, end the task with `caisson task stop`",
                    entry.key
                )));
            }
            Err(other) => return Err(other),
        }
        let (pulls, kind) = match what {
            Part::Issue(_) => (false, "issues"),
            Part::Pull(_) => (true, "pull requests"),
        };
        match self.forge.lists(&self.addresses.at(entry)?, pulls).await {
            Ok(()) => Ok(ParentState::Answers),
            Err(ForgeError::NotFound(_) | ForgeError::Forbidden(_)) => Ok(ParentState::Refused(format!(
                "{what} cannot be read: the {kind} of {} are switched off, or the bot may not read them any more",
                entry.key
            ))),
            Err(other) => Err(other),
        }
    }

    async fn end_or_pause(&self, id: TaskId, input: Input) -> Result<(), Trouble> {
        let task = self.machine.look(id).await?;
        let pauses = matches!(input, Input::PauseAsked { .. });
        let fits = match task.state {
            State::Ended { .. } => false,
            State::Paused { .. } | State::Approved { .. } => !pauses,
            _ => true,
        };
        if fits {
            self.machine.feed(id, &format!("unread:{id}:{}", task.seq), input, None).await?;
        }
        Ok(())
    }
}

/// What a person can do about a thread that exists and cannot be read.
fn advice(hidden: &Hidden) -> String {
    match hidden.error {
        ForgeError::TooLarge(_) => format!(
            "the thread of {} is too long to be read ({}), so no word in it is heard; to end the task, close the issue or its pull request, or use `caisson task stop`; to go on, delete what is too much there",
            hidden.what, hidden.error
        ),
        _ => format!("{} cannot be read by the bot ({}); give its account the right to it", hidden.what, hidden.error),
    }
}
