//! Answers to remarks on lines that were not taken up.

use crate::text::code;

/// Remarks on lines in a review that approves finished work.
pub fn remarks_to_nobody(login: &str) -> String {
    format!(
        "{}: no agent gets your remarks on lines, because finished work that is approved does not go back. They stay in the task's log, and `/retry` tells the next attempt of them.",
        code(login)
    )
}

/// Remarks on lines beside a command, while the agent waits for an answer.
pub fn remarks_too_early(login: &str) -> String {
    format!(
        "{}: your remarks on lines were not taken up, because a question waits for its answer, and beside a command they are none. Answer it first, then write them again.",
        code(login)
    )
}

/// Remarks on lines beside a `/pause` that counts, one of which was edited, or lost its line to a push.
pub fn remarks_edited(login: &str) -> String {
    format!(
        "{}: your `/pause` counts, but the remarks on lines beside it were not taken up: one of them was edited after it was posted, or a push changed a line that it is about, which looks the same here. Please look at the newest commit and write them again.",
        code(login)
    )
}
