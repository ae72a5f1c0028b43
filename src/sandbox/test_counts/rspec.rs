//! RSpec's summary.
//!
//! Owns the numbers of `4 examples, 1 failure, 2 pending`, and whether what is pending ran: RSpec calls so what it skips, and what it runs and
//! expects to fail. Pure. Tests: below and in `recorded_tests.rs`.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::{Part, number};

static SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(\d+) examples?, \d+ failures?(?:, (\d+) pending)?(?:, \d+ errors? occurred outside of examples)?$")
        .expect("a literal")
});

pub(super) fn read(lines: &[Cow<'_, str>]) -> Part {
    let mut part = Part::default();
    // Of one run: whether its list of what is pending was there, goes on, and shows how one failed.
    let (mut is_listed, mut is_open, mut has_failed) = (false, false, false);
    for line in lines.iter().map(|line| line.trim()) {
        if line.starts_with("Pending: (") {
            (is_listed, is_open) = (true, true);
        } else if line == "Failures:" || line.starts_with("Finished in ") {
            is_open = false;
        }
        has_failed |= is_open && line.contains("Failure/Error:");
        if let Some((examples, pending)) = summary(line) {
            let ran = examples.saturating_sub(pending);
            let is_partial = pending > 0 && (has_failed || !is_listed);
            part = part.and(Part { ran: Some(ran), is_partial });
            (is_listed, is_open, has_failed) = (false, false, false);
        }
    }
    part
}

/// All examples, and those that are pending.
fn summary(line: &str) -> Option<(u64, u64)> {
    let found = SUMMARY.captures(line)?;
    let pending = found.get(2).and_then(|pending| number(pending.as_str()));
    Some((number(&found[1])?, pending.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::super::plain_lines;
    use super::*;

    #[test]
    fn what_is_pending_was_skipped_only_where_its_list_shows_no_failure() {
        let list = "Pending: (Failures listed here are expected and do not affect your suite's status)\n\n  1) a\n";
        let summary = "\nFinished in 0.01 seconds\n1 example, 0 failures, 1 pending\n";
        let failed = "\nFailures:\n\n  1) b\n     Failure/Error: raise\n";
        for (text, ran, is_partial) in [
            (format!("{list}{summary}"), 0, false),
            (format!("{list}     Failure/Error: raise\n{summary}"), 0, true),
            (format!("{list}{failed}{summary}"), 0, false),
            (summary.to_owned(), 0, true),
            (format!("{list}{summary}{summary}"), 0, true),
            ("3 examples, 0 failures\n2 examples, 1 failure\n".to_owned(), 5, false),
            ("0 examples, 0 failures, 1 error occurred outside of examples\n".to_owned(), 0, false),
        ] {
            assert_eq!(read(&plain_lines(&text)), Part { ran: Some(ran), is_partial }, "{text}");
        }
        assert_eq!(read(&plain_lines("3 examples, 0 failures were found\n")), Part::default());
    }
}
