//! What a checkpoint's tree became after the quarantine.

use crate::Commit;
use serde::{Deserialize, Serialize};

/// One file that differs from the last checkpoint's commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Relative to the repository's root, as lossy UTF-8. Foreign.
    pub path: String,
    /// Lines added; 0 for a binary file.
    pub added: u64,
    /// Lines removed; 0 for a binary file.
    pub removed: u64,
    /// "added", "modified", "deleted", "renamed", "mode", "binary".
    pub kind: String,
    /// Its size now, in bytes; none when it was deleted, and in older logs.
    #[serde(default)]
    pub bytes: Option<u64>,
}

/// One checkpoint's tree after quarantine: a commit of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedTree {
    /// The commit that was made of the tree.
    pub commit: Commit,
    /// Every file that differs from the commit's parent.
    pub files: Vec<FileChange>,
    /// Diff since the last checkpoint, capped.
    pub diff: String,
    /// Bytes that were cut off the diff's end.
    #[serde(default)]
    pub diff_cut: u64,
    /// Changed files that define or steer tests.
    pub steering: Vec<String>,
    /// Paths that stayed out of the commit as by-products of known tools. The sandbox's own word.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// Files that the commit changes against the task's base and that a task of this kind may not change. Foreign.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
}
