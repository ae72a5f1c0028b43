//! How a run ended, and the end of its output.
//!
//! Owns exit codes, how much of an output is kept, and how the end of it is shown. Pure. Tests: below.

use protocol::runner::{Outcome, Status};

use crate::redact;

/// The most bytes kept of the output's end.
pub const TAIL: usize = 6_000;

/// The exit code, 128 plus the number for a signal; none where the run was ended.
pub(in crate::sandbox) fn exit_code(status: &Status) -> Option<i32> {
    match status {
        Status::Ok => Some(0),
        Status::Exited { code } => Some(*code),
        Status::Signaled { signal } => Some(128 + signal),
        Status::TimedOut
        | Status::OutOfMemory
        | Status::OutOfPids
        | Status::DiskFull
        | Status::DiskSpent { .. }
        | Status::Failed { .. }
        | Status::Cancelled => None,
    }
}

/// The end of the output, with a first line that names an exceeded limit, if any.
pub(in crate::sandbox) fn tail(outcome: &Outcome) -> String {
    // Of one that was cut the pattern would no longer be recognised.
    let text = redact::redacted(&outcome.text).0;
    let end = &text[text.ceil_char_boundary(text.len().saturating_sub(TAIL))..];
    let why = match &outcome.status {
        Status::TimedOut => "the tests took longer than they may and were stopped",
        Status::OutOfMemory => "the tests ran out of memory",
        Status::OutOfPids => "the tests started more processes than they may",
        Status::DiskFull => "the tests ran out of space",
        Status::DiskSpent { what: reason } | Status::Failed { reason } => reason,
        Status::Cancelled => "the tests were cancelled",
        Status::Ok | Status::Exited { .. } | Status::Signaled { .. } => return end.to_owned(),
    };
    format!("[{why}]\n{end}")
}

/// The last `most` bytes of the output whose end `tail` is, behind the line that names an exceeded limit, if any; and whether some of the
/// output before is missing. `exit_code`: the run's, none if it was ended.
pub fn shown_tail(tail: &str, exit_code: Option<i32>, most: usize) -> (String, bool) {
    let (why, output) = match (exit_code, tail.split_once('\n')) {
        (None, Some((why, output))) if why.starts_with('[') && why.ends_with(']') => (why, output),
        _ => ("", tail),
    };
    let (was_cut, output) = (output.len() + char::MAX.len_utf8() > TAIL, output.trim_end());
    let start = output.ceil_char_boundary(output.len().saturating_sub(most));
    let parts = [why, &output[start..]].into_iter().filter(|part| !part.is_empty());
    (parts.collect::<Vec<_>>().join("\n"), was_cut || start > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_output_the_end_is_shown_and_why_its_run_was_ended() {
        let shown = |text: &str, status: Status, most: usize| {
            let outcome = Outcome::new(status, text);
            shown_tail(&tail(&outcome), exit_code(&outcome.status), most)
        };
        let why = "[the tests took longer than they may and were stopped]";
        let long = format!("é{}", "x".repeat(99));
        assert_eq!(shown(&long, Status::TimedOut, 100), (format!("{why}\n{}", "x".repeat(99)), true));
        assert_eq!(shown("", Status::TimedOut, 100), (why.to_owned(), false));
        assert_eq!(shown("[a]\nb\n", Status::Ok, 3), ("]\nb".to_owned(), true));
        assert_eq!(shown("[a]\nb\n", Status::Ok, 100), ("[a]\nb".to_owned(), false));
        assert!(shown(&"é".repeat(TAIL), Status::Ok, TAIL).1, "what is stored is cut already");
    }
}
