//! A stored call as the model made it, or in words. Tests: `src/engine/history_tests.rs`.

use domain::{Call, CallRequest};

use crate::llm::ToolCall;
use crate::text;

/// A call for a model that works in blocks of text.
pub(super) fn in_words(call: &CallRequest) -> String {
    format!("({} {})", call.name, call.arguments)
}

/// A stored call in the form in which the model made it.
pub(super) fn as_made(call: &CallRequest) -> ToolCall {
    let malformed = match &call.call {
        Call::Malformed { reason } => Some(text::cut(reason, 200).0.to_owned()),
        Call::Action { .. }
        | Call::Done { .. }
        | Call::UpdatePlan { .. }
        | Call::Recall { .. }
        | Call::AnswerRemark { .. }
        | Call::Ask { .. } => None,
    };
    ToolCall { id: call.id.clone(), name: call.name.clone(), arguments: call.arguments.clone(), malformed }
}
