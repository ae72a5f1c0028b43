//! Recognises an action that repeats an earlier one with the same result. The model is told, because small ones otherwise repeat it until
//! their budget is used up.
//!
//! Owns: what counts as the same. Different numbers in an output (times, process ids) are ignored. Pure, from the log alone. Must not: stop
//! anything. Tests: below and in `history_tests.rs`.

use domain::{CallRequest, Outcome};
use std::collections::HashMap;

/// Actions since something else may last have changed the tree.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    done: HashMap<String, (u32, String)>,
}

impl Repeats {
    /// Adds an action; returns the number of an earlier one with the same call and result.
    pub(super) fn take(&mut self, number: u32, call: &CallRequest, ended: &Outcome) -> Option<u32> {
        let key = format!("{} {}", call.name, call.arguments);
        let result = without_numbers(&format!("{:?}\n{}", ended.status, ended.text));
        if call.call.may_change_the_tree() && !self.done.contains_key(&key) {
            self.done.clear();
        }
        let before = self.done.insert(key, (number, result.clone()));
        before.filter(|(_, text)| *text == result).map(|(number, _)| number)
    }
}

fn without_numbers(text: &str) -> String {
    // Digits are single bytes, so what is left is valid UTF-8. Every byte is written and digits are overwritten, because this runs over a
    // long conversation before each call, and a branch per byte would take most of that time.
    let (mut left, mut end) = (vec![0; text.len()], 0);
    for byte in text.bytes() {
        left[end] = byte;
        end += usize::from(!byte.is_ascii_digit());
    }
    left.truncate(end);
    String::from_utf8(left).unwrap_or_default()
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
        let mut repeats = Repeats::default();
        let failed = |text: &str| Outcome::new(OutcomeStatus::Exited { code: 1 }, text);
        assert_eq!(repeats.take(1, &run("make"), &failed("1 failed in 0.3 s")), None);
        assert_eq!(repeats.take(2, &read("a"), &Outcome::new(OutcomeStatus::Ok, "x")), None);
        assert_eq!(repeats.take(3, &run("make"), &failed("1 failed in 0.4 s")), Some(1));
        assert_eq!(repeats.take(4, &run("make"), &failed("2 failed and more")), None, "another result");
        assert_eq!(repeats.take(5, &read("a"), &Outcome::new(OutcomeStatus::Ok, "x")), Some(2));
        assert_eq!(repeats.take(6, &run("sed -i s/a/b/ a"), &Outcome::new(OutcomeStatus::Ok, "")), None);
        assert_eq!(repeats.take(7, &run("make"), &failed("2 failed and more")), None, "the tree may be another");
    }
}
