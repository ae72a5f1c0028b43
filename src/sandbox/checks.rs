//! Whether a run of a project's checks says anything: they ran, or what was to run them did not get that far.
//!
//! Owns the difference between a test that fails, which is what many tasks begin with, and checks that cannot run. Read from an exit
//! code and an output that code under review printed: it warns people and ranks commands, and is never a verdict. Pure. Tests: below.

use protocol::runner::{Outcome, Status};

use super::verification::verify::exit_code;
use super::verification::{ran, report};

/// How a run of checks stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// They ended with 0. `tests`: how many ran; none where the output does not tell.
    Pass {
        /// How many tests ran; none where the output does not tell.
        tests: Option<u64>,
    },
    /// Tests ran, and the exit code is not 0.
    Fail {
        /// How many tests ran.
        tests: u64,
    },
    /// Not one test ran.
    Nothing,
    /// They did not end by themselves: what ran out.
    Stopped(&'static str),
}

impl Standing {
    /// Whether a verdict on a change could rest on such checks.
    pub fn run(&self) -> bool {
        matches!(self, Self::Pass { .. } | Self::Fail { .. })
    }

    /// The better one is greater: passing before failing, then more tests before fewer.
    pub fn rank(&self) -> (u8, u64) {
        match self {
            Self::Pass { tests } => (3, tests.unwrap_or(0)),
            Self::Fail { tests } => (2, *tests),
            Self::Stopped(_) => (1, 0),
            Self::Nothing => (0, 0),
        }
    }
}

/// How a run of checks stands, from how it ended and what it printed.
pub fn standing(outcome: &Outcome) -> Standing {
    match &outcome.status {
        Status::TimedOut => return Standing::Stopped("they took longer than they may (`sandbox.verify_wall_s`)"),
        Status::OutOfMemory => return Standing::Stopped("they ran out of memory (`sandbox.memory_mib`)"),
        Status::OutOfPids => return Standing::Stopped("they started more processes than they may (`sandbox.pids`)"),
        Status::DiskFull | Status::DiskSpent { .. } => {
            return Standing::Stopped("they ran out of space (`sandbox.disk_mib`)");
        }
        Status::Failed { .. } | Status::Cancelled => return Standing::Stopped("their sandbox ended before they did"),
        Status::Ok | Status::Exited { .. } | Status::Signaled { .. } => {}
    }
    match (exit_code(&outcome.status), tests(&outcome.text)) {
        (_, Some(0)) => Standing::Nothing,
        (Some(0), tests) => Standing::Pass { tests },
        (_, Some(tests)) => Standing::Fail { tests },
        (_, None) => Standing::Nothing,
    }
}

/// How many tests ran, by their names or by a summary's numbers, whichever are more: of a long output only a part is there. A file that
/// could not be read is none, though programs count it.
fn tests(text: &str) -> Option<u64> {
    let names: Vec<String> = report::names(text).collect();
    let real = names.iter().filter(|name| !name.contains("_FailedTest")).count() as u64;
    match (names.is_empty(), real, ran::executed(text)) {
        (true, _, summed) => summed,
        (false, 0, _) => Some(0),
        (false, real, summed) => Some(real.max(summed.unwrap_or(0))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stands(code: i32, text: &str) -> Standing {
        let status = if code == 0 { Status::Ok } else { Status::Exited { code } };
        standing(&Outcome { duration_ms: 1, ..Outcome::new(status, text) })
    }

    #[test]
    fn a_failing_test_is_no_broken_base() {
        let failing = "FAILED tests/test_a.py::test_one - assert 1\nPASSED tests/test_a.py::test_two\n1 failed, 1 passed in 0.1s\n";
        assert_eq!(stands(1, failing), Standing::Fail { tests: 2 });
        assert_eq!(stands(0, "===== 3 passed in 0.10s ====="), Standing::Pass { tests: Some(3) });
        let cut = "[cut] PASSED tests/test_a.py::test_two\n===== 1 failed, 99 passed in 0.10s =====";
        assert_eq!(stands(1, &format!("FAILED t.py::x - no\n{cut}")), Standing::Fail { tests: 100 });
        assert_eq!(stands(0, "PASS\n"), Standing::Pass { tests: None });
        assert_eq!(stands(1, "Tests:       1 failed, 3 passed, 4 total\n"), Standing::Fail { tests: 4 });
        assert_eq!(
            stands(101, "test a ... FAILED\ntest result: FAILED. 0 passed; 1 failed\n"),
            Standing::Fail { tests: 1 }
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
        ] {
            assert_eq!(stands(code, text), Standing::Nothing, "{text}");
        }
        let hung = Outcome { duration_ms: 1, ..Outcome::new(Status::TimedOut, "") };
        assert!(!standing(&hung).run() && standing(&hung).rank() > Standing::Nothing.rank());
        assert!(stands(0, "1 passed in 0.1s").rank() > stands(1, "1 failed, 9 passed in 0.1s").rank());
    }
}
