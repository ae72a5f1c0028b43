//! Which candidate of a round is taken, and which is mended.
//!
//! Owns the order between candidates: the checks held against the base, the issue's own examples, what the issue names, agreement, size.
//! Pure. Tests: `round_tests.rs`.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use domain::{BaseRun, Example, Look, NewFile, Outcome, OutcomeStatus};

use super::asked::Asked;
use super::record::passed;
use crate::sandbox::items;

/// One answer that was tried.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Number of the turn that gave it, from 1.
    pub turn: u32,
    /// The text of the answer that gave it. Foreign.
    pub text: &'a str,
    /// The files that it changes, each as a whole.
    pub files: &'a [NewFile],
    /// The command that checks the project, which ran over these files.
    pub command: &'a str,
    /// How that run ended, the issue's own examples included.
    pub ended: &'a Outcome,
}

/// What the issue names, held against the round's first look.
pub(super) struct IssueNames {
    asked: Asked,
    look: Look,
}

impl IssueNames {
    pub(super) fn of(words: &str, look: Look) -> IssueNames {
        IssueNames { asked: Asked::of(words, &look), look }
    }

    pub(super) fn missing(&self, one: &Candidate<'_>) -> Vec<String> {
        self.asked.missing(one.files, &self.look)
    }
}

/// Whether the issue's own examples hold with it, and did not before.
pub(super) fn is_shown(one: &Candidate<'_>) -> bool {
    !one.ended.examples.is_empty() && one.ended.examples.iter().all(|example| example.holds)
}

/// Whether it does more than what was written in the round before.
pub(super) fn is_better(one: &Candidate<'_>, before: &Candidate<'_>) -> bool {
    let worth = |it: &Candidate<'_>| (!passed(it.ended), unmet(it).len(), failing(it.ended));
    worth(one) < worth(before)
}

pub(super) const PASSES: &str = "passes with it";

/// How the project's checks take it, where they allow that the work ends with it.
pub(super) fn verdict(one: &Candidate<'_>, base: Option<&BaseRun>) -> Option<&'static str> {
    match passed(one.ended) {
        true => Some(PASSES),
        false => excused(one, base).then_some("fails, as it does without it, and nothing fails that did not"),
    }
}

/// What the issue gives as examples and the candidate does not do.
pub fn unmet<'a>(one: &Candidate<'a>) -> Vec<&'a Example> {
    one.ended.examples.iter().filter(|example| !example.holds).collect()
}

/// The one that lacks least of what the issue asks, then the one that the checks have least against.
pub(super) fn nearest<'a>(all: &[Candidate<'a>], base: Option<&BaseRun>, asked: &IssueNames) -> Option<Candidate<'a>> {
    let lacks = |one: &&Candidate<'_>| {
        let lacking = unmet(one).len() + asked.missing(one).len();
        (lacking, !passed(one.ended), is_flawed(one.ended), newly(one.ended, base), failing(one.ended), size(one))
    };
    all.iter().min_by_key(lacks).copied()
}

/// The one that is written at a round's end.
pub(super) fn best<'a>(all: &[Candidate<'a>], base: Option<&BaseRun>, asked: &IssueNames) -> Option<Candidate<'a>> {
    let alike = |one: &Candidate<'_>| all.iter().filter(|other| same(one, other)).count();
    // What no candidate does tells none from another.
    let held = all.iter().flat_map(|one| &one.ended.examples).filter(|example| example.holds);
    let met: BTreeSet<&str> = held.map(|example| example.says.as_str()).collect();
    let missed = |one: &Candidate<'_>| unmet(one).iter().filter(|it| met.contains(it.says.as_str())).count();
    let worth = |one: &&Candidate<'_>| {
        (
            !passed(one.ended),
            is_flawed(one.ended),
            newly(one.ended, base),
            missed(one),
            asked.missing(one).len(),
            failing(one.ended),
            Reverse(alike(one)),
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

/// Failures that the base does not have. Where none can be read of a run that failed, all are.
pub fn newly(ended: &Outcome, base: Option<&BaseRun>) -> usize {
    if passed(ended) {
        return 0;
    }
    let before = base.map(|base| items::failures(&base.tail)).unwrap_or_default();
    let now = items::failures(&ended.text);
    if now.is_empty() { usize::MAX } else { items::difference(&before, &now).new.len() }
}

/// Whether something wrong was seen in its files themselves: what runs no test does not prove.
pub(super) fn is_flawed(ended: &Outcome) -> bool {
    protocol::mistakes::findings(&ended.text).is_some()
}

fn failing(ended: &Outcome) -> usize {
    if passed(ended) { 0 } else { items::failures(&ended.text).len() }
}

/// Where the checks fail on the base too: nothing fails that did not.
fn excused(one: &Candidate<'_>, base: Option<&BaseRun>) -> bool {
    let red = base.is_some_and(|base| base.exit_code.is_some_and(|code| code != 0));
    let by_itself = matches!(one.ended.status, OutcomeStatus::Exited { .. } | OutcomeStatus::Ok);
    red && by_itself && newly(one.ended, base) == 0
}
