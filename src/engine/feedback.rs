//! What reviewers said, as a list of places and texts.
//!
//! Owns: its form. Must not: decide whose texts count; the log's decisions only contain those of people with write access. Tests:
//! `history_tests.rs`.

use domain::Item;

use super::fence::{Fence, Trust, seen};

/// One numbered entry per remark: file and line, author, then the text in a fence.
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
