//! One answer: the model's, or what the host says in its place.

use domain::{CallRequest, Input, Usage};

/// Who spoke, where no model was asked.
pub const HOST: &str = "the host";

/// A complete answer with its charge.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnAnswer {
    /// Number of the turn within its task, from 1.
    pub turn: u32,
    /// What was said beside the calls; empty where nothing was. Foreign.
    pub text: String,
    /// What it asks for, in the order of the answer.
    pub calls: Vec<CallRequest>,
    /// Tokens as the server counted them, or our estimate where it counted none.
    pub usage: Usage,
    /// What it cost, in micro-dollars; 0 where the model has no price.
    pub micro_usd: u64,
    /// Milliseconds from the first request to the whole answer, tries and waits in between included.
    pub duration_ms: u64,
    /// The model's label, or "the host" where no model was asked.
    pub model: String,
    /// The answer as its vendor sent it, to be given back; opaque.
    pub vendor: Option<Box<str>>,
}

impl TurnAnswer {
    /// The answer as an input of the task.
    pub fn into_input(self) -> Input {
        let TurnAnswer { turn, text, calls, usage, micro_usd, duration_ms, model, vendor } = self;
        Input::ModelAnswered { turn, text, calls, usage, micro_usd, duration_ms, model, vendor }
    }

    /// What the host says in the model's place.
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
