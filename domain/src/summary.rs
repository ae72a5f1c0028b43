//! What a model told in short: older turns of a conversation, or a file that is longer than what can be shown.

use crate::Usage;
use serde::{Deserialize, Serialize};

/// Whose words a text is made of; the lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Anybody and anything.
    None,
    /// A file of the base branch: of whoever may write to it.
    Base,
    /// A person who may write to the repository's code, checked when the words were taken.
    Write,
}

/// What a summary stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum SummaryOf {
    /// The conversation's turns up to one, with all that an earlier summary stood for.
    Turns {
        /// The last of them.
        upto: u32,
        /// Number of the first action among them; 0 where there is none.
        from: u32,
        /// Number of the last action among them; 0 where there is none.
        to: u32,
    },
    /// Lines of a file that an action has told in short.
    Lines {
        /// Number of the action.
        number: u32,
        /// 0 for lines as they stand in the file; above it, for summaries of the level below.
        level: u32,
        /// The first line, counted from 1.
        from: u64,
        /// The last line.
        to: u64,
        /// Lines of the whole file.
        total: u64,
    },
}

/// A summary with what it cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelSummary {
    /// What it stands for.
    pub of: SummaryOf,
    /// What the model said; empty where it answered nothing, or nothing that could be used. Foreign.
    pub text: String,
    /// The lowest trust of what it was made from: it is data of that trust, whatever it says.
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
