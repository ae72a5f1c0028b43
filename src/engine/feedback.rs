//! What reviewers said, as a list of places and texts.
//!
//! Owns: its form. Must not: decide whose texts count, or number them; the log's decisions only contain those of people with write access.
//! Tests: `history_tests.rs`.

use domain::{Item, OldLine};

use super::fence::{Fence, Trust, seen};

/// One entry per remark: its number, file and line, author, then the text in a fence. Where no remark has a number of the task, they are
/// counted from 1.
pub(super) fn render<'a>(fence: &Fence, items: impl IntoIterator<Item = (Option<u32>, &'a Item)>) -> String {
    let items: Vec<(Option<u32>, &Item)> = items.into_iter().collect();
    let numbered = items.iter().any(|(number, _)| number.is_some());
    let label = |at: usize, number: Option<u32>| match number {
        Some(number) => format!("r{number}:"),
        None if numbered => "-".to_owned(),
        None => format!("{}.", at + 1),
    };
    let entry = |(at, (number, item)): (usize, &(Option<u32>, &Item))| entry(fence, &label(at, *number), item);
    items.iter().enumerate().map(entry).collect::<Vec<_>>().join("\n\n")
}

/// A line of the old file, with its text, as `shown` escapes it, where that was removed.
pub(super) fn old_line(old: &OldLine, shown: impl FnOnce(&str) -> String) -> String {
    match &old.removed {
        Some(text) => format!("on removed line {} (`{}`)", old.line, shown(text.trim())),
        None => format!("on line {} of the old file", old.line),
    }
}

fn entry(fence: &Fence, label: &str, item: &Item) -> String {
    let place = match (&item.path, item.line, &item.old) {
        (Some(path), Some(line), _) => format!("`{}`, line {line}", fence.inline(path)),
        (Some(path), None, Some(old)) => {
            format!("`{}`, {}", fence.inline(path), old_line(old, |text| fence.inline(text)))
        }
        (Some(path), None, None) => format!("`{}`", fence.inline(path)),
        (None, _, _) => "in general".to_owned(),
    };
    let (words, _) = seen(&item.text);
    let block = fence.wrap(&format!("reviewer {}", item.author), Trust::Write, &words);
    format!("{label} {place}\n{block}")
}
