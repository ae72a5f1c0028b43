//! A repository's own rules for work in it, as they stood at a task's base.

use serde::{Deserialize, Serialize};

/// One file of rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RulesFile {
    /// Relative to the repository's root.
    pub path: String,
    /// Its text, or the beginning of it. Of whoever may write to the base branch.
    pub text: String,
    /// Bytes behind that which are left out; 0 where it is whole.
    #[serde(default)]
    pub cut: u64,
}

/// What was read of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// The files at the root, the most binding first.
    pub files: Vec<RulesFile>,
    /// Paths of further files that hold for a folder; they are not read.
    #[serde(default)]
    pub nested: Vec<String>,
}

impl Rules {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.nested.is_empty()
    }
}
