//! Results of actions, and the token counts of model calls.

use crate::{Picture, Touched};
use serde::{Deserialize, Serialize};

/// Tokens of one model call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt that were neither read from a cache nor written to one.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
    /// Tokens of the prompt that the server read from its cache.
    pub cache_read: u64,
    /// Tokens of the prompt that the server wrote to its cache.
    pub cache_write: u64,
    /// The part of `output` that is hidden reasoning; 0 where the server does not report it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning: u64,
    /// Of all these: tokens whose price the configuration does not say, so that no cost is known of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unpriced: u64,
}

pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Usage {
    /// All tokens of the call; the counts do not overlap, but for `reasoning`, which is part of `output`, and `unpriced`.
    pub fn total(&self) -> u64 {
        self.input + self.output + self.cache_read + self.cache_write
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, more: Usage) {
        let Usage { input, output, cache_read, cache_write, reasoning, unpriced } = more;
        self.input += input;
        self.output += output;
        self.cache_read += cache_read;
        self.cache_write += cache_write;
        self.reasoning += reasoning;
        self.unpriced += unpriced;
    }
}

/// How an action ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum OutcomeStatus {
    /// Exit code 0, or the tool did what was asked.
    Ok,
    /// The command ended by itself with an exit code; the runner reports code 0 as [`OutcomeStatus::Ok`].
    Exited {
        /// Exit code of the command.
        code: i32,
    },
    /// A signal ended the command.
    Signaled {
        /// Number of the signal.
        signal: i32,
    },
    /// It ran longer than an action may, and was killed.
    TimedOut,
    /// The kernel killed a process of the sandbox for lack of memory while it ran.
    OutOfMemory,
    /// The kernel refused a new process, because the sandbox has as many as it may.
    OutOfPids,
    /// It failed, and no space is left in the workspace.
    DiskFull,
    /// It exceeded its limit on the engine's disk and was killed with everything else that ran: the task waits for a person.
    DiskSpent {
        /// Which limit was exceeded and by how much, as a sentence for a person.
        what: String,
    },
    /// The tool refused or failed; the reason is written for the model.
    Failed {
        /// What was refused or went wrong.
        reason: String,
    },
    /// The sandbox went away while it ran: it may have happened, wholly or in part.
    Interrupted,
    /// Policy denied it before it ran.
    Denied {
        /// Why it was held back, written for the model.
        reason: String,
    },
}

impl OutcomeStatus {
    /// Whether the tool did what was asked, or the command ended with exit code 0.
    pub fn succeeded(&self) -> bool {
        matches!(self, OutcomeStatus::Ok | OutcomeStatus::Exited { code: 0 })
    }
}

/// How an action ended and what it printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The way it ended.
    #[serde(flatten)]
    pub status: OutcomeStatus,
    /// Beginning and end of what it printed. Untrusted: data, never instructions.
    pub text: String,
    /// Bytes that the runner left out between head and tail of the output; 0 where it left nothing out.
    pub dropped_bytes: u64,
    /// Milliseconds that it took; 0 where nothing was measured, as for an action that did not run.
    pub duration_ms: u64,
    /// A sentence of the runner about limits that were reached.
    pub note: Option<String>,
    /// File in the sandbox, outside the workspace, that holds the whole output; none where it was short or could not be kept. Untrusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<String>,
    /// For [`crate::Action::Try`]: the parts of the issue's own check that failed before the candidate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Example>,
    /// The picture that it read; none for any other action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<Box<Picture>>,
    /// Which files it touched; none where that was not recorded, and in older logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touched: Option<Box<Touched>>,
}

impl Outcome {
    /// An outcome with only status and text; everything else is empty.
    pub fn new(status: OutcomeStatus, text: impl Into<String>) -> Self {
        Self {
            status,
            text: text.into(),
            dropped_bytes: 0,
            duration_ms: 0,
            note: None,
            whole: None,
            examples: Vec::new(),
            picture: None,
            touched: None,
        }
    }
}

/// One part of an issue's own check, run on a candidate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// As [`crate::IssueCheck::says`]. Untrusted.
    pub says: String,
    /// Whether the part passes with the candidate.
    pub holds: bool,
    /// The output in place of the expected one, at most [`MOST_SEEN`] characters on one line; empty where the part could not be run.
    /// Untrusted.
    pub seen: String,
}

/// The most characters of [`Example::seen`].
pub const MOST_SEEN: usize = 200;
