//! The summary of ctest.
//!
//! Owns the number of tests and which of them did not run. What a failed test printed is part of the output, with summaries of its own, so
//! such an output does not count alike with others. Pure. Tests: below and in `recorded_tests.rs`.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::{Part, number};

/// `50% tests passed, 2 tests failed out of 4`, and since CMake 4.4 `100% tests passed out of 2`.
static SUMMARY: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\d+% tests passed(?:, \d+ tests failed)? out of (\d+)$").expect("a literal"));

/// Head of a list of tests that were skipped, which the number includes, or are disabled, which it does not.
const SKIPPED: &str = "The following tests did not run:";
/// Head of a list of tests that failed, or whose program is not there.
const FAILED: &str = "The following tests FAILED:";

pub(super) fn read(lines: &[Cow<'_, str>]) -> Part {
    let (mut part, mut idle) = (Part::default(), 0_u64);
    let mut list = "";
    for line in lines.iter().map(|line| line.trim()) {
        let count = SUMMARY.captures(line).and_then(|found| number(&found[1]));
        let count = count.or((line == "No tests were found!!!").then_some(0));
        part = part.and(Part { ran: count, is_partial: line == FAILED });
        if ["", SKIPPED, FAILED].contains(&line) {
            list = line;
        }
        let is_idle = match list {
            SKIPPED => line.ends_with(" (Skipped)"),
            FAILED => line.contains(" (Not Run)"),
            _ => false,
        };
        idle = idle.saturating_add(u64::from(is_idle));
    }
    Part { ran: part.ran.map(|ran| ran.saturating_sub(idle)), ..part }
}

#[cfg(test)]
mod tests {
    use super::super::plain_lines;
    use super::*;

    #[test]
    fn skipped_tests_and_those_without_a_program_did_not_run() {
        let part = |text: &str| read(&plain_lines(text));
        let all = |ran| Part { ran: Some(ran), is_partial: false };
        assert_eq!(part("100% tests passed out of 2\n"), all(2));
        assert_eq!(part("100% tests passed, 0 tests failed out of 2\n\nNo tests were found!!!\n"), all(2));
        let skipped = format!("100% tests passed, 0 tests failed out of 2\n\n{SKIPPED}\n\t  1 - a (Skipped)\n");
        assert_eq!(part(&format!("{skipped}\t  3 - b (Skipped) (Disabled)\n\n1 - c (Skipped)\n")), all(1));
        let failed = format!("0% tests passed, 2 tests failed out of 2\n\n{FAILED}\n\t  1 - a (Failed)\n");
        let failed = part(&format!("{failed}\t  2 - b (Not Run)  slow\n"));
        assert_eq!(failed, Part { ran: Some(1), is_partial: true });
        assert_eq!(part("all tests passed out of 2\n"), Part::default());
    }
}
