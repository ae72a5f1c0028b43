//! The answer to `/ask`.

use crate::text::{code, document};

/// Longest answer that is shown, in characters.
const MAX_ANSWER: usize = 6_000;

/// What a model said to a question: its words are foreign.
pub fn replied(login: &str, model: &str, text: &str) -> String {
    format!(
        "To the question of {}, {} says, from the task's log and files:\n\n{}\n<sub>Nothing was run for it and nothing was changed; it may be wrong. `/revise …` asks the agent for work, `/cost` says what this cost.</sub>",
        code(login),
        code(model),
        document(text, MAX_ANSWER)
    )
}

/// Nobody answered. `why` is ours: half a sentence behind "because".
pub fn unanswered(login: &str, why: &str) -> String {
    format!("{}: your question is not answered, because {why}. Nothing was changed.", code(login))
}
