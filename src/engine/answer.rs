//! One answer: the model's, or what the host says in its place.

use domain::{CallRequest, Input, Usage};

/// Who spoke, where no model was asked.
pub const HOST: &str = "the host";

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

    /// What the host says in the model's place.
    pub fn of_the_host(turn: u32, calls: Vec<CallRequest>) -> Answer {
        Answer {
            turn,
            text: String::new(),
            calls,
            usage: Usage::default(),
            micro_usd: 0,
            duration_ms: 0,
            model: HOST.to_owned(),
        }
    }
}
