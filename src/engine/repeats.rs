//! Recognises an action that repeats an earlier one with the same result. The model is told, because small ones otherwise repeat it until
//! their budget is used up.
//!
//! Owns: what counts as the same. Different numbers in an output (times, process ids) are ignored. Pure, from the log alone. Must not: stop
//! anything. Tests: below and in `history_tests.rs`.

use domain::{CallRequest, Outcome};
use std::collections::HashMap;

/// Actions since something else may last have changed the tree.
#[derive(Debug, Default)]
pub(super) struct Repeats<'a> {
    done: HashMap<String, (u32, &'a Outcome)>,
}

impl<'a> Repeats<'a> {
    /// Adds an action; returns the number of an earlier one with the same call and result.
    pub(super) fn take(&mut self, number: u32, call: &CallRequest, ended: &'a Outcome) -> Option<u32> {
        let key = format!("{} {}", call.name, call.arguments);
        if call.call.may_change_the_tree() && !self.done.contains_key(&key) {
            self.done.clear();
        }
        let before = self.done.insert(key, (number, ended));
        before.filter(|(_, earlier)| is_same(earlier, ended)).map(|(number, _)| number)
    }
}

/// Compared only where a call repeats, because this runs over a long conversation before each call.
fn is_same(one: &Outcome, other: &Outcome) -> bool {
    let status = |outcome: &Outcome| without_numbers(&format!("{:?}", outcome.status)).collect::<Vec<_>>();
    status(one) == status(other) && without_numbers(&one.text).eq(without_numbers(&other.text))
}

fn without_numbers(text: &str) -> impl Iterator<Item = u8> {
    text.bytes().filter(|byte| !byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Action, Call, OutcomeStatus};

    fn run(command: &str) -> CallRequest {
        let arguments = serde_json::json!({ "command": command });
        let call = Call::Action { action: Action::Bash { command: command.into() } };
        CallRequest { id: "c".into(), name: "bash".into(), arguments, call }
    }

    fn read(path: &str) -> CallRequest {
        let action = Action::ReadFile { path: path.into(), from: 1, lines: 0 };
        let arguments = serde_json::json!({ "path": path });
        CallRequest { id: "c".into(), name: "read_file".into(), arguments, call: Call::Action { action } }
    }

    #[test]
    fn the_same_with_the_same_result_is_known_again_unless_something_else_may_have_changed_the_tree() {
        let failed = |text: &str| Outcome::new(OutcomeStatus::Exited { code: 1 }, text);
        let done = |text: &str| Outcome::new(OutcomeStatus::Ok, text);
        let (first, later, other) =
            (failed("1 failed in 0.3 s"), failed("1 failed in 0.4 s"), failed("2 failed and more"));
        let (content, edited) = (done("x"), done(""));
        let mut repeats = Repeats::default();
        assert_eq!(repeats.take(1, &run("make"), &first), None);
        assert_eq!(repeats.take(2, &read("a"), &content), None);
        assert_eq!(repeats.take(3, &run("make"), &later), Some(1));
        assert_eq!(repeats.take(4, &run("make"), &other), None, "another result");
        assert_eq!(repeats.take(5, &read("a"), &content), Some(2));
        assert_eq!(repeats.take(6, &run("sed -i s/a/b/ a"), &edited), None);
        assert_eq!(repeats.take(7, &run("make"), &other), None, "the tree may be another");
    }
}
