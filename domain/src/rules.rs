//! A repository's own rules for work in it, as they were at a task's base.

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
}

impl Rules {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.nested.is_empty() && self.folders.is_empty()
    }
}
