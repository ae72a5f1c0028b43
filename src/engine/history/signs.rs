//! Signs of being stuck, told beside the result of the action that shows them.
//!
//! Owns: their words, and from which event on they are counted anew. Must not: decide what is one (`repeats`, `stuck`), or hold the work
//! up (`stuck::way_out`). Tests: `signs_tests.rs`, and in `history_tests.rs`.

use std::rc::Rc;

use domain::{CallRequest, Event, Outcome};

use crate::engine::failing::Ran;
use crate::engine::repeats::{Repeats, tells};
use crate::engine::stuck::{Checks, Written, has_effect};

/// The actions of a conversation, as far as later ones are compared with them.
#[derive(Default)]
pub(super) struct Signs<'a> {
    repeats: Repeats<'a>,
    written: Written<'a>,
    checks: Checks<'a>,
}

impl<'a> Signs<'a> {
    /// Begins anew where the agent is told something new, works in another tree or no longer has the earlier results.
    pub(super) fn renew(&mut self, event: &Event) {
        if tells(event) {
            (self.written, self.checks) = (Written::default(), Checks::default());
        }
        self.repeats.hear(event);
    }

    /// Adds an action, with the report of a command's run where it was read; returns lines for its result.
    pub(super) fn take(
        &mut self,
        number: u32,
        call: &'a CallRequest,
        ended: &'a Outcome,
        report: Option<Rc<Ran>>,
    ) -> String {
        let mut notes = String::new();
        let same = self.repeats.take(number, call, ended);
        if let Some(before) = same {
            notes.push_str(&format!(
                "\nNote: action {before} was the same and gave the same. Once more gives nothing new: do something else."
            ));
        }
        if let Some(undone) = self.written.take(number, call, ended) {
            notes.push_str(&format!("\nNote: {undone}. Think again about the cause before the next change."));
        }
        // A repetition is told already.
        if (same.is_none() || has_effect(ended))
            && let Some(changes) = self.checks.take(call, ended, report)
        {
            notes.push_str(&format!(
                "\nNote: it fails as it did {changes} changes ago. Think again about the cause before the next change."
            ));
        }
        notes
    }
}

#[cfg(test)]
#[path = "signs_tests.rs"]
mod tests;
