//! Options of the command that starts a task, and the earlier attempt that a `/retry` follows.

use crate::{Account, Budget, Commit, Decision, TaskId};
use serde::{Deserialize, Serialize};

/// Options of `/fix` or `/plan` as written; whether they are allowed is judged before a task begins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// Budget in place of the operator's amounts; 0 in a kind keeps the operator's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// Name of the toolchain whose image the sandbox is made from, in place of what the repository asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolchain: Option<String>,
    /// Id of the model's entry that answers in place of its role's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Name of the branch that the work begins from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

impl Terms {
    /// Whether no option was given.
    pub fn is_empty(&self) -> bool {
        *self == Terms::default()
    }
}

/// A model that somebody named for a running task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelChosen {
    /// Id of its entry in the configuration.
    pub id: String,
    /// The `/model` that named it.
    pub decision: Box<Decision>,
}

/// The attempt at the same request that ended before this one began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Earlier {
    /// Its number.
    pub task: TaskId,
    /// What it did and how it ended, one line each. Partly untrusted.
    pub tried: Vec<String>,
    /// The checkpoint of it that this one goes on from; none = it begins from its base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Box<ApprovedStart>>,
    /// What the upstream's CI said last of what that attempt had brought there, if something failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream_ci: Option<Box<crate::CiEnded>>,
}

/// A checkpoint that was approved, as the work of a later attempt begins there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovedStart {
    /// Its number in its task.
    pub n: u32,
    /// Its commit.
    pub commit: Commit,
    /// The base on which it stood, which is the new attempt's too.
    pub base: Commit,
    /// Who approved it.
    pub by: Account,
}
