//! What a task that reviews a person's pull request is about.

use crate::{Commit, FileChange};
use serde::{Deserialize, Serialize};

/// A pull request as it stood when its review was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullHead {
    /// The commit that is reviewed, whatever is pushed meanwhile.
    pub head: Commit,
    /// Name of the branch that the pull request goes to.
    pub target: String,
}

/// What the head of such a pull request changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The commit where the head left its target branch: what it is compared with.
    pub from: Commit,
    /// Files that differ, the first ones by name.
    pub files: Vec<FileChange>,
    /// How many further files differ.
    #[serde(default)]
    pub more_files: u64,
    /// The difference as git writes it, cut at a limit; empty where it is longer than is read. Untrusted.
    pub text: String,
    /// Bytes that were cut off its end, as far as they were counted.
    #[serde(default)]
    pub cut: u64,
    /// Whether it is not whole.
    #[serde(default)]
    pub partial: bool,
}
