//! A command that somebody has run on a branch, and what came of it. No task's: it is stored by itself.

use crate::{Commit, TestCounts};
use serde::{Deserialize, Serialize};

/// What is run, as it stood when the command was taken up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestRun {
    /// What is run. Foreign.
    pub command: String,
    /// What is run before it in the same sandbox; none where nothing is. Foreign.
    pub setup: Option<String>,
    /// Whether it is run on the base as well, to see that it fails there.
    pub bug: bool,
    /// Name of the branch.
    pub branch: String,
    /// The commit that the branch stood at.
    pub commit: Commit,
    /// Name of the branch that it is compared with, or is to go to.
    pub base_branch: String,
    /// Whether it is run again at each push to the pull request where it was asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub each_push: bool,
}

impl TestRun {
    /// Context of its commit status, of its own for each of the two commands: a branch protection may want the one.
    pub fn context(&self) -> &'static str {
        if self.bug { "caisson/test-bug" } else { "caisson/test" }
    }

    /// Whether it is on the head of a fork's pull request, under the name by which the forge keeps that.
    pub fn is_of_fork(&self) -> bool {
        self.branch.starts_with("pull/") && self.branch.ends_with("/head")
    }
}

/// How a command ended on one commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestExit {
    /// None where it did not end by itself: `tail` begins with why.
    pub exit_code: Option<i32>,
    /// It is the setup that ended so; what was to be tested did not run.
    pub at_setup: bool,
    /// Milliseconds that it took, setup included.
    pub duration_ms: u64,
    /// The end of what it printed. Foreign.
    pub tail: String,
    /// Whether it ended with exit code 0, and what it printed says that no test ran.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_test: bool,
}

/// A file of tests that tests less than it did, or of which that is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weaker {
    /// Relative to the repository's root. Foreign.
    pub path: String,
    /// Assertions on the base; in logs of earlier versions lines with one.
    pub before: u32,
    /// Assertions on the branch; 0 too where the file is gone.
    pub after: u32,
    /// All that was counted; none in logs of earlier versions, which counted assertions alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<TestCounts>,
}

/// The same command on the base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnBase {
    /// The commit that the branch has in common with the branch it goes to.
    pub commit: Commit,
    /// Files of tests, and of what steers them, that were laid over it from the branch.
    pub files: u32,
    /// Changed source files that hold tests of their own, which could not be laid over it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub within: u32,
    /// How it ended there.
    pub exit: TestExit,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum TestResult {
    /// It was run.
    Ran {
        /// On the branch.
        on_branch: TestExit,
        /// On the base, where that was asked for.
        on_base: Option<OnBase>,
        /// Files of tests that test less on the branch, or of which that is not known.
        weaker: Vec<Weaker>,
        /// What it could reach, as rules are written; empty where it had no network.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        hosts: Vec<String>,
    },
    /// It could not be run.
    NotRun {
        /// Why, as a sentence for a person.
        why: String,
    },
}

/// What a result says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestVerdict {
    /// It passed on the branch; nothing else was asked.
    Passes,
    /// It passed on the branch and says itself that no test ran, so it shows nothing.
    NoTest,
    /// It did not pass on the branch.
    Fails,
    /// It passes on the branch and fails on the base.
    Bug,
    /// It passes on the base too, and so shows nothing.
    PassesOnBase,
    /// It passes on the base too, where tests inside source files could not be laid over, and so shows nothing.
    NotLaidOver,
    /// It cannot be told: nothing was run, or on the base not what was to be tested.
    Unclear,
}

/// A shell's words for "cannot be executed" and "not found".
const NOT_EXECUTED: [i32; 2] = [126, 127];

impl TestResult {
    /// What it says.
    pub fn verdict(&self) -> TestVerdict {
        let TestResult::Ran { on_branch, on_base, .. } = self else { return TestVerdict::Unclear };
        let passes = |exit: &TestExit| exit.exit_code == Some(0) && !exit.at_setup;
        match on_base {
            _ if !passes(on_branch) => TestVerdict::Fails,
            _ if on_branch.no_test => TestVerdict::NoTest,
            None => TestVerdict::Passes,
            // The test itself may not have been there.
            Some(base) if passes(&base.exit) && base.within > 0 => TestVerdict::NotLaidOver,
            Some(base) if passes(&base.exit) => TestVerdict::PassesOnBase,
            Some(OnBase { exit: TestExit { at_setup: false, exit_code: Some(code), .. }, .. })
                if !NOT_EXECUTED.contains(code) =>
            {
                TestVerdict::Bug
            }
            Some(_) => TestVerdict::Unclear,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit(exit_code: Option<i32>) -> TestExit {
        TestExit { exit_code, at_setup: false, duration_ms: 1, tail: String::new(), no_test: false }
    }

    fn judged(on_branch: TestExit, on_base: Option<TestExit>) -> TestVerdict {
        let commit = Commit::parse(&"a".repeat(40)).expect("a commit");
        let on_base = on_base.map(|exit| OnBase { commit, files: 1, within: 0, exit });
        TestResult::Ran { on_branch, on_base, weaker: Vec::new(), hosts: Vec::new() }.verdict()
    }

    #[test]
    fn a_bug_is_shown_by_a_test_that_ran_and_failed_on_the_base_alone() {
        assert_eq!(judged(exit(Some(0)), None), TestVerdict::Passes);
        assert_eq!(judged(exit(Some(1)), None), TestVerdict::Fails);
        assert_eq!(judged(exit(None), None), TestVerdict::Fails, "it took too long");
        assert_eq!(judged(exit(Some(0)), Some(exit(Some(1)))), TestVerdict::Bug);
        assert_eq!(judged(exit(Some(0)), Some(exit(Some(0)))), TestVerdict::PassesOnBase);
        let commit = Commit::parse(&"a".repeat(40)).expect("a commit");
        for (on_base, said) in [
            (exit(Some(0)), TestVerdict::NotLaidOver),
            (exit(Some(1)), TestVerdict::Bug),
            (exit(None), TestVerdict::Unclear),
        ] {
            let on_base = Some(OnBase { commit: commit.clone(), files: 1, within: 1, exit: on_base });
            let inside = TestResult::Ran { on_branch: exit(Some(0)), on_base, weaker: Vec::new(), hosts: Vec::new() };
            assert_eq!(inside.verdict(), said, "its test may stand inside a source file");
        }
        assert_eq!(judged(exit(Some(1)), Some(exit(Some(1)))), TestVerdict::Fails);
        let setup = |code| TestExit { at_setup: true, ..exit(Some(code)) };
        assert_eq!(judged(setup(0), None), TestVerdict::Fails);
        for base in [exit(None), exit(Some(127)), setup(1)] {
            assert_eq!(judged(exit(Some(0)), Some(base)), TestVerdict::Unclear);
        }
        assert_eq!(TestResult::NotRun { why: String::new() }.verdict(), TestVerdict::Unclear);
        let none = TestExit { no_test: true, ..exit(Some(0)) };
        assert_eq!(judged(none.clone(), None), TestVerdict::NoTest);
        assert_eq!(judged(none, Some(exit(Some(1)))), TestVerdict::NoTest, "no test of the branch shows the bug");
    }
}
