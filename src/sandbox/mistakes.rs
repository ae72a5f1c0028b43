//! Mistakes that the runner found in files an action wrote, as its result contains them.
//!
//! Must not look for any itself, because texts are parsed only in the sandbox. They are untrusted and only shown to people and the model.
//! Tests: below; how the text is made: `runner/src/mistakes.rs`.

use domain::{Action, Outcome};

pub use protocol::mistakes::places;

/// The mistakes in the result of a write, each with its place and the lines around it.
pub fn of<'a>(action: &Action, outcome: &'a Outcome) -> Option<&'a str> {
    let wrote = action.what().writes_texts();
    // A try writes its files before it runs anything.
    (wrote && (outcome.status.succeeded() || action.is_apart()))
        .then(|| protocol::mistakes::findings(&outcome.text))
        .flatten()
}

#[cfg(test)]
mod tests {
    use domain::OutcomeStatus;
    use protocol::mistakes::HEAD;

    use super::*;

    #[test]
    fn they_are_read_out_of_successful_writes_alone() {
        let write = Action::WriteFile { path: "a.py".into(), content: "x".into() };
        let text = format!("made a.py: 1 lines\n{HEAD}\na.py:1: undefined name `x`\n>    1\tx\n");
        let mut outcome = Outcome { duration_ms: 1, ..Outcome::new(OutcomeStatus::Ok, text) };
        assert_eq!(of(&write, &outcome), Some("a.py:1: undefined name `x`\n>    1\tx"));
        assert_eq!(of(&Action::Bash { command: "cat a".into() }, &outcome), None);
        outcome.status = OutcomeStatus::Failed { reason: "no".into() };
        assert_eq!(of(&write, &outcome), None);
    }
}
