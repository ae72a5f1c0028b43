//! One answer: the model's, or one that the host gives in its place.

use domain::{CallRequest, Input, Usage};

/// Label of the model in answers of the host.
pub const HOST: &str = "the host";

/// A complete answer with its charge.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnAnswer {
    /// Number of the turn within its task, from 1.
    pub turn: u32,
    /// The text beside the calls, possibly empty. Foreign.
    pub text: String,
    /// Its calls, in order.
    pub calls: Vec<CallRequest>,
    /// Tokens as the server counted them, or our estimate where it counted none.
    pub usage: Usage,
    /// What it cost, in micro-dollars; 0 where the price is unknown, which `usage` says.
    pub micro_usd: u64,
    /// Milliseconds from the first request to the whole answer, retries and waits included.
    pub duration_ms: u64,
    /// The model's label, or "the host" where no model was asked.
    pub model: String,
    /// The answer in the vendor's own form, to be sent back; opaque.
    pub vendor: Option<Box<str>>,
}

impl TurnAnswer {
    /// The answer as an input of the task.
    pub fn into_input(self) -> Input {
        let TurnAnswer { turn, text, calls, usage, micro_usd, duration_ms, model, vendor } = self;
        Input::ModelAnswered { turn, text, calls, usage, micro_usd, duration_ms, model, vendor }
    }

    /// An answer of the host in the model's place.
    pub fn of_the_host(turn: u32, calls: Vec<CallRequest>) -> TurnAnswer {
        TurnAnswer {
            turn,
            text: String::new(),
            calls,
            usage: Usage::default(),
            micro_usd: 0,
            duration_ms: 0,
            model: HOST.to_owned(),
            vendor: None,
        }
    }
}
