//! One command on one commit in a verification sandbox, as `caisson eval` uses it.
//!
//! Owns only the summary of such a run (`runs.rs` owns the sandbox, `test_counts.rs` the count of tests). All of it is untrusted. Tests: below;
//! the runs themselves in `tests/eval.rs`.

use protocol::runner::Outcome;

use super::output::{exit_code, tail};
use super::runs::Runs;
use crate::sandbox::test_counts::counted;
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
