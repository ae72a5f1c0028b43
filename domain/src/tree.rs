//! The tree of a checkpoint after the quarantine.

use crate::Commit;
use serde::{Deserialize, Serialize};

/// One file that differs from the last checkpoint's commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Path relative to the repository's root, as lossy UTF-8. Untrusted.
    pub path: String,
    /// Lines added; 0 for a binary file.
    pub added: u64,
    /// Lines removed; 0 for a binary file.
    pub removed: u64,
    /// `added`, `modified`, `deleted`, `renamed`, `mode` or `binary`.
    pub kind: String,
    /// Its present size in bytes; none when it was deleted, and in older logs.
    #[serde(default)]
    pub bytes: Option<u64>,
}

/// The commit that the bot made of one checkpoint's tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedTree {
    /// The commit that was made of the tree.
    pub commit: Commit,
    /// Every file that differs from the commit's parent.
    pub files: Vec<FileChange>,
    /// Diff against the last checkpoint's commit, cut at a limit.
    pub diff: String,
    /// Bytes that were cut off the diff's end.
    #[serde(default)]
    pub diff_cut: u64,
    /// Changed files that define or steer tests.
    pub steering: Vec<String>,
    /// Paths that were left out of the commit as by-products of known tools. Untrusted.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// Files that the commit changes against the task's base and that a task of this kind may not change. Foreign.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
    /// Files that could not be merged onto a newer base by themselves and still hold marks of a conflict. Foreign.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marked: Vec<String>,
}
