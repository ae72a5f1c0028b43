//! How many tests ran, by the summaries that test programs print.
//!
//! Owns the forms of these summaries: unittest, pytest, `cargo test` and nextest, node's runner and TAP, Jest, Vitest, mocha, and of `go test`,
//! which prints no number, that there was no test; in `lists.rs` PHPUnit, minitest, Test::Unit, ExUnit and Bats; by more than single lines
//! RSpec (`rspec.rs`), ctest, Maven and Gradle. What no number counts makes 0 unknown. The output is untrusted: a number shows that fewer
//! tests ran, never that one passed. Pure. Tests: below, in each file, and over outputs of the real tools in `recorded_tests.rs`.

mod ctest;
mod gradle;
mod lists;
mod maven;
#[cfg(test)]
mod recorded_tests;
mod rspec;

use std::borrow::Cow;

use super::failures::plain;
use super::verification::output::TAIL;

/// What the output of one program says about how many tests ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Part {
    /// The sum of its numbers, without skipped tests; none if it has none.
    ran: Option<u64>,
    /// Whether tests may have run that no number counts.
    is_partial: bool,
}

impl Part {
    fn and(self, other: Part) -> Part {
        let ran = [self.ran, other.ran].into_iter().flatten().reduce(u64::saturating_add);
        Part { ran, is_partial: self.is_partial || other.is_partial }
    }
}

fn plain_lines(text: &str) -> Vec<Cow<'_, str>> {
    text.lines().map(plain).collect()
}

/// What the programs say whose output has to be read as a whole.
fn parts(text: &str) -> Part {
    let lines = plain_lines(text);
    let parts = [ctest::read(&lines), gradle::read(&lines), maven::read(&lines), rspec::read(&lines)];
    parts.into_iter().fold(Part::default(), Part::and)
}

/// The sum of all summaries of an output; none if it has none, or if tests may have run that they do not count.
pub(super) fn counted(text: &str) -> Option<u64> {
    let whole = parts(text);
    let counts = sum(text, whole, &["passed", "failed", "error", "errors", "xfailed", "xpassed"]);
    counts.filter(|_| !whole.is_partial)
}

/// The numbers of tests that ran now and before, without what was skipped, if an output says that these are fewer. One that may have lost its
/// beginning, or that does not count all, says nothing, because a suite's summary may have been there.
pub fn fewer(now: &str, before: &str) -> Option<(u64, u64)> {
    // The end of a longer output begins with a whole character.
    let is_whole = now.len() + char::MAX.len_utf8() < TAIL;
    let of_all = |text: &str| {
        let whole = parts(text);
        if whole.is_partial { None } else { ran(text, whole) }
    };
    let counts = is_whole.then(|| of_all(now).zip(of_all(before))).flatten();
    counts.filter(|(now, before)| now < before)
}

/// As [`counted`], without pytest's errors, which are mostly files that could not be loaded, and less what unittest and node's runner skipped and
/// count all the same; 0 where pytest skipped all.
pub(super) fn unskipped(text: &str) -> Option<u64> {
    ran(text, parts(text))
}

/// As [`unskipped`]; `whole`: the [`parts`] of the text.
fn ran(text: &str, whole: Part) -> Option<u64> {
    let (mut skipped, mut none_left) = (0_u64, None);
    for line in text.lines().map(plain) {
        let line = line.trim();
        let node = line.strip_prefix("# skipped ").or_else(|| line.strip_prefix("ℹ skipped "));
        let unittest = ["OK (", "FAILED ("].iter().any(|begin| line.starts_with(begin));
        let unittest = unittest.then(|| line.split_once("skipped=")).flatten().map(|(_, rest)| rest);
        let count = node.or(unittest).and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
        skipped = skipped.saturating_add(count.and_then(number).unwrap_or(0));
        none_left = none_left.or(of_pytest(line).filter(|before| worded(before, &["skipped"]) > 0).map(|_| 0));
    }
    let executed = sum(text, whole, &["passed", "failed", "xfailed", "xpassed"]);
    let ran = executed.map(|ran| ran.saturating_sub(skipped)).or(none_left);
    ran.filter(|ran| is_known(*ran, text, whole))
}

fn sum(text: &str, whole: Part, words_of_pytest: &[&str]) -> Option<u64> {
    let counts = text.lines().filter_map(|line| summary(plain(line).trim(), words_of_pytest));
    counts.chain(whole.ran).reduce(u64::saturating_add).filter(|count| is_known(*count, text, whole))
}

/// Whether this sum of the summaries may be of all tests: 0 is not where tests may have run that no number counts, as those of a package of
/// Go, which prints none.
fn is_known(count: u64, text: &str, whole: Part) -> bool {
    let of_package = |line: &str| (line.starts_with("ok") || line.starts_with("FAIL")) && line.contains('\t');
    let had_tests = |line: &str| of_package(line) && !line.ends_with(GO_NONE[1]);
    count > 0 || !(whole.is_partial || text.lines().any(|line| had_tests(plain(line).trim())))
}

fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// Ends of Go's lines `?   example.com/sum [no test files]` and `ok  example.com/sum 0.002s [no tests to run]`.
const GO_NONE: [&str; 2] = ["[no test files]", "[no tests to run]"];
/// How pytest, Jest and Vitest begin to say that there was no test.
const NONE: [&str; 4] = ["no tests ran in ", "collected 0 items", "No tests found", "No test files found"];

