//! Names of the tests that ran, from the reports of test programs.
//!
//! Owns the parsing of programs' lines (unittest with `-v`, pytest with `-v` or `-rA`, `cargo test`, `go test -v`, TAP, the tick marks of
//! Node's runner, Vitest, Jest, mocha and similar, Playwright's list), and which parts of them name a test: no duration, running number or
//! line, and nothing that is reported only while something fails. The output is untrusted: it only shows that a name is missing, never that
//! a test passed. Skipped tests do not count as run. Tests: below.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use protocol::runner::{Outcome, Status};
use regex::Regex;

use crate::sandbox::test_names::is_script;

/// The most names that are taken from an output that may be cut.
const NAMES: usize = 50_000;
/// The most characters of a name.
const LONGEST: usize = 300;

/// A line of Playwright's list: the project and the file, and the titles.
static PLAYWRIGHT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*[✓✘]\s+\d+ ((?:\[[^\]]*\] › )?\S.*?):\d+:\d+( › .+?)(?: \(retry #\d+\))? \([\d.]+(?:ms|s|m|h)\)$")
        .expect("a literal")
});

/// The tests that ran according to a run; none when it was ended or its output cut, because then a missing name means nothing.
pub fn ran(outcome: &Outcome) -> Option<BTreeSet<String>> {
    let ended = matches!(outcome.status, Status::Ok | Status::Exited { .. });
    // All of them: of two lists that are cut at a number, one that begins with another name lacks the last.
    let tests = || outcome.text.lines().filter_map(name).filter(|name| !stands_for_an_error(name)).collect();
    (ended && outcome.dropped_bytes == 0).then(tests)
}

/// The names in an output, complete or cut.
pub(in crate::sandbox) fn names(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter_map(name).take(NAMES)
}

/// Whether unittest reports under this name that a file could not be imported or a fixture failed: it is gone once that is mended.
fn stands_for_an_error(name: &str) -> bool {
    const FIXTURES: [&str; 4] = ["setUpClass (", "setUpModule (", "tearDownClass (", "tearDownModule ("];
    name.contains("(unittest.loader._FailedTest") || FIXTURES.iter().any(|fixture| name.starts_with(fixture))
}

