//! Which files an action touched, as its sandbox told it: a claim, beside which the checkpoint's own difference decides.

use serde::{Deserialize, Serialize};

/// Files (regular ones and links, no directories), by their paths in the workspace; nothing below a `.git`. All of it is foreign.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touched {
    /// Were not there before. One that was moved is here by its new name and in `deleted` by its old one.
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
    /// Were opened to be read and closed, and nothing else.
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

    /// Whether a file that git does not ignore is another one than before.
    pub fn changed_work(&self) -> bool {
        self.changes() > self.ignored
    }
}
