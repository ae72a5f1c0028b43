//! The answer to `/ask`.

use crate::text::{code, document};

/// The most characters shown of an answer.
const MAX_ANSWER: usize = 6_000;

/// A model's answer to a question, which is foreign; `over`: whether the task is over.
pub fn replied(login: &str, model: &str, text: &str, over: bool) -> String {
    let work = if over { "`/retry` begins a new attempt" } else { "`/revise …` asks the agent for work" };
    format!(
        "To the question of {}, {} says, from the task's log and files:\n\n{}\n<sub>Nothing was run for it and nothing was changed; it may be wrong. {work}, `/cost` says what this cost.</sub>",
        code(login),
        code(model),
        document(text, MAX_ANSWER)
    )
}

/// A question without an answer. `why` is ours: half a sentence after "because".
pub fn unanswered(login: &str, why: &str) -> String {
    format!("{}: your question is not answered, because {why}. Nothing was changed.", code(login))
}