/// The test whose result this line reports, without what differs between two runs of the same test.
fn name(line: &str) -> Option<String> {
    let line = line.trim_end();
    let found =
        unittest(line).map(str::to_owned).or_else(|| cargo(line)).or_else(|| playwright(line)).or_else(|| {
            pytest(line).or_else(|| go(line)).or_else(|| tap(line)).or_else(|| marked(line)).map(str::to_owned)
        })?;
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

/// `test handler::tests::takes_it ... ok`, `test src/lib.rs - parse (line 5) ... ok`
fn cargo(line: &str) -> Option<String> {
    let (test, verdict) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    // Any edit above an example of the documentation changes its line.
    let (item, rest) = test.split_once(" (line ").unwrap_or((test, ""));
    let rest = rest.split_once(')').map_or("", |(_, rest)| rest);
    (verdict == "ok" || verdict == "FAILED").then(|| format!("{item}{rest}"))
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

/// `ok 3 - adds`, `not ok 4 - subtracts # time=1ms`
fn tap(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let failed = line.starts_with("not ");
    let (number, test) = line.strip_prefix("not ").unwrap_or(line).strip_prefix("ok ")?.split_once(" - ")?;
    let skipped = test.to_ascii_uppercase().contains("# SKIP");
    let test = test.split(" # ").next().unwrap_or(test);
    let counts = number.bytes().all(|b| b.is_ascii_digit()) && !skipped && !(failed && is_unloaded(test));
    counts.then_some(test)
}

/// `  ✓  1 [chromium] › tests/a.spec.ts:3:5 › suite › title (12ms)`: the number and the line change with tests above it.
fn playwright(line: &str) -> Option<String> {
    let found = PLAYWRIGHT.captures(line)?;
    Some(format!("{}{}", &found[1], &found[2]))
}

/// `✔ adds (3 ms)`, `✖ subtracts`, `✖ divides (0.13ms) # not yet`, Node's `▶ total (2.1ms)` at the end of a suite; of Vitest
/// `❯ tests/price.test.mjs (4 tests | 3 failed) 28ms` and `✓ tests/price.test.mjs > total > adds 0ms`.
fn marked(line: &str) -> Option<&str> {
    let (mark, rest) = line.trim_start().split_once(' ')?;
    let indent = line.len() - line.trim_start_matches(' ').len();
    let failed = matches!(mark, "✕" | "✖" | "✗" | "×");
    let plain = failed || matches!(mark, "✓" | "✔");
    // At such a depth Vitest names tests, and only of a file in which one fails or is slow.
    if !plain && !matches!(mark, "❯" | "▶") || indent > 1 && indent % 2 == 1 {
        return None;
    }
    if let Some((file, count)) = file(rest).filter(|(_, count)| plain || !count.is_empty()) {
        let is_empty = count.starts_with("0 test");
        let is_gone = failed && is_unloaded(file);
        return Some(file).filter(|_| !is_empty && !is_gone);
    }
    let noted = rest.rsplit_once(" # ").map(|(test, _)| test).filter(|test| bracketed(test).is_some());
    let test = noted.unwrap_or(rest);
    let timed = bracketed(test);
    let test = timed.unwrap_or(test);
    // Jest names no duration below a millisecond, so a name that ends like one loses that, too.
    let test = test.rsplit_once(' ').filter(|(_, end)| is_duration(end)).map_or(test, |(test, _)| test);
    let of_the_tool = test == "failing tests:" || test == "built in" || test.ends_with(" modules transformed.");
    ((plain || mark == "▶" && timed.is_some()) && !of_the_tool).then_some(test)
}

/// A script and what is in the brackets behind it: `tests/good.test.mjs (1 test) 3ms`.
fn file(rest: &str) -> Option<(&str, &str)> {
    let counted = rest.split_once(" (").filter(|(_, count)| count.starts_with(|c: char| c.is_ascii_digit()));
    let (file, count) = counted.unwrap_or((rest, ""));
    let file = file.trim_end();
    is_script(file).then_some((file, count))
}

/// Whether a failed test of this name stands for a file that could not be loaded, which has other names once it can be.
fn is_unloaded(name: &str) -> bool {
    is_script(name) && !name.contains(' ')
}

/// What stands before a duration in brackets at the end.
fn bracketed(text: &str) -> Option<&str> {
    let (test, time) = text.strip_suffix(')')?.rsplit_once(" (")?;
    is_duration(time).then_some(test)
}

/// `3ms`, `0.133128ms`, `7 ms`, `1m 3s`
fn is_duration(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.ends_with(['s', 'm'])
        && text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ' ' | 'm' | 's' | 'µ'))
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

    fn of(tool: &str, case: &str) -> Vec<String> {
        let path = format!("{}/tests/fixtures/checks/{tool}/{case}.txt", env!("CARGO_MANIFEST_DIR"));
        named(&std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{path}: {why}")))
    }

    #[test]
    fn of_vitest_files_are_named_whose_tests_pass_or_fail_and_without_how_long_they_took() {
        assert_eq!(of("vitest", "passing"), ["tests/good.test.mjs"]);
        assert_eq!(of("vitest", "failing"), ["tests/good.test.mjs", "tests/price.test.mjs"]);
        let mended =
            " ✓ tests/price.test.mjs (5 tests) 31ms\n   ✓ total > cents  301ms\n ✓ tests/good.test.mjs (1 test) 6ms\n";
        assert_eq!(named(mended), of("vitest", "failing"));
        assert_eq!(named(" ❯ tests/broken.test.mjs (0 test)\n ❯ tests/a.test.mjs:2:1\n"), [""; 0]);
        let verbose = [
            "tests/good.test.mjs > adds",
            "tests/price.test.mjs > total > adds",
            "tests/price.test.mjs > total > cents",
            "tests/price.test.mjs > total > garbage",
            "tests/price.test.mjs > total > objects",
        ];
        assert_eq!(of("vitest", "verbose"), verbose);
        assert_eq!(named("✓ 34 modules transformed.\n✓ built in 532ms\n"), [""; 0]);
    }

    #[test]
    fn of_node_headings_and_files_that_could_not_be_loaded_are_no_tests() {
        let all = [
            "cents",
            "esm",
            "first",
            "is empty",
            "odd ones",
            "says why",
            "second",
            "sums",
            "throws",
            "todo",
            "total",
            "waits",
            "whole",
            "with parts",
        ];
        for case in ["spec", "tap", "tap-24"] {
            assert_eq!(of("node", case), all, "{case}");
        }
        assert_eq!(of("node", "spec-24"), all.into_iter().filter(|name| *name != "todo").collect::<Vec<_>>());
        assert_eq!(of("node", "spec-passing"), of("node", "tap-passing"));
        let mended = "✔ issue # 4 (0.1ms) # not yet\n▶ total\n  ✔ sums (1ms)\n▶ total (2.1ms)\n✔ test/plain.js (9ms)\n";
        assert_eq!(named(mended), ["issue # 4", "sums", "test/plain.js", "total"]);
        assert_eq!(named("✓ retries after 100ms\n"), named("✕ retries after 200ms (3 ms)\n"));
        assert_eq!(named("✓ handles (2 items)\n"), ["handles (2 items)"]);
    }

    #[test]
    fn of_playwrights_list_neither_number_nor_line_nor_retry_is_part_of_a_name() {
        let all = [
            "[node] › tests/other.spec.ts › waits",
            "[node] › tests/price.spec.ts › adds",
            "[node] › tests/price.spec.ts › parses cents",
            "[node] › tests/price.spec.ts › rounds up",
            "[node] › tests/price.spec.ts › total › is empty",
        ];
        assert_eq!(of("playwright", "list"), all);
        let mut added = of("playwright", "list-added");
        added.retain(|name| name != "[node] › tests/price.spec.ts › subtracts");
        assert_eq!(added, all, "one test more above them");
        let plain: Vec<&str> = all.iter().filter_map(|name| name.strip_prefix("[node] › ")).collect();
        assert_eq!(of("playwright", "retried"), plain);
        let line = "  ✓  12 a b.spec.ts:3:5 › at 3:5 › takes 100ms (1.0m)\n";
        assert_eq!(named(line), ["a b.spec.ts › at 3:5 › takes 100ms"]);
    }

    #[test]
    fn what_changes_with_the_place_of_an_example_or_goes_with_an_error_is_no_name() {
        let doc = "test src/lib.rs - parse (line 5) ... ok\ntest src/lib.rs - (line 9) - compile fail ... FAILED\n";
        assert_eq!(named(doc), ["src/lib.rs - - compile fail", "src/lib.rs - parse"]);
        let all = [
            "test_cents (tests.test_price.Parse.test_cents)",
            "test_garbage (tests.test_price.Parse.test_garbage)",
            "test_many (tests.test_price.Parse.test_many)",
            "test_raises (tests.test_price.Total.test_raises)",
            "test_sums (tests.test_price.Total.test_sums)",
            "test_text (tests.test_price.Total.test_text)",
            "test_whole (tests.test_price.Parse.test_whole)",
        ];
        assert_eq!(of("unittest", "verbose"), all);
        assert_eq!(named("setUpClass (tests.test_price.Parse) ... ERROR\n"), [""; 0]);
        let failed = "test_a (unittest.loader._FailedTest.test_a) ... ERROR";
        assert_eq!(names(failed).count(), 1, "whoever counts tests leaves it out");
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
