//! On what terms a task begins: what stands beside the words of the command that asks for it, and what an earlier attempt came to.

use crate::{Budget, TaskId};
use serde::{Deserialize, Serialize};

/// What a person asked for with options of `/fix` or `/plan`, as written; whether it is to be had is judged before a task begins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// What the task may use in place of the operator's amounts, kind by kind; 0 in a kind asks for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// Name of the toolchain whose image the sandbox is made from, in place of what the repository asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolchain: Option<String>,
    /// Id of the model's entry that is asked in place of its role's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Name of the branch that the work begins from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

impl Terms {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Terms::default()
    }
}

/// An attempt at the same words that ended before this one began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Earlier {
    /// Its number.
    pub task: TaskId,
    /// What it did and came to, one line each. Foreign in part.
    pub tried: Vec<String>,
}
