//! Answered calls to models, as the log has them.

use crate::{Event, Reply, Usage};

/// What a call to a model was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallFor {
    /// A turn of the conversation, by its number.
    Turn(u32),
    /// A second look at this checkpoint.
    SecondLook(u32),
    /// A summary of older turns, or of a part of a file.
    Summary,
    /// A person's question, by its number among the task's.
    Reply(u32),
}

/// One call whose answer is known, with what it cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelCall<'a> {
    /// What it was for.
    pub of: CallFor,
    /// The model's label as reviews show it; what the host answered itself has one too. Foreign.
    pub model: &'a str,
    /// Tokens of the call.
    pub usage: &'a Usage,
    /// What it cost, in millionths of a US dollar.
    pub micro_usd: u64,
    /// Milliseconds of the call, with its retries; none where the log does not have them.
    pub duration_ms: Option<u64>,
}

impl Event {
    /// The call that this event is the answer of.
    #[expect(clippy::wildcard_enum_match_arm)]
    pub fn model_call(&self) -> Option<ModelCall<'_>> {
        let (of, model, usage, micro_usd, duration_ms) = match self {
            Event::TurnCompleted { turn, model, usage, micro_usd, duration_ms, .. } => {
                (CallFor::Turn(*turn), model, usage, *micro_usd, Some(*duration_ms))
            }
            Event::SecondLooked { n, model, usage, micro_usd, duration_ms, .. } => {
                (CallFor::SecondLook(*n), model, usage, *micro_usd, Some(*duration_ms))
            }
            Event::Summarised { summary } => {
                (CallFor::Summary, &summary.model, &summary.usage, summary.micro_usd, Some(summary.duration_ms))
            }
            Event::Replied(Reply { call, model, usage, micro_usd, .. }) => {
                (CallFor::Reply(*call), model, usage, *micro_usd, None)
            }
            _ => return None,
        };
        Some(ModelCall { of, model, usage, micro_usd, duration_ms })
    }
}
