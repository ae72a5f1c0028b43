//! One answer: the model's, or what the host says in its place.

use domain::{CallRequest, Input, Usage};

/// A complete answer with its charge.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub turn: u32,
    pub text: String,
    pub calls: Vec<CallRequest>,
    pub usage: Usage,
    pub micro_usd: u64,
    pub duration_ms: u64,
    pub model: String,
}

impl Answer {
    pub fn into_input(self) -> Input {
        let Answer { turn, text, calls, usage, micro_usd, duration_ms, model } = self;
        Input::ModelAnswered { turn, text, calls, usage, micro_usd, duration_ms, model }
    }
}
