//! Whether a run of a project's checks is meaningful: the checks ran, or could not be run.
//!
//! Distinguishes a failing test, with which many tasks begin, from checks that cannot run. Derived from an exit code and untrusted output,
//! it only warns people and ranks commands, and is never a verdict. Pure. Tests: below.

use protocol::runner::{Outcome, Status};

use super::test_counts;
use super::verification::output::exit_code;
use super::verification::report;

/// Result of a run of checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChecksResult {
    /// They ended with exit code 0.
    Pass {
        /// How many tests ran; none where the output does not tell.
        tests: Option<u64>,
    },
    /// Tests ran, and the exit code is not 0.
    Fail {
        /// How many tests ran.
        tests: u64,
    },
    /// No test ran.
    Nothing,
    /// They were ended because this ran out.
    Stopped(&'static str),
}

impl ChecksResult {
    /// Whether the checks ran, so that a verdict on a change could rely on them.
    pub fn run(&self) -> bool {
        matches!(self, Self::Pass { .. } | Self::Fail { .. })
    }

    /// Rank for comparison: passing is greater than failing, then more tests are greater than fewer.
    pub fn rank(&self) -> (u8, u64) {
        match self {
            Self::Pass { tests } => (3, tests.unwrap_or(0)),
            Self::Fail { tests } => (2, *tests),
            Self::Stopped(_) => (1, 0),
            Self::Nothing => (0, 0),
        }
    }
}

/// The result of a run, from its status and output.
pub fn standing(outcome: &Outcome) -> ChecksResult {
    match &outcome.status {
        Status::TimedOut => return ChecksResult::Stopped("they took longer than they may (`sandbox.verify_wall_s`)"),
        Status::OutOfMemory => return ChecksResult::Stopped("they ran out of memory (`sandbox.memory_mib`)"),
        Status::OutOfPids => {
            return ChecksResult::Stopped("they started more processes than they may (`sandbox.pids`)");
        }
        Status::DiskFull | Status::DiskSpent { .. } => {
            return ChecksResult::Stopped("they ran out of space (`sandbox.disk_mib`)");
        }
        Status::Failed { .. } | Status::Cancelled => {
            return ChecksResult::Stopped("their sandbox ended before they did");
        }
        Status::Ok | Status::Exited { .. } | Status::Signaled { .. } => {}
    }
    match (exit_code(&outcome.status), tests(&outcome.text)) {
        (_, Some(0)) => ChecksResult::Nothing,
        (Some(0), tests) => ChecksResult::Pass { tests },
        (_, Some(tests)) => ChecksResult::Fail { tests },
        (_, None) => ChecksResult::Nothing,
    }
}

/// Number of tests, by their names or by a summary, whichever is greater, because long output is incomplete. Skipped tests and files that
/// could not be loaded do not count, although some tools count them.
fn tests(text: &str) -> Option<u64> {
    let names: Vec<String> = report::names(text).collect();
    let real = names.iter().filter(|name| !name.contains("_FailedTest")).count() as u64;
    match (names.is_empty(), real, test_counts::unskipped(text)) {
        (true, _, summed) => summed,
        (false, 0, _) => Some(0),
        (false, real, summed) => Some(real.max(summed.unwrap_or(0))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stands(code: i32, text: &str) -> ChecksResult {
        let status = if code == 0 { Status::Ok } else { Status::Exited { code } };
        standing(&Outcome { duration_ms: 1, ..Outcome::new(status, text) })
    }

    #[test]
    fn a_failing_test_is_no_broken_base() {
        let failing = "FAILED tests/test_a.py::test_one - assert 1\nPASSED tests/test_a.py::test_two\n1 failed, 1 passed in 0.1s\n";
        assert_eq!(stands(1, failing), ChecksResult::Fail { tests: 2 });
        assert_eq!(stands(0, "===== 3 passed in 0.10s ====="), ChecksResult::Pass { tests: Some(3) });
        let cut = "[cut] PASSED tests/test_a.py::test_two\n===== 1 failed, 99 passed in 0.10s =====";
        assert_eq!(stands(1, &format!("FAILED t.py::x - no\n{cut}")), ChecksResult::Fail { tests: 100 });
        assert_eq!(stands(0, "PASS\n"), ChecksResult::Pass { tests: None });
        assert_eq!(stands(1, "Tests:       1 failed, 3 passed, 4 total\n"), ChecksResult::Fail { tests: 4 });
        let phpunit = "OK, but incomplete, skipped, or risky tests!\nTests: 2, Assertions: 1, Skipped: 1.\n";
        assert_eq!(stands(0, phpunit), ChecksResult::Pass { tests: Some(1) });
        let gradle = "> Task :test FAILED\n\n3 tests completed, 1 failed\n\nBUILD FAILED in 2s\n";
        assert_eq!(stands(1, gradle), ChecksResult::Fail { tests: 3 });
        assert_eq!(
            stands(101, "test a ... FAILED\ntest result: FAILED. 0 passed; 1 failed\n"),
            ChecksResult::Fail { tests: 1 }
        );
    }

    #[test]
    fn checks_that_get_nowhere_say_nothing() {
        let collect = "ERROR tests/test_a.py\nE   ModuleNotFoundError: No module named 'click'\n!!! Interrupted: 2 errors during collection !!!\n2 errors in 0.41s\n";
        for (code, text) in [
            (2, collect),
            (1, "test_a (unittest.loader._FailedTest.test_a) ... ERROR\nRan 1 test in 0.000s\n\nFAILED (errors=1)\n"),
            (127, "sh: 1: mocha: not found\n"),
            (101, "error: failed to download `serde v1.0.0`\n"),
            (5, "no tests ran in 0.01s\n"),
            (0, "Ran 0 tests in 0.000s\n\nOK\n"),
            (0, "?   \texample.com/sum\t[no test files]\n"),
            (0, "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored\n"),
            (0, "# tests 2\n# pass 0\n# skipped 2\n"),
        ] {
            assert_eq!(stands(code, text), ChecksResult::Nothing, "{text}");
        }
        let hung = Outcome { duration_ms: 1, ..Outcome::new(Status::TimedOut, "") };
        assert!(!standing(&hung).run() && standing(&hung).rank() > ChecksResult::Nothing.rank());
        assert!(stands(0, "1 passed in 0.1s").rank() > stands(1, "1 failed, 9 passed in 0.1s").rank());
    }
}
