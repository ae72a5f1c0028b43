//! What the log keeps about people's remarks: what the agent says of one, and that its author took one back. [`crate::Remarks`] makes states
//! of it.

use serde::{Deserialize, Serialize};

/// The most characters kept of an agent's words about a remark.
pub const LONGEST_REMARK_ANSWER: usize = 600;

/// What the agent says about a remark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemarkAnswer {
    /// Number of the remark.
    pub remark: u32,
    /// The agent's words for the person who remarked. Untrusted.
    pub text: String,
    /// Whether it says that its changes deal with the remark.
    pub addressed: bool,
}

/// A line of the old file on which a remark stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OldLine {
    /// Its number in the old file, from 1.
    pub line: u64,
    /// Its text, where the difference that the forge shows beside the remark removes it. Untrusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<String>,
}

/// A remark that its author took back, as the forge shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemarkWithdrawn {
    /// Number of the remark.
    pub remark: u32,
    /// What was seen.
    pub why: Withdrawal,
}

/// How a remark was taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Withdrawal {
    /// The text is gone: the comment or its review was deleted.
    Deleted,
    /// The review was dismissed.
    Dismissed,
    /// The conversation was resolved.
    Resolved,
}
