//! Names of the tests that ran, from the reports of test programs.
//!
//! Owns the parsing of six programs' lines (unittest with `-v`, pytest with `-v` or `-rA`, `cargo test`, `go test -v`, TAP, the tick marks
//! of mocha and similar). The output is untrusted: it only shows that a name is missing, never that a test passed. Skipped tests do not
//! count as run. Tests: below.

use std::collections::BTreeSet;

use protocol::runner::{Outcome, Status};

/// The most names that are taken from an output that may be cut.
const NAMES: usize = 50_000;
/// The most characters of a name.
const LONGEST: usize = 300;

/// The tests that ran according to a run; none when it was ended or its output cut, because then a missing name means nothing.
pub fn ran(outcome: &Outcome) -> Option<BTreeSet<String>> {
    let ended = matches!(outcome.status, Status::Ok | Status::Exited { .. });
    // All of them: of two lists that are cut at a number, one that begins with another name lacks the last.
    (ended && outcome.dropped_bytes == 0).then(|| outcome.text.lines().filter_map(name).collect())
}

/// The names in an output, complete or cut.
pub(in crate::sandbox) fn names(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter_map(name).take(NAMES)
}

/// The test whose result this line reports.
fn name(line: &str) -> Option<String> {
    let line = line.trim_end();
    let found = unittest(line)
        .or_else(|| cargo(line))
        .or_else(|| pytest(line))
        .or_else(|| go(line))
        .or_else(|| marked(line))?;
    (!found.is_empty()).then(|| found.chars().filter(|c| !c.is_control()).take(LONGEST).collect())
}

/// `test_ten (tests.test_semver.Newer.test_ten) ... ok`; with a docstring only the first of two lines has the name.
fn unittest(line: &str) -> Option<&str> {
    let (method, rest) = line.split_once(" (")?;
    let (place, rest) = rest.split_once(')')?;
    let word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    let skipped = rest.starts_with(" ... skipped");
    (word(method) && place.contains('.') && word(place) && !skipped && (rest.is_empty() || rest.starts_with(" ... ")))
        .then(|| &line[..method.len() + place.len() + 3])
}

/// `test handler::tests::takes_it ... ok`
fn cargo(line: &str) -> Option<&str> {
    let (test, verdict) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    (verdict == "ok" || verdict == "FAILED").then_some(test)
}

/// `PASSED tests/test_a.py::test_b`, `FAILED tests/test_a.py::test_b - AssertionError`, `tests/test_a.py::test_b PASSED   [ 50%]`
fn pytest(line: &str) -> Option<&str> {
    const WORDS: [&str; 5] = ["PASSED", "FAILED", "ERROR", "XFAIL", "XPASS"];
    let (first, rest) = line.split_once(' ')?;
    if WORDS.contains(&first) {
        let node = rest.split(" - ").next()?.trim();
        return node.contains("::").then_some(node);
    }
    WORDS.iter().find_map(|word| {
        let (node, after) = line.split_once(&format!(" {word}"))?;
        (node.contains("::") && (after.is_empty() || after.trim_start().starts_with('['))).then_some(node)
    })
}

/// `    --- PASS: TestNewer/ten (0.00s)`
fn go(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("--- ")?;
    let test = rest.strip_prefix("PASS: ").or_else(|| rest.strip_prefix("FAIL: "))?;
    Some(test.rsplit_once(" (").map_or(test, |(test, _)| test))
}

/// `ok 3 - adds`, `not ok 4 - subtracts`, `✔ adds (3 ms)`, `✖ subtracts`
fn marked(line: &str) -> Option<&str> {
    let line = line.trim_start();
    if let Some(rest) = line.strip_prefix("not ok ").or_else(|| line.strip_prefix("ok ")) {
        let (number, test) = rest.split_once(" - ")?;
        let skipped = test.to_ascii_uppercase().contains("# SKIP");
        return (number.bytes().all(|b| b.is_ascii_digit()) && !skipped)
            .then(|| test.split(" # ").next().unwrap_or(test));
    }
    let test = ["✓ ", "✔ ", "✕ ", "✖ ", "✗ ", "× "].iter().find_map(|mark| line.strip_prefix(mark))?;
    // A duration at the end is not part of the name.
    let timed = test
        .rsplit_once(" (")
        .filter(|(_, time)| time.ends_with("s)") && time.starts_with(|c: char| c.is_ascii_digit()));
    Some(timed.map_or(test, |(test, _)| test))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Vec<String> {
        let outcome = Outcome::new(Status::Ok, text);
        ran(&outcome).expect("a whole report").into_iter().collect()
    }

    #[test]
    fn each_programs_lines_are_read_and_skipped_tests_did_not_run() {
        let unittest = "test_a (t.T.test_a) ... ok\ntest_b (t.T)\nSays what it does. ... FAIL\ntest_c (t.T.test_c) ... skipped 'no'\nRan 3 tests (in all)";
        assert_eq!(named(unittest), ["test_a (t.T.test_a)", "test_b (t.T)"]);
        let pytest = "tests/test_a.py::test_one PASSED   [ 50%]\nPASSED tests/test_a.py::test_two[x - y]\nFAILED t.py::test_three - assert 1\nSKIPPED [1] t.py:3: no";
        assert_eq!(named(pytest), ["t.py::test_three", "tests/test_a.py::test_one", "tests/test_a.py::test_two[x"]);
        let cargo = "running 3 tests\ntest a::b ... ok\ntest c - should panic ... ok\ntest d ... ignored\ntest e ... FAILED\ntest result: ok. 3 passed";
        assert_eq!(named(cargo), ["a::b", "c - should panic", "e"]);
        let go = "=== RUN   TestA\n--- PASS: TestA (0.00s)\n    --- FAIL: TestA/ten (0.01s)\n--- SKIP: TestB (0.00s)\nok  \texample 0.01s";
        assert_eq!(named(go), ["TestA", "TestA/ten"]);
        let tap = "TAP version 13\nok 1 - adds\nnot ok 2 - divides # time=1ms\nok 3 - later # SKIP\n1..3\n  ✔ multiplies (3 ms)\n  ✖ roots";
        assert_eq!(named(tap), ["adds", "divides", "multiplies", "roots"]);
        assert_eq!(named("....\nRan 4 tests in 0.001s\n\nOK\n2 passed (in 3s)"), Vec::<String>::new());
    }

    #[test]
    fn a_test_more_at_the_beginning_pushes_none_out() {
        let many: String = (0..NAMES + 10).map(|n| format!("ok {n} - number {n}\n")).collect();
        let (before, now) = (named(&many), named(&format!("ok 0 - a new one\n{many}")));
        assert_eq!((before.len(), now.len()), (NAMES + 10, NAMES + 11));
    }

    #[test]
    fn a_report_that_was_cut_or_stopped_tells_nothing() {
        let cut = Outcome { dropped_bytes: 1, ..Outcome::new(Status::Ok, "test a ... ok") };
        assert_eq!(ran(&cut), None);
        assert_eq!(ran(&Outcome { status: Status::TimedOut, dropped_bytes: 0, ..cut }), None);
    }
}
