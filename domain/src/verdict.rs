//! Results of the bot's own run of a project's tests.

use crate::Against;
use serde::{Deserialize, Serialize};

/// Overall result of the run.
#[derive(Debug, Clone, Default, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// The test command ended with exit code 0, and no test of the base's run is missing.
    Passed,
    /// The test command ended otherwise or was ended, tests of the base's run are missing, or the commit
    /// changes what the task may not.
    Failed,
    /// No test command is known, or it ended with exit code 0 and its output says that no test ran: nothing shows that the work is right or
    /// wrong.
    #[default]
    None,
}

/// The result of a verdict as people and models are shown it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VerdictCase {
    /// The checks ended with exit code 0, and no test of the base is missing.
    Passed,
    /// They failed or were ended, or tests of the base are missing.
    Failed,
    /// They ended with exit code 0, and their output says that no test ran.
    NoTest,
    /// There was no command to run.
    #[default]
    None,
}

/// Result of the base's tests on the commit's sources, which shows whether changes of the tests made the difference.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "tests", rename_all = "snake_case")]
pub enum BaseTests {
    /// No file that defines or steers tests differs, so there is no second run.
    #[default]
    Same,
    /// The second run was made.
    Ran {
        /// Exit code of that run, 128 plus the number for a signal; none where it was ended.
        exit_code: Option<i32>,
    },
}

/// Result of the bot's own run of the project's tests on the exact commit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Overall result.
    pub kind: VerdictKind,
    /// The project's test command; none where none is known.
    pub command: Option<String>,
    /// Where the command comes from: `.caisson.toml` or the file it was detected by.
    pub origin: Option<String>,
    /// Exit code on the commit, 128 plus the number for a signal; none where the run was ended or not made.
    pub exit_code: Option<i32>,
    /// Exit code on the task's base, in the same way.
    pub base_exit_code: Option<i32>,
    /// Result of the base's tests on the commit's sources.
    #[serde(default)]
    pub base_tests: BaseTests,
    /// Tests that the base's run reported and the compared run did not; at most 50 names. Untrusted.
    #[serde(default)]
    pub missing: Vec<String>,
    /// How many tests of the base were looked for by name; 0 when its report names none.
    #[serde(default)]
    pub looked_for: u32,
    /// Whether the base's run named tests that could not be looked for, because an output was cut or a run did not end by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_compared: bool,
    /// What the run on the commit reports that the run on the base does not.
    #[serde(default, skip_serializing_if = "nothing")]
    pub against_base: Against,
    /// Files that the commit changes and that a task of this kind may not change; then the verdict is [`VerdictKind::Failed`]. Foreign.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
    /// End of the output, printed by code under review. Untrusted.
    pub tail: String,
    /// Milliseconds of the run on the commit; 0 where none was made.
    pub duration_ms: u64,
}

impl Verdict {
    /// The result as it is shown.
    pub fn case(&self) -> VerdictCase {
        match self.kind {
            VerdictKind::Passed => VerdictCase::Passed,
            VerdictKind::Failed => VerdictCase::Failed,
            VerdictKind::None if self.command.is_some() => VerdictCase::NoTest,
            VerdictKind::None => VerdictCase::None,
        }
    }

    /// Whether the command ended well and only tests of the base's run are missing, so that no test is known to fail.
    pub fn only_lacks_tests(&self) -> bool {
        self.exit_code == Some(0) && !self.missing.is_empty()
    }
}

fn nothing(against: &Against) -> bool {
    *against == Against::default()
}
