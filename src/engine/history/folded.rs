//! What replaces the older turns of a conversation.
//!
//! Owns: that people's words, the plan, changed files, the last failures and what the host told and still holds are in it, whoever
//! summarizes the rest. Must not: decide how many turns are replaced. Tests: `compact_tests.rs`, `compact_properties.rs`.

use domain::{Call, CallRequest, Outcome, Verdict, VerdictKind};
use minijinja::context;
use std::collections::BTreeMap;

use super::Replay;
use crate::engine::failing::{self, EarlierRuns, Ran};
use crate::engine::nudge::Form;
use crate::engine::{outcome, prompt};

/// The most characters of the list of last failures.
const OPEN: usize = 2_000;
/// The most failed runs that are parsed for failures.
const RUNS: usize = 3;

/// Runs of checks in the summarized turns, to list failures that remain.
#[derive(Default)]
pub(super) struct Runs<'a> {
    /// The newest run of each command, with the action's number.
    own: BTreeMap<&'a str, (u32, &'a Outcome)>,
}

impl<'a> Runs<'a> {
    pub(super) fn ran(&mut self, number: u32, call: &'a CallRequest, ended: &'a Outcome) {
        if let Call::Action { action } = &call.call
            && let Some(command) = action.command()
        {
            self.own.insert(command, (number, ended));
        }
    }

    pub(super) fn checked(&mut self, verdict: &Verdict) {
        if verdict.kind != VerdictKind::None {
            // Earlier runs are older than this verdict.
            self.own.clear();
        }
    }

    /// The failures of the newest run that reports any.
    fn open(&self) -> Option<Ran> {
        let mut own: Vec<_> = self.own.values().filter(|(_, ended)| !ended.status.succeeded()).collect();
        own.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
        own.into_iter().take(RUNS).find_map(|(_, ended)| outcome::ran(ended).filter(|ran| !ran.is_empty()))
    }
}

impl Replay<'_> {
    /// Ends the older turns: they become one text with what people asked for until then, followed by what was said since.
    pub(super) fn fold(&mut self) {
        self.replaced(u32::MAX);
        let Some(summary) = self.folding.take() else { return };
        self.reminders.fold();
        self.open = None;
        self.ran.clear();
        self.checked = None;
        let since = std::mem::take(&mut self.notes);
        self.notes = self.asked[..self.heard].to_vec();
        self.shown_pictures.anew();
        if !summary.is_empty() {
            let most = OPEN.min(self.summary_chars / 2);
            let earlier = EarlierRuns { before: None, base: self.on_base.as_ref() };
            let failing = self.runs.open().and_then(|ran| failing::list(self.fence, &ran, earlier, most));
            let values = context! {
                summary => summary.fenced(self.fence, self.summary_chars), text => self.form == Form::Text,
                failing => failing.unwrap_or_default(), ..self.stand()
            };
            self.notes.push(prompt::render("compacted", values));
            self.say_rebased();
        }
        self.notes.extend(since);
    }

    /// Called before the answer of this turn: a model's summary of all turns before it replaces the host's lines about them.
    pub(super) fn replaced(&mut self, turn: u32) {
        if let Some((_, written)) = self.written.take_if(|(upto, _)| turn > *upto)
            && let Some(summary) = &mut self.folding
        {
            summary.replace(written);
        }
    }
}
