//! The states of a task (durability, "States").

use crate::{Commit, Resource, Verdict};
use serde::{Deserialize, Serialize};

/// Why a tree is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    Checkpoint,
    Done,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum PauseReason {
    Budget {
        what: String,
    },
    Stuck {
        sentence: String,
    },
    ContextFull,
    /// Its sandbox ran out of something, and would again: the sentence says of how much.
    Exhausted {
        what: Resource,
        sentence: String,
    },
    /// Something outside refused for good (a key, an image, a branch that moved): the sentence says what to do.
    Blocked {
        sentence: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum End {
    Delivered,
    Declined,
    Cancelled { by: String },
    Failed { why: String },
    Expired,
}

/// How far a sandbox was put away while its task waits. Frozen is no rung: every sandbox of a waiting task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shelf {
    /// No process, no memory; its files stay on the disk.
    Stopped,
    /// Removed, its berth free for others; made anew from the last commit when work goes on.
    Evicted,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    Queued,
    Preparing,
    Running,
    Publishing {
        n: u32,
        why: Why,
    },
    /// `commit` is none where there is no diff to approve: a refused tree, or a read-only task's answer.
    AwaitingReview {
        n: u32,
        commit: Option<Commit>,
    },
    Verifying {
        n: u32,
        commit: Commit,
    },
    FinalReview {
        n: u32,
        commit: Commit,
        verdict: Verdict,
    },
    Approved {
        commit: Commit,
        verdict: Verdict,
    },
    Paused {
        reason: PauseReason,
        from: Box<State>,
    },
    Ended {
        end: End,
    },
}

impl State {
    pub fn name(&self) -> &'static str {
        match self {
            State::Queued => "queued",
            State::Preparing => "preparing",
            State::Running => "running",
            State::Publishing { .. } => "publishing",
            State::AwaitingReview { .. } => "awaiting-review",
            State::Verifying { .. } => "verifying",
            State::FinalReview { .. } => "final-review",
            State::Approved { .. } => "approved",
            State::Paused { .. } => "paused",
            State::Ended { end } => match end {
                End::Delivered => "delivered",
                End::Declined => "declined",
                End::Cancelled { .. } => "cancelled",
                End::Failed { .. } => "failed",
                End::Expired => "expired",
            },
        }
    }

    pub fn ended(&self) -> bool {
        matches!(self, State::Ended { .. })
    }

    /// Whether it takes one of the `--max-tasks` places: work goes on without a person.
    pub fn busy(&self) -> bool {
        matches!(self, State::Preparing | State::Running | State::Publishing { .. } | State::Verifying { .. })
    }
}
