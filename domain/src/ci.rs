//! The forge's CI on a finished commit: what is waited for, and what it said.

use crate::{Commit, Millis, State, Task};
use serde::{Deserialize, Serialize};

/// For how long the CI of finished work is waited for, and what counts as it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CiWait {
    /// Minutes after which the review is posted without a result.
    pub timeout_min: u32,
    /// Glob patterns of commit statuses' contexts; each has to be met by one, and others do not count.
    pub contexts: Vec<String>,
}

/// The wait for the CI of a finished commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CiAwaited {
    /// Number of the checkpoint that is being published.
    pub n: u32,
    /// The commit whose statuses are read.
    pub commit: Commit,
    /// Unix milliseconds at which the wait began.
    pub at: Millis,
    /// What is waited for, as it was configured then.
    pub wait: CiWait,
}

/// How the wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CiOutcome {
    /// Every check that counts passed.
    Passed,
    /// At least one of them failed.
    Failed,
    /// Not all of them ended in time, and none had failed.
    Late,
    /// The forge has no status that counts.
    Nothing,
    /// The forge could not be read when the time was over.
    Unread,
}

/// What one check said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CiState {
    /// It passed, was skipped or only warned.
    Passed,
    /// It failed, or could not run.
    Failed,
    /// It has not ended.
    Pending,
    /// It was waited for by its name, and the forge never had a status of it.
    Missing,
}

/// The newest commit status of one context. Every text in it is untrusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CiCheck {
    /// The status's context, which names the check; at most 200 characters.
    pub context: String,
    /// What it said.
    pub state: CiState,
    /// Its one line for people; at most 300 characters.
    pub description: String,
    /// Address of a page about it, `http` or `https`; empty where it names none.
    pub url: String,
    /// The end of the forge's own log of the job, where it failed and the forge has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub log: String,
}

/// The end of the wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CiEnded {
    /// Number of the checkpoint that is being published.
    pub n: u32,
    /// The commit whose statuses were read.
    pub commit: Commit,
    /// How it ended.
    pub outcome: CiOutcome,
    /// What each check that counts said; failed ones first, at most 50.
    pub checks: Vec<CiCheck>,
    /// How many more checks count than are kept.
    #[serde(default)]
    pub more: u32,
    /// Whether the failures go back to the agent instead of to a person.
    #[serde(default)]
    pub returned: bool,
    /// Whether it is the upstream's CI, on what was brought there of this commit; the task has ended by then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub upstream: bool,
}

/// What the upstream's CI said of a commit that was brought there. Every text in it is untrusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpstreamChecks {
    /// The approved commit that was brought.
    pub commit: Commit,
    /// How it ended.
    pub outcome: CiOutcome,
    /// What each check said, failed ones first; at most 50.
    pub checks: Vec<CiCheck>,
    /// How many more checks there are than are kept.
    pub more: u32,
}

impl CiEnded {
    /// Whose CI it is, for a sentence.
    pub fn whose(&self) -> &'static str {
        if self.upstream { "the upstream's CI" } else { "the forge's CI" }
    }

    /// Whether a check failed.
    pub fn failed(&self) -> bool {
        self.outcome == CiOutcome::Failed
    }

    /// The ends of the failed jobs' logs, one after the other; empty where there are none. Untrusted.
    pub fn log(&self) -> String {
        let logs: Vec<&str> = self.failures().map(|check| check.log.as_str()).filter(|log| !log.is_empty()).collect();
        logs.join("\n")
    }

    /// The checks that failed.
    pub fn failures(&self) -> impl Iterator<Item = &CiCheck> {
        self.checks.iter().filter(|check| check.state == CiState::Failed)
    }
}

impl Task {
    /// The wait began.
    pub(crate) fn await_ci(&mut self, it: &CiAwaited) {
        self.state = State::AwaitingCi { n: it.n, commit: it.commit.clone() };
        self.ci_awaited = Some(it.clone());
    }

    /// The wait ended: the agent goes on, or the review is posted.
    pub(crate) fn end_ci(&mut self, it: &CiEnded) {
        let (n, commit) = (it.n, it.commit.clone());
        self.failures += u8::from(it.failed());
        self.state = if it.returned { State::Running } else { State::Verifying { n, commit } };
        (self.ci_awaited, self.ci) = (None, Some(it.clone()));
    }
}
