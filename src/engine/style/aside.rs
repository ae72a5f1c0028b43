//! Blocks of an answer that are no file of it.
//!
//! Owns: which block is a difference. Judged by its first words and lines alone. Tests: `answer_tests.rs`.

use super::blocks::Block;

/// Whether it is a difference and not the text of a file.
pub(super) fn is_diff(block: &Block<'_>) -> bool {
    let word = block.info.split_whitespace().next().unwrap_or_default().to_lowercase();
    let first = block.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    matches!(word.as_str(), "diff" | "patch")
        || ["@@ -", "--- a/", "diff --git "].iter().any(|mark| first.starts_with(mark))
}
