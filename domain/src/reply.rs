//! The answer of a model to a person's question.

use crate::Usage;
use serde::{Deserialize, Serialize};

/// What a model answered to a person's question, and what that cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// As in [`crate::Event::ReplyStarted`].
    pub number: i64,
    /// As in [`crate::Event::ReplyStarted`].
    pub call: u32,
    /// What it said; empty where there was no answer. Untrusted.
    pub text: String,
    /// Tokens of the call.
    pub usage: Usage,
    /// What the call cost, in millionths of a US dollar.
    pub micro_usd: u64,
    /// The model's label as reviews show it.
    pub model: String,
}
