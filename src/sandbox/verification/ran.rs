//! One command on one commit in a verification sandbox, as `caisson eval` uses it.
//!
//! Owns only the summary of such a run and its count of tests (`runs.rs` owns the sandbox). All of it is untrusted. Tests: below; the runs
//! themselves in `tests/eval.rs`.

use protocol::runner::Outcome;

use super::runs::Runs;
use super::verify::{exit_code, tail};
use crate::sandbox::{Result, SandboxError, VerifySpec};

/// Summary of one run of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// Exit code; none when it did not end by itself.
    pub exit_code: Option<i32>,
    /// Number of tests; none when its output has no summary of a known test program.
    pub tests: Option<u64>,
    /// Names of failed tests, as its program spells them.
    pub failed: Vec<String>,
    /// The end of the output.
    pub tail: String,
    /// Milliseconds of the run.
    pub duration_ms: u64,
}

impl Runs {
    /// Runs `spec.command` on `spec.commit` in a new sandbox without a network. `side` is a part of the container's name.
    ///
    /// # Errors
    /// As [`Verification::verify`](super::verify::Verification::verify); a command that fails or hangs is no error.
    pub async fn run_on(&self, spec: &VerifySpec, side: &str) -> Result<Ran> {
        let outcome = self.run_tests(spec, &spec.commit, command(spec)?, side, &[]).await?;
        Ok(Ran::of(&outcome))
    }

    /// As [`Runs::run_on`], with the base's versions of the files that steer tests; none where they do not differ.
    ///
    /// # Errors
    /// As [`Verification::verify`](super::verify::Verification::verify).
    pub async fn run_with_base_tests(&self, spec: &VerifySpec) -> Result<Option<Ran>> {
        Ok(self.with_base_tests(spec, command(spec)?).await?.as_ref().map(Ran::of))
    }
}

fn command(spec: &VerifySpec) -> Result<&str> {
    spec.command.as_deref().ok_or_else(|| SandboxError::Refused("no command is named".to_owned()))
}

impl Ran {
    fn of(outcome: &Outcome) -> Ran {
        Ran {
            exit_code: exit_code(&outcome.status),
            tests: counted(&outcome.text),
            failed: outcome.text.lines().filter_map(failed).collect(),
            tail: tail(outcome),
            duration_ms: outcome.duration_ms,
        }
    }

    /// As [`Ran::exit_code`].
    pub fn code(outcome: &Outcome) -> Option<i32> {
        exit_code(&outcome.status)
    }

    /// Whether it ended by itself with exit code 0.
    pub fn passed(&self) -> bool {
        self.exit_code == Some(0)
    }
}

/// The sum of all summaries of unittest, pytest, `cargo test`, node's runner and TAP.
fn counted(text: &str) -> Option<u64> {
    sum(text, &["passed", "failed", "error", "errors", "xfailed", "xpassed"])
}

/// As [`counted`], without pytest's errors, which are mostly files that could not be loaded.
pub(in crate::sandbox) fn executed(text: &str) -> Option<u64> {
    sum(text, &["passed", "failed", "xfailed", "xpassed"])
}

fn sum(text: &str, of_pytest: &[&str]) -> Option<u64> {
    let counts: Vec<u64> = text.lines().filter_map(|line| summary(line.trim(), of_pytest)).collect();
    (!counts.is_empty()).then(|| counts.iter().sum())
}

fn summary(line: &str, of_pytest: &[&str]) -> Option<u64> {
    let number = |text: &str| text.trim().parse::<u64>().ok();
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
    // `Tests:       1 failed, 3 passed, 4 total`
    if let Some(rest) = line.strip_prefix("Tests:") {
        return Some(worded(rest, &["passed", "failed"]));
    }
    // pytest: `=== 2 failed, 3 passed in 0.12s ===`, or with -q without the signs.
    let bare = line.trim_matches('=').trim();
    let (before, after) = bare.rsplit_once(" in ")?;
    let timed = after
        .split(' ')
        .next()
        .is_some_and(|time| time.ends_with('s') && time.starts_with(|c: char| c.is_ascii_digit()));
    let words = ["passed", "failed", "error", "xfailed", "xpassed"];
    (timed && words.iter().any(|word| before.contains(word))).then(|| worded(before, of_pytest))
}

/// Sum of the numbers before these words.
fn worded(text: &str, words: &[&str]) -> u64 {
    let parts: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).collect();
    let pairs = parts.windows(2).filter(|pair| words.contains(&pair[1]));
    pairs.filter_map(|pair| pair[0].parse::<u64>().ok()).sum()
}

/// The failed test in a line: `FAIL: test_a (t.T.test_a)`, `test a::b ... FAILED`, `FAILED t.py::test_a - …`, `not ok 3 - adds`, `✖ adds
/// (3ms)`.
fn failed(line: &str) -> Option<String> {
    let line = line.trim();
    if let Some(rest) = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: ")) {
        // Since Python 3.11 the parentheses contain the full name.
        let full = rest.split_once(" (").and_then(|(_, full)| full.split_once(')')).map(|(full, _)| full);
        return Some(full.unwrap_or(rest).to_owned());
    }
    if let Some(test) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
        return Some(test.to_owned());
    }
    if let Some(rest) = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR ")) {
        let node = rest.split(" - ").next()?.trim();
        return (node.contains("::") || node.ends_with(".py")).then(|| node.to_owned());
    }
    if let Some((number, test)) = line.strip_prefix("not ok ").and_then(|rest| rest.split_once(" - ")) {
        return number.bytes().all(|b| b.is_ascii_digit()).then(|| test.split(" # ").next().unwrap_or(test).to_owned());
    }
    let test = line.strip_prefix("✖ ").filter(|test| *test != "failing tests:")?;
    Some(test.rsplit_once(" (").map_or(test, |(test, _)| test).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("it works", None),
            ("passed in review, in time", None),
        ] {
            assert_eq!(counted(text), count, "{text}");
        }
    }

    #[test]
    fn failed_tests_are_named() {
        let names = |text: &str| text.lines().filter_map(failed).collect::<Vec<_>>();
        assert_eq!(names("FAIL: test_a (t.T.test_a)\nERROR: test_b (t.T.test_b)\nOK"), ["t.T.test_a", "t.T.test_b"]);
        assert_eq!(names("test a::b ... ok\ntest a::c ... FAILED\n"), ["a::c"]);
        assert_eq!(
            names("FAILED t.py::test_a - assert 1\nERROR t.py - ImportError\nFAILED (errors=1)"),
            ["t.py::test_a", "t.py"]
        );
        assert_eq!(
            names("not ok 2 - divides # time=1ms\nok 1 - adds\n✖ roots (1.2ms)\n✖ failing tests:"),
            ["divides", "roots"]
        );
    }
}
