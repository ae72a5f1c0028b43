//! What reviewers said, as a list of places and words.
//!
//! Owns: its form. Must not: decide whose words count; only words of people with write access are in the log's decisions.
//! Tests: `history_tests.rs`.

use domain::Item;

use super::fence::{Fence, Trust, seen};

/// One numbered entry for each remark: file and line, author, then the words in a fence.
pub(super) fn render(fence: &Fence, items: &[Item]) -> String {
    let entries: Vec<String> = items.iter().enumerate().map(|(at, item)| entry(fence, at + 1, item)).collect();
    entries.join("\n\n")
}

fn entry(fence: &Fence, number: usize, item: &Item) -> String {
    let place = match (&item.path, item.line) {
        (Some(path), Some(line)) => format!("`{}`, line {line}", fence.inline(path)),
        (Some(path), None) => format!("`{}`", fence.inline(path)),
        (None, _) => "in general".to_owned(),
    };
    let (words, _) = seen(&item.text);
    let block = fence.wrap(&format!("reviewer {}", item.author), Trust::Write, &words);
    format!("{number}. {place}\n{block}")
}
