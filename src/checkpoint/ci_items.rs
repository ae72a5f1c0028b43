//! The failures of the forge's CI as items of each later review: open, or gone at a commit. Pure. What the CI says is untrusted.
//!
//! Owns the section and the first line of a final review with an open one. Tests: below.

use super::items::{self, Wording};
use super::view::{CheckpointView, ItemsView};
use crate::text::{code, count};
use domain::{CiItem, CiItemState, Event, ci_items};
use std::fmt::Write as _;

const WORDS: Wording =
    Wording { heading: "Failures of the CI", closed: ["gone since the last review", "gone before"], noun: "check" };

/// Where the failures of a log stand; `from` is where this review's part of the log begins.
pub(super) fn gather(log: &[Event], from: usize) -> ItemsView<CiItem> {
    let is_same = |old: &CiItem, item: &CiItem| old.number == item.number && old.state == item.state;
    items::gather(&ci_items(&log[..from]), ci_items(log), CiItem::is_open, is_same)
}

/// The section; empty while no check failed.
pub(super) fn section(out: &mut String, view: &CheckpointView) {
    let whose = |item: &CiItem| if item.upstream { " of the upstream" } else { "" };
    let line =
        |item: &CiItem| format!("**{}** {}{}: {}", item.name(), code(&item.check.context), whose(item), state(item));
    items::section(out, &view.ci_items, &WORDS, line);
}

/// First line of a final review in which a failure is open though the newest commit's CI did not fail.
pub(super) fn warning(out: &mut String, view: &CheckpointView) {
    let failed = view.ci.as_ref().is_some_and(domain::CiEnded::failed);
    let open = &view.ci_items.open;
    if !failed && !open.is_empty() {
        let (number, names) = (count(open.len() as u64, "failure"), items::names(open, CiItem::name));
        let _ = writeln!(out, "⚠️ **{number} of the CI not seen to pass since**: {names}.\n");
    }
}

fn state(item: &CiItem) -> String {
    let failed = item.failed_on.short();
    match &item.state {
        CiItemState::Open if item.check.description.is_empty() => format!("open, failed on `{failed}`"),
        CiItemState::Open => format!("open, failed on `{failed}` ({})", code(&item.check.description)),
        CiItemState::Silent(commit) => {
            format!("open, failed on `{failed}`; it said nothing of `{}`", commit.short())
        }
        CiItemState::Gone(commit) => format!("gone at `{}`; it had failed on `{failed}`", commit.short()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{CiCheck, CiEnded, CiOutcome, CiState, Commit};

    fn ended(digit: &str, outcome: CiOutcome, checks: &[(&str, CiState)]) -> Event {
        let check = |(context, state): &(&str, CiState)| CiCheck {
            context: (*context).to_owned(),
            state: *state,
            description: "@all ](http://evil.test) `x".to_owned(),
            url: String::new(),
            log: String::new(),
        };
        let commit = Commit::parse(&digit.repeat(40)).expect("a commit");
        let checks = checks.iter().map(check).collect();
        Event::CiEnded(Box::new(CiEnded { n: 1, commit, outcome, checks, more: 0, returned: true, upstream: false }))
    }

    #[test]
    fn each_review_tells_what_is_open_and_what_went_away_since_the_last() {
        use CiState::{Failed, Passed, Pending};
        let log = [
            ended("a", CiOutcome::Failed, &[("build`](x)", Failed), ("lint", Failed), ("docs", Passed)]),
            ended("b", CiOutcome::Failed, &[("build`](x)", Passed), ("docs", Failed), ("lint", Pending)]),
            ended("c", CiOutcome::Passed, &[("build`](x)", Passed), ("docs", Passed)]),
        ];
        let mut texts = Vec::new();
        for (from, to) in [(0, 1), (1, 2), (2, 3), (3, 3)] {
            let view = CheckpointView { ci_items: gather(&log[..to], from), ..CheckpointView::default() };
            let mut out = String::new();
            warning(&mut out, &view);
            section(&mut out, &view);
            texts.push(out);
        }
        insta::assert_snapshot!("ci_items", texts.join("---\n"));
    }
}
