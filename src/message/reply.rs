//! The answer to `/ask`.

use crate::text::{code, document};

/// The most characters shown of an answer.
const MAX_ANSWER: usize = 6_000;

/// A model's answer to a question, which is foreign.
pub fn replied(login: &str, model: &str, text: &str) -> String {
    format!(
        "To the question of {}, {} says, from the task's log and files:\n\n{}\n<sub>Nothing was run for it and nothing was changed; it may be wrong. `/revise …` asks the agent for work, `/cost` says what this cost.</sub>",
        code(login),
        code(model),
        document(text, MAX_ANSWER)
    )
}

/// A question without an answer. `why` is ours: half a sentence after "because".
pub fn unanswered(login: &str, why: &str) -> String {
    format!("{}: your question is not answered, because {why}. Nothing was changed.", code(login))
}
