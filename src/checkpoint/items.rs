//! Things that a review lists with a number and a state: what is open, and what was closed since the last review. Pure. Each kind words its own
//! (`ci_items.rs`, `conflict_items.rs`). Tests: there.

use super::view::ItemsView;
use crate::text::count;
use std::fmt::Write as _;

/// The most items that are shown of each state.
pub(super) const MOST: usize = 20;

/// How a kind of items is worded.
pub(super) struct Wording {
    /// Heading of its section.
    pub heading: &'static str,
    /// What is said of those that were closed since the last review, and before it.
    pub closed: [&'static str; 2],
    /// What each is about, as a noun.
    pub noun: &'static str,
}

/// The items of `now` by where they stand, beside those `before` this review's part of the log.
pub(super) fn gather<T>(
    before: &[T],
    now: Vec<T>,
    is_open: impl Fn(&T) -> bool,
    is_same: impl Fn(&T, &T) -> bool,
) -> ItemsView<T> {
    let (open, closed): (Vec<T>, Vec<T>) = now.into_iter().partition(is_open);
    let (settled, closed): (Vec<T>, Vec<T>) =
        closed.into_iter().partition(|item| before.iter().any(|old| is_same(old, item)));
    ItemsView { open, closed, settled: settled.len() }
}

/// The section; empty where there never was an item.
pub(super) fn section<T>(out: &mut String, view: &ItemsView<T>, words: &Wording, line: impl Fn(&T) -> String) {
    let ItemsView { open, closed, settled } = view;
    let [since, before] = words.closed;
    let counted = [(open.len(), "open"), (closed.len(), since), (*settled, before)];
    let counted: Vec<String> =
        counted.iter().filter(|(number, _)| *number > 0).map(|(number, what)| format!("{number} {what}")).collect();
    if counted.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n**{}** — {}\n", words.heading, counted.join(", "));
    for items in [open, closed] {
        for item in items.iter().take(MOST) {
            let _ = writeln!(out, "- {}", line(item));
        }
        if items.len() > MOST {
            let _ = writeln!(out, "- and {} more", count((items.len() - MOST) as u64, words.noun));
        }
    }
    out.push('\n');
}

/// The names of the first items.
pub(super) fn names<T>(items: &[T], name: impl Fn(&T) -> String) -> String {
    items.iter().take(MOST).map(name).collect::<Vec<_>>().join(", ")
}
