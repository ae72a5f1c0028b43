//! The states of a task, with the reasons for pauses and ends.

use crate::{Commit, Millis, Resource, Verdict};
use serde::{Deserialize, Serialize};

/// Why a checkpoint is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The actions between two checkpoints are used up, or the conversation no longer fits and restarts.
    Checkpoint,
    /// The work was merged onto a newer base without conflicts.
    Rebased,
    /// The agent said that it is done: the captured commit is verified before its review is posted.
    Done,
}

/// Why a task is paused until a person resumes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum PauseReason {
    /// It has used what it was granted; only a grant by `/budget` lets it go on.
    Budget {
        /// The kind that is used up: `money`, `tokens`, `actions` or `time`.
        what: String,
    },
    /// All tasks together, or those of its repository, reached their daily limit.
    DaySpent {
        /// Which limit was reached, and when it resets.
        sentence: String,
    },
    /// As [`PauseReason::DaySpent`], for one calendar month.
    MonthSpent {
        /// Which limit was reached, and when it resets.
        sentence: String,
    },
    /// It makes no progress: no usable tool calls, no answer that could be stored, or a sandbox that is lost too often.
    Stuck {
        /// What happened, without a full stop.
        sentence: String,
    },
    /// The conversation no longer fits into the model; `/resume` begins a new one.
    ContextFull {
        /// The window that is configured for the model, in tokens, its answer included; none where it was not recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context_tokens: Option<u64>,
    },
    /// Its sandbox ran out of a resource, and would again; the sentence names the amount.
    Exhausted {
        /// What it ran out of.
        what: Resource,
        /// What happened.
        sentence: String,
    },
    /// A person paused it.
    Asked {
        /// Login of that person.
        login: String,
    },
    /// Something outside failed for good (a key, an image, a branch that moved); the sentence says what to do.
    Blocked {
        /// What has to be done or what is wrong.
        sentence: String,
    },
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum End {
    /// The approved commit was fetched, or the pull request was merged.
    Delivered,
    /// Its answer was posted, and nothing follows one of its kind.
    Answered,
    /// The issue or the pull request was closed without a delivery.
    Declined,
    /// A person ended it.
    Cancelled {
        /// Login of whoever ended it; `operator` for an order from the command line.
        by: String,
        /// The forge's number of the text that ended it; 0 for an order from the command line, and in logs from before it was noted.
        #[serde(default, skip_serializing_if = "is_zero")]
        number: i64,
    },
    /// Something went wrong that nothing can mend.
    Failed {
        /// What went wrong, as a sentence; it may hold untrusted words.
        why: String,
    },
    /// Nothing happened to it for 30 days.
    Expired,
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// How far the sandbox of a waiting task was put away. Freezing is no value here, because every sandbox of a waiting task is frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Suspension {
    /// No process, no memory; its files stay on the disk.
    Stopped,
    /// Removed, its subnet free for others; made anew from the last commit when work goes on.
    Evicted,
}

/// A question that was posted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionPosted {
    /// The forge's id of the comment, which is its number in the forge's order.
    pub number: i64,
    /// Unix milliseconds at which the bot recorded that it was posted.
    pub at: Millis,
}

/// What a waiting question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum QuestionSubject {
    /// A question of the agent, in [`crate::Task::question`].
    Question {
        /// Turn whose call asks it.
        turn: u32,
        /// Place of the call in its turn, counted from 0.
        index: u32,
    },
    /// Whether a started action may run; the reason is in [`crate::Task::permission`].
    Permission {
        /// Number of the action within the task.
        number: u32,
    },
}

/// State of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// Queued for a slot, before its first work or to go on.
    #[default]
    Queued,
    /// Its sandbox is being made.
    Preparing,
    /// The agent works.
    Running,
    /// A checkpoint's tree is captured, pushed and posted, or a read-only task's answer is posted.
    Publishing {
        /// Number of the checkpoint that is being published.
        n: u32,
        /// What led to the publication.
        why: Why,
    },
    /// A checkpoint or answer waits for a decision.
    AwaitingReview {
        /// Number of the checkpoint or answer that waits for a decision.
        n: u32,
        /// The commit to approve; none where there is no diff, as for a refused tree or a read-only task's answer.
        commit: Option<Commit>,
    },
    /// A question waits for the answer of a person.
    Asking {
        /// What it is about.
        about: QuestionSubject,
        /// Number of the question's comment in the forge's order; none before it is posted.
        number: Option<i64>,
    },
    /// The bot runs the project's tests on the commit, then posts the review.
    Verifying {
        /// Number of the checkpoint that is being published.
        n: u32,
        /// The commit that is tested.
        commit: Commit,
    },
    /// The bot's own checks are done, and the forge's CI on the commit is waited for; takes no slot.
    AwaitingCi {
        /// Number of the checkpoint that is being published.
        n: u32,
        /// The commit whose statuses are read.
        commit: Commit,
    },
    /// The final review waits for a decision.
    FinalReview {
        /// Number of the final checkpoint.
        n: u32,
        /// The commit to approve.
        commit: Commit,
        /// What the bot's own test run gave.
        verdict: Verdict,
    },
    /// The final review was approved: the commit waits to be fetched or merged.
    Approved {
        /// The approved commit.
        commit: Commit,
        /// What the bot's own test run gave on it.
        verdict: Verdict,
    },
    /// It stands still until a person lets it go on.
    Paused {
        /// Why it is paused.
        reason: PauseReason,
        /// The state to which the task returns.
        from: Box<State>,
    },
    /// It is over: no input changes this state any more.
    Ended {
        /// How it ended.
        end: End,
    },
}

impl State {
    /// Name of [`State::AwaitingCi`].
    pub const AWAITING_CI: &'static str = "awaiting-ci";

    /// The state's name in labels, the store and the command line; an ended task has the name of its end.
    pub fn name(&self) -> &'static str {
        match self {
            State::Queued => "queued",
            State::Preparing => "preparing",
            State::Running => "running",
            State::Publishing { .. } => "publishing",
            State::AwaitingReview { .. } => "awaiting-review",
            State::Asking { .. } => "asking",
            State::Verifying { .. } => "verifying",
            State::AwaitingCi { .. } => State::AWAITING_CI,
            State::FinalReview { .. } => "final-review",
            State::Approved { .. } => "approved",
            State::Paused { .. } => "paused",
            State::Ended { end } => match end {
                End::Delivered => "delivered",
                End::Answered => "answered",
                End::Declined => "declined",
                End::Cancelled { .. } => "cancelled",
                End::Failed { .. } => "failed",
                End::Expired => "expired",
            },
        }
    }

    /// Whether the task is over.
    pub fn ended(&self) -> bool {
        matches!(self, State::Ended { .. })
    }

    /// Whether checkpoint `n` is being published.
    pub(crate) fn publishes(&self, n: u32) -> bool {
        matches!(self, State::Publishing { n: now, .. } | State::Verifying { n: now, .. } if *now == n)
    }

    /// Whether it takes one of the `max_tasks` slots because work goes on without a person.
    pub fn busy(&self) -> bool {
        matches!(self, State::Preparing | State::Running | State::Publishing { .. } | State::Verifying { .. })
    }
}
