//! A repository's own rules for work in it, as they were at a task's base.

use crate::TaskKind;
use serde::{Deserialize, Serialize};

/// One file of rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RulesFile {
    /// Path relative to the repository's root.
    pub path: String,
    /// Its text or the beginning of it, written by people with write access to the base branch.
    pub text: String,
    /// Bytes that were cut off its end; 0 where it is whole.
    #[serde(default)]
    pub cut: u64,
}

/// Instructions of the repository's own for one kind of task, as they were at a task's base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindPrompt {
    /// The kind whose tasks are given them.
    pub kind: TaskKind,
    /// The file's text, written by people with write access to the base branch.
    pub text: String,
    /// Whether it stands in place of the bot's own instructions for the kind.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replaces: bool,
}

/// The rules that were read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// The files at the root, those with the highest priority first.
    pub files: Vec<RulesFile>,
    /// Paths of further files that apply to one folder.
    #[serde(default)]
    pub nested: Vec<String>,
    /// Those of [`Rules::nested`] that were read; none in logs of versions that only named them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<RulesFile>,
    /// Instructions for kinds of tasks, each kind once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<KindPrompt>,
}

impl Rules {
    /// Whether there are none, nor instructions for any kind.
    pub fn is_empty(&self) -> bool {
        !self.has_files() && self.prompts.is_empty()
    }

    /// Whether there are rules for every task.
    pub fn has_files(&self) -> bool {
        !self.files.is_empty() || !self.nested.is_empty() || !self.folders.is_empty()
    }

    /// Whether the rules for every task are those of another base.
    pub fn same_files(&self, other: &Rules) -> bool {
        self.files == other.files && self.nested == other.nested && self.folders == other.folders
    }

    /// The instructions for tasks of this kind.
    pub fn prompt_of(&self, kind: TaskKind) -> Option<&KindPrompt> {
        self.prompts.iter().find(|prompt| prompt.kind == kind)
    }
}
