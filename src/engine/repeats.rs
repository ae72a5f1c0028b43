//! The same action once more with the same result: the model is told, for small ones go on so until their budget is used up.
//!
//! Owns: what counts as the same. Numbers in an output (times, process ids) are no difference. Pure, from the log alone. Must not: hold anything up.
//! Tests: below and in `history_tests.rs`.

use domain::{CallRequest, Outcome};
use std::collections::HashMap;

/// What was done since something else may have changed the tree.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    done: HashMap<String, (u32, String)>,
}

impl Repeats {
    /// Takes an action in; gives the number of the earlier one that was the same and gave the same.
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
    // Digits are bytes of their own, and what is left is whole characters. Each byte is written, and written over where it is a digit:
    // a long conversation is gone through before each call, and a branch for each byte would take most of that time.
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
