//! Which files of the workspace an action touched, as the sandbox saw it: on the wire as in the log.
//!
//! Owns the shape and its bounds. It is the sandbox's own word: what a checkpoint's commit changes decides.

use serde::{Deserialize, Serialize};

/// Changes that are named; further ones are counted.
pub const MOST_CHANGES: usize = 200;
/// Files that are named as read; further ones are counted.
pub const MOST_READ: usize = 50;
/// Bytes of all names together.
pub const MOST_BYTES: usize = 16 << 10;

/// Files (regular ones and links, no directories), by their paths in the workspace in lossy UTF-8. Nothing below a `.git`. Untrusted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touched {
    /// Were not there before. A file that was moved is here by its new name and in `deleted` by its old one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub created: Vec<String>,
    /// Have another content, mode or number of names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// Are no longer there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deleted: Vec<String>,
    /// How many more were created, changed or deleted than are named.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unnamed: u64,
    /// How many were created, changed or deleted that `.gitignore` names; none of them is named here.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ignored: u64,
    /// Were opened to be read and closed, and nothing else. Those of directories that the action made are not seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// How many more were read than are named, as far as they were counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub read_unnamed: u64,
    /// What could not be seen, in a sentence; none where everything could.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseen: Option<String>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Touched {
    /// How many files were created, changed or deleted, those that are only counted too.
    pub fn changes(&self) -> u64 {
        let named = self.created.len() + self.changed.len() + self.deleted.len();
        (named as u64).saturating_add(self.unnamed).saturating_add(self.ignored)
    }
}
