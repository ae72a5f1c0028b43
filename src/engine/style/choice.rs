//! Chooses the candidate of a round to write, and the one to mend.
//!
//! Owns the order of candidates: by the checks compared with the base, the issue's own examples, names in its sentences, agreement, names in
//! its code blocks, and size.
//! Pure. Tests: `round_tests.rs`.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use domain::{BaseRun, Example, Look, NewFile, Outcome, OutcomeStatus};

use super::asked::NewNames;
use super::record::{fewer_tests, passed};
use super::unseen::is_refused;
use crate::sandbox::items;

/// One answer that was tried in a copy.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Number of the answer's turn, from 1.
    pub turn: u32,
    /// The answer's text. Foreign.
    pub text: &'a str,
    /// The new text of the files that it changes.
    pub files: &'a [NewFile],
    /// The command of the project's checks.
    pub command: &'a str,
    /// Outcome of the checks, with the issue's own examples.
    pub ended: &'a Outcome,
    /// Later answers of the round with the same files, which were not tried again.
    pub repeats: usize,
}

/// What the issue names, compared with the round's first look.
pub(super) struct IssueNames {
    asked: NewNames,
    look: Look,
}

impl IssueNames {
    pub(super) fn of(words: &str, look: Look) -> IssueNames {
        IssueNames { asked: NewNames::of(words, &look), look }
    }

    pub(super) fn missing(&self, one: &Candidate<'_>) -> Vec<String> {
        self.asked.missing(one.files, &self.look)
    }

    fn missing_of_examples(&self, one: &Candidate<'_>) -> usize {
        self.asked.missing_of_examples(one.files)
    }
}

/// Whether the issue has examples and all of them hold with it.
pub(super) fn is_shown(one: &Candidate<'_>) -> bool {
    !one.ended.examples.is_empty() && one.ended.examples.iter().all(|example| example.holds)
}

/// Whether it achieves more than what was written in the previous round.
pub(super) fn is_better(one: &Candidate<'_>, before: &Candidate<'_>, base: Option<&BaseRun>) -> bool {
    let worth = |it: &Candidate<'_>| (!passed(it.ended, base), unmet(it).len(), failing(it.ended, base));
    worth(one) < worth(before)
}

pub(super) const PASSES: &str = "passes with it";

/// The verdict of the project's checks, if it allows the work to end.
pub(super) fn verdict(one: &Candidate<'_>, base: Option<&BaseRun>) -> Option<&'static str> {
    match passed(one.ended, base) {
        true => Some(PASSES),
        false => excused(one.ended, base).then_some("fails, as it does without it, and nothing fails that did not"),
    }
}

/// Examples of the issue that do not hold.
pub fn unmet<'a>(one: &Candidate<'a>) -> Vec<&'a Example> {
    one.ended.examples.iter().filter(|example| !example.holds).collect()
}

/// The candidate that lacks least of what the issue asks; of equals the one with the best checks. One that was refused was not tried, so
/// there is nothing to mend.
pub(super) fn nearest<'a>(all: &[Candidate<'a>], base: Option<&BaseRun>, asked: &IssueNames) -> Option<Candidate<'a>> {
    let lacks = |one: &&Candidate<'_>| {
        let lacking = unmet(one).len() + asked.missing(one).len();
        let failing = failing(one.ended, base);
        (lacking, !passed(one.ended, base), is_flawed(one.ended), newly(one.ended, base), failing, size(one))
    };
    all.iter().filter(|one| !is_refused(one.files, one.ended)).min_by_key(lacks).copied()
}

/// The candidate to write at the end of a round.
pub(super) fn best<'a>(all: &[Candidate<'a>], base: Option<&BaseRun>, asked: &IssueNames) -> Option<Candidate<'a>> {
    let votes = |other: &Candidate<'_>| 1 + other.repeats;
    let alike = |one: &Candidate<'_>| all.iter().filter(|other| same(one, other)).map(votes).sum::<usize>();
    // Examples that hold for no candidate make no difference.
    let held = all.iter().flat_map(|one| &one.ended.examples).filter(|example| example.holds);
    let met: BTreeSet<&str> = held.map(|example| example.says.as_str()).collect();
    let missed = |one: &Candidate<'_>| unmet(one).iter().filter(|it| met.contains(it.says.as_str())).count();
    let worth = |one: &&Candidate<'_>| {
        (
            // What was refused was not tried, and could not be written either.
            matches!(one.ended.status, OutcomeStatus::Denied { .. }) || is_refused(one.files, one.ended),
            !passed(one.ended, base),
            is_flawed(one.ended),
            newly(one.ended, base),
            missed(one),
            asked.missing(one).len(),
            failing(one.ended, base),
            Reverse(alike(one)),
            asked.missing_of_examples(one),
            size(one),
        )
    };
    all.iter().min_by_key(worth).copied()
}

fn same(one: &Candidate<'_>, other: &Candidate<'_>) -> bool {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let pairs = one.files.iter().zip(other.files);
    one.files.len() == other.files.len()
        && pairs.into_iter().all(|(a, b)| a.path == b.path && words(&a.content) == words(&b.content))
}

fn size(one: &Candidate<'_>) -> usize {
    one.files.iter().map(|file| file.content.len()).sum()
}

/// Number of failures that the base does not have; the maximum if the run failed and none can be parsed.
pub fn newly(ended: &Outcome, base: Option<&BaseRun>) -> usize {
    if passed(ended, base) {
        return 0;
    }
    let before = base.map(|base| items::failures(&base.tail)).unwrap_or_default();
    let now = items::failures(&ended.text);
    if now.is_empty() { usize::MAX } else { items::difference(&before, &now).new.len() }
}

/// Whether the files themselves contain a mistake, which tests may not cover.
pub(super) fn is_flawed(ended: &Outcome) -> bool {
    protocol::mistakes::findings(&ended.text).is_some()
}

fn failing(ended: &Outcome, base: Option<&BaseRun>) -> usize {
    if passed(ended, base) { 0 } else { items::failures(&ended.text).len() }
}

/// Whether the checks fail on the base too, and nothing else fails now, of as many tests.
pub(super) fn excused(ended: &Outcome, base: Option<&BaseRun>) -> bool {
    let red = base.is_some_and(|base| base.exit_code.is_some_and(|code| code != 0));
    let by_itself = matches!(ended.status, OutcomeStatus::Exited { .. } | OutcomeStatus::Ok);
    red && by_itself && newly(ended, base) == 0 && fewer_tests(ended, base).is_none()
}
