//! How many tests ran, by the summaries that test programs print.
//!
//! Owns the forms of these summaries: unittest, pytest, `cargo test`, `node --test`, Jest, Vitest, mocha. The output is untrusted: a number
//! shows that fewer tests ran, never that one passed. Tests that were skipped did not run. Pure. Tests: below.

use std::sync::LazyLock;

use regex::Regex;

use super::failures::plain;
use super::verification::verify::TAIL;

static SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^(?:=* ?\d+ [a-z]+(?:, \d+ [a-z]+)* in [\d.]+s|test result: |Ran \d+ tests? in |(?:#|ℹ) (?:pass|fail) \d+$| *Tests:? +\d| *\d+ (?:passing|failing)\b)",
    )
    .expect("a literal")
});
static COUNT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(\d+) (?:passed|failed|passing|failing)\b|^Ran (\d+) |^(?:#|ℹ) (?:pass|fail) (\d+)$")
        .expect("a literal")
});
/// unittest counts what it skips among what ran.
static SKIPPED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(?:OK|FAILED) \((?:[a-z ]+=\d+, )*skipped=(\d+)").expect("a literal"));

/// The number of tests that ran, over all summaries of an output; none if it has no summary.
fn ran(output: &str) -> Option<u64> {
    let (mut total, mut skipped) = (None, 0_u64);
    for line in output.lines().map(plain) {
        if SUMMARY.is_match(&line) {
            let counts = COUNT.captures_iter(&line).filter_map(|found| number(found.iter().flatten().nth(1)));
            total = Some(counts.fold(total.unwrap_or(0_u64), u64::saturating_add));
        }
        let left_out = SKIPPED.captures(&line).and_then(|found| number(found.get(1)));
        skipped = skipped.saturating_add(left_out.unwrap_or(0));
    }
    total.map(|total| total.saturating_sub(skipped))
}

fn number(found: Option<regex::Match<'_>>) -> Option<u64> {
    found?.as_str().parse().ok()
}

/// The numbers of tests that ran now and before, if an output says that these are fewer. One that may have lost its beginning says nothing,
/// because a suite's summary may have been there.
pub fn fewer(now: &str, before: &str) -> Option<(u64, u64)> {
    // The end of a longer output begins with a whole character.
    let is_whole = now.len() + char::MAX.len_utf8() < TAIL;
    let counts = is_whole.then(|| ran(now).zip(ran(before))).flatten();
    counts.filter(|(now, before)| now < before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_programs_summary_is_counted_without_what_was_skipped() {
        for (output, expected) in [
            ("..\nRan 4 tests in 0.001s\n\nOK\n", Some(4)),
            ("Ran 1 test in 0.001s\n\nFAILED (failures=1)\n", Some(1)),
            ("Ran 4 tests in 0.001s\n\nFAILED (failures=1, skipped=2)\n", Some(2)),
            ("==== 1 failed, 500 passed, 3 skipped in 65.00s (0:01:05) ====\n", Some(501)),
            ("2 passed, 1 warning in 0.01s\n", Some(2)),
            ("3 skipped in 0.01s\n", Some(0)),
            (
                "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured\n\ntest result: FAILED. 1 passed; 1 failed;\n",
                Some(5),
            ),
            ("# tests 4\n# pass 2\n# fail 1\n# skipped 1\n", Some(3)),
            ("ℹ tests 2\nℹ pass 2\nℹ fail 0\n", Some(2)),
            ("Test Suites: 1 passed, 1 total\nTests:       1 failed, 1 skipped, 2 passed, 4 total\n", Some(3)),
            (" Test Files  1 passed (1)\n      Tests  1 failed | 2 passed (3)\n", Some(3)),
            ("  3 passing (4ms)\n  1 failing\n", Some(4)),
            ("\u{1b}[32m  3 passing\u{1b}[0m (4ms)\n", Some(3)),
            ("ok  \texample.com/sum\t0.002s\n12 files passed the check\n", None),
            ("", None),
        ] {
            assert_eq!(ran(output), expected, "{output}");
        }
    }

    #[test]
    fn fewer_tests_are_seen_where_both_say_it_and_nothing_is_cut() {
        let of = |tests: u32| format!("Ran {tests} tests in 0.001s\n\nOK\n");
        assert_eq!(fewer(&of(3), &of(4)), Some((3, 4)));
        for (now, before) in [(of(4), of(4)), (of(5), of(4)), (of(3), String::new()), (String::new(), of(4))] {
            assert_eq!(fewer(&now, &before), None, "{now} {before}");
        }
        assert_eq!(fewer(&format!("{}\n{}", ".".repeat(TAIL), of(3)), &of(4)), None);
    }
}
