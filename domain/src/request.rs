//! What a task was asked for.

use crate::{
    Access, Account, ApprovedStart, Budget, Earlier, Grant, OwnCommand, PullHead, Source, TaskKind, Terms, Trigger,
};
use serde::{Deserialize, Serialize};

/// A place in a pull request's files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePosition {
    /// The file's path, as the pull request has it. Untrusted.
    pub path: String,
    /// Its line in the new version; none on a removed one.
    pub line: Option<u64>,
}

/// What was asked for, as it was when the command was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Whether the task may write.
    pub kind: TaskKind,
    /// The repository's key in the configuration.
    pub repository: String,
    /// Number of the issue in its repository.
    pub issue: u64,
    /// The issue's title. Untrusted.
    pub title: String,
    /// The issue's text, then the text after the command. Untrusted.
    pub body: String,
    /// The text after the command; may be empty. Untrusted.
    pub words: String,
    /// The place of the pull request that it is about, where the command stands on a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<FilePosition>,
    /// Account that gave the command, or did what stands for one.
    pub asker: Account,
    /// The asker's right to the code, asked when the command was read; none in logs of versions that did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right: Option<Access>,
    /// As [`crate::Decision::listed`], of the command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listed: Vec<String>,
    /// Account that opened the issue.
    pub issue_author: Account,
    /// Whether the asker's own issue was edited before the task began, or brought from elsewhere; whose words it holds is not known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
    /// The text that holds the command, or what stands for it.
    pub source: Source,
    /// Number of that text in the forge's order; 0 for the issue's own text.
    pub number: i64,
    /// `agent/<issue>-<slug>[-k]`.
    pub branch: String,
    /// Branch that the work begins from and the pull request aims at: the repository's default branch in the
    /// configuration.
    pub base_branch: String,
    /// Budget that the operator grants at the start.
    pub budget: Budget,
    /// Actions between two checkpoints, at most [`crate::ACTIONS_PER_CHECKPOINT`].
    pub every: u8,
    /// Whether the repository has an upstream; without one, a merge counts as delivery even before the final approval.
    pub has_upstream: bool,
    /// Hosts that were allowed for the repository when the task began.
    #[serde(default)]
    pub hosts: Vec<Grant>,
    /// The pull request that is to be reviewed; `issue` is its number. None for every other kind of task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull: Option<PullHead>,
    /// Options of the command; `budget` and `base_branch` already take them into account.
    #[serde(default, skip_serializing_if = "Terms::is_empty")]
    pub terms: Terms,
    /// The attempt that this one follows by `/retry`; none for a first attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Earlier>,
    /// What began it where nobody gave a command; `asker` is who did that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
    /// The command of the repository's own that began it; its text with the asker's words in it is `words`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<Box<OwnCommand>>,
}

impl Request {
    /// The approved checkpoint of an earlier attempt that its work begins from; none where it begins from the base.
    pub fn start(&self) -> Option<&ApprovedStart> {
        self.earlier.as_ref()?.from.as_deref()
    }

    /// Whether somebody else than its asker opened or may have edited the issue, so that nobody with write access stands for its words.
    pub fn of_stranger(&self) -> bool {
        self.edited || self.issue_author.id != self.asker.id
    }
}
