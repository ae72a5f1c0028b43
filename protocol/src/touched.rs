//! Files of the workspace that an action touched, as the sandbox saw it; the same form in the protocol and in the log.
//!
//! Owns the form and its limits. The sandbox reports it, so it is untrusted: a checkpoint's commit decides what changed.

use serde::{Deserialize, Serialize};

/// The most changes that are named; further ones are only counted.
pub const MOST_CHANGES: usize = 200;
/// The most files named as read; further ones are only counted.
pub const MOST_READ: usize = 50;
/// Bytes of all names together.
pub const MOST_BYTES: usize = 16 << 10;

/// Files (regular ones and links, no directories) by their paths in the workspace in lossy UTF-8, without those below a `.git`. Untrusted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touched {
    /// Files that did not exist before. A moved file is here by its new name and in `deleted` by its old one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub created: Vec<String>,
    /// Files with another content, mode or number of links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// Files that no longer exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deleted: Vec<String>,
    /// How many more were created, changed or deleted than are named.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unnamed: u64,
    /// How many were created, changed or deleted that `.gitignore` matches; none of them is named here.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ignored: u64,
    /// Files that were only opened for reading and closed; reads in directories that the action created are not seen.
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