fn summary(line: &str, words_of_pytest: &[&str]) -> Option<u64> {
    let bare = line.trim_matches('=').trim_start();
    if NONE.iter().any(|none| bare.starts_with(none)) || GO_NONE.iter().any(|none| line.ends_with(none)) {
        return Some(0);
    }
    if let Some(count) = lists::summary(line) {
        return Some(count);
    }
    // nextest's `Summary [   0.025s] 5 tests run: 4 passed, 1 failed, 0 skipped`; `5/9 tests run` where it was stopped.
    if let Some((_, counts)) = line.strip_prefix("Summary [").and_then(|rest| rest.split_once("] ")) {
        return counts.split_once(" test").and_then(|(count, _)| number(count.split('/').next()?));
    }
    // `Ran 4 tests in 0.001s`
    if let Some((count, _)) = line.strip_prefix("Ran ").and_then(|rest| rest.split_once(" test")) {
        return number(count);
    }
    // `test result: ok. 3 passed; 0 failed; …`
    if let Some(rest) = line.strip_prefix("test result: ") {
        return Some(worded(rest, &["passed", "failed"]));
    }
    // Node's own: `# tests 4` in TAP, `ℹ tests 4` in its list.
    if let Some(count) = line.strip_prefix("# tests ").or_else(|| line.strip_prefix("ℹ tests ")) {
        return number(count);
    }
    // Jest's `Tests:       1 failed, 3 passed, 4 total`, Vitest's `Tests  1 failed | 3 passed (4)`.
    if let Some(rest) = line.strip_prefix("Tests").map(|rest| rest.trim_start_matches(':').trim_start())
        && rest.starts_with(|c: char| c.is_ascii_digit())
    {
        return Some(worded(rest, &["passed", "failed"]));
    }
    // mocha's `3 passing (4ms)` and `1 failing`.
    if let Some((count, rest)) = line.split_once(' ')
        && ["passing", "failing"].iter().any(|word| rest.split(' ').next() == Some(word))
    {
        return number(count);
    }
    let before = of_pytest(line)?;
    let words = ["passed", "failed", "error", "xfailed", "xpassed"];
    words.iter().any(|word| before.contains(word)).then(|| worded(before, words_of_pytest))
}

/// The counts of pytest's summary: `=== 2 failed, 3 passed in 0.12s ===`, or with -q without the signs.
fn of_pytest(line: &str) -> Option<&str> {
    let bare = line.trim_matches('=').trim();
    let (before, after) = bare.rsplit_once(" in ")?;
    let timed = after
        .split(' ')
        .next()
        .is_some_and(|time| time.ends_with('s') && time.starts_with(|c: char| c.is_ascii_digit()));
    timed.then_some(before)
}

/// Sum of the numbers before these words.
fn worded(text: &str, words: &[&str]) -> u64 {
    let parts: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).collect();
    let pairs = parts.windows(2).filter(|pair| words.contains(&pair[1]));
    pairs.filter_map(|pair| number(pair[0])).fold(0, u64::saturating_add)
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
            ("Ran 4 tests in 0.001s\n\nOK (skipped=1, expected failures=1)\n", Some(3)),
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
            ("?   \texample.com/sum\t[no test files]\nok  \texample.com/two\t0.002s [no tests to run]\n", Some(0)),
            ("?   \texample.com/sum\t[no test files]\nok  \texample.com/two\t(cached)\n", None),
            ("test result: ok. 0 passed; 0 failed; 0 ignored\nok  \texample.com/two\t0.002s\n", None),
            ("3 skipped in 0.01s\nok  \texample.com/two\t0.002s\n", None),
            ("collected 0 items\n\n==== no tests ran in 0.01s ====\n", Some(0)),
            ("No tests found, exiting with code 0\n", Some(0)),
            ("No test files found, exiting with code 0\n", Some(0)),
            (
                "    Summary [   0.025s] 5 tests run: 4 passed, 1 failed, 2 skipped\ntest result: ok. 0 passed; 0 failed;\n",
                Some(5),
            ),
            ("Tests: succeeded 3, failed 0, canceled 0, ignored 0, pending 0\n", None),
            ("", None),
        ] {
            assert_eq!(unskipped(output), expected, "{output}");
        }
    }

    #[test]
    fn summaries_are_counted() {
        for (text, count) in [
            ("....\n-----\nRan 4 tests in 0.001s\n\nOK", Some(4)),
            ("Ran 1 test in 0.000s\n\nFAILED (errors=1)", Some(1)),
            ("Ran 0 tests in 0.000s\n\nOK", Some(0)),
            ("test result: ok. 3 passed; 0 failed; 1 ignored\ntest result: FAILED. 1 passed; 1 failed;", Some(5)),
            ("=== 2 failed, 3 passed, 1 skipped in 0.12s ===", Some(5)),
            ("1 error in 0.04s", Some(1)),
            ("# tests 4\n# pass 3\n# fail 1", Some(4)),
            ("ℹ tests 2\nℹ pass 2", Some(2)),
            ("Tests:       1 failed, 3 passed, 4 total", Some(4)),
            ("18446744073709551615 passed, 2 failed in 0.1s", Some(u64::MAX)),
            ("it works", None),
            ("passed in review, in time", None),
        ] {
            assert_eq!(counted(text), count, "{text}");
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
