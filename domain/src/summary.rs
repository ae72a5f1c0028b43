//! Summaries by a model: of older turns of a conversation, or of a file that is too long to be shown.

use crate::Usage;
use serde::{Deserialize, Serialize};

/// Who may have written a text; the lowest trust first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Anybody.
    None,
    /// People with write access to the base branch, because it is a file there.
    Base,
    /// A person who may write to the repository's code, checked when the words were taken.
    Write,
}

/// What a summary stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum SummaryOf {
    /// The conversation's turns up to one, with all that an earlier summary covered.
    Turns {
        /// The last of them.
        upto: u32,
        /// Number of the first action among them; 0 where there is none.
        from: u32,
        /// Number of the last action among them; 0 where there is none.
        to: u32,
    },
    /// Lines of a file that [`crate::Action::Summarize`] asked for.
    Lines {
        /// Number of the action.
        number: u32,
        /// 0 for a summary of the file's lines; above it, of summaries of the level below.
        level: u32,
        /// The first line, counted from 1.
        from: u64,
        /// The last line, included.
        to: u64,
        /// Number of lines of the whole file.
        total: u64,
    },
}

/// A summary with what it cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelSummary {
    /// What it replaces.
    pub of: SummaryOf,
    /// What the model said; empty where it answered nothing, or nothing that could be used. Untrusted.
    pub text: String,
    /// The lowest trust of its sources; the summary itself is never trusted more.
    pub trust: Trust,
    /// Tokens of the call.
    pub usage: Usage,
    /// What the call cost, in millionths of a US dollar.
    pub micro_usd: u64,
    /// Milliseconds of the call, with its retries.
    pub duration_ms: u64,
    /// The model's label as reviews show it.
    pub model: String,
}
