//! Files in conflict after `/rebase` as items of each later review: open, or resolved at a commit. Pure. Their names are untrusted.
//!
//! Owns the section and the first line of a final review with an open one. Tests: below.

use super::items::{self, Wording};
use super::view::{CheckpointView, ItemsView};
use crate::text::{code, count};
use domain::{ConflictItem, ConflictState, Event, conflict_items};
use std::fmt::Write as _;

const WORDS: Wording = Wording {
    heading: "Conflicts with the newer base",
    closed: ["resolved since the last review", "resolved before"],
    noun: "file",
};

/// Where the conflicts of a log stand; `from` is where this review's part of the log begins.
pub(super) fn gather(log: &[Event], from: usize) -> ItemsView<ConflictItem> {
    let is_same = |old: &ConflictItem, item: &ConflictItem| old.number == item.number && old.state == item.state;
    items::gather(&conflict_items(&log[..from]), conflict_items(log), ConflictItem::is_open, is_same)
}

/// The section; empty where nothing ever conflicted.
pub(super) fn section(out: &mut String, view: &CheckpointView) {
    let line = |item: &ConflictItem| format!("**{}** {}: {}", item.name(), code(&item.path), state(item));
    items::section(out, &view.conflict_items, &WORDS, line);
}

/// First line of a final review in which a conflict is open.
pub(super) fn warning(out: &mut String, view: &CheckpointView) {
    let open = &view.conflict_items.open;
    if !open.is_empty() {
        let (number, names) = (count(open.len() as u64, "conflict"), items::names(open, ConflictItem::name));
        let _ = writeln!(out, "⚠️ **{number} with the newer base not seen to be resolved**: {names}.\n");
    }
}

fn state(item: &ConflictItem) -> String {
    let onto = item.onto.short();
    match &item.state {
        ConflictState::Open => {
            format!("open: git could not merge it onto `{onto}`, and its marks or only that base's version are left")
        }
        ConflictState::Resolved(commit) => {
            format!("resolved at `{}`: neither marks nor only `{onto}`'s version are left", commit.short())
        }
        ConflictState::Merged(base) => format!("git merged it alone onto the next base, `{}`", base.short()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Commit, Rebased};

    #[test]
    fn each_review_tells_which_conflicts_are_open_and_which_were_resolved_since_the_last() {
        let commit = |digit: &str| Commit::parse(&digit.repeat(40)).expect("a commit");
        let moved = |onto: &str, conflicts: &[&str]| {
            let conflicts = conflicts.iter().map(|path| (*path).to_owned()).collect();
            Event::Rebased(Box::new(Rebased { from: commit("0"), onto: commit(onto), head: commit("1"), conflicts }))
        };
        let log = [moved("a", &["x`](http://evil.test) @all.py", "y.py"]), moved("b", &["y.py"]), moved("c", &[])];
        let mut texts = Vec::new();
        for (from, to) in [(0, 0), (0, 1), (1, 2), (2, 3), (3, 3)] {
            let view = CheckpointView { conflict_items: gather(&log[..to], from), ..CheckpointView::default() };
            let mut out = String::new();
            warning(&mut out, &view);
            section(&mut out, &view);
            texts.push(out);
        }
        insta::assert_snapshot!("conflict_items", texts.join("---\n"));
    }
}
