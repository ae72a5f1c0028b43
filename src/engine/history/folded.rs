//! Where the older turns of a conversation end: what stands in their place.
//!
//! Owns: that people's words, plan, changed files and what failed last stand there word for word, whoever tells the rest. Must not: decide how
//! far that goes. Tests: `compact_tests.rs`, `compact_properties.rs`.

use domain::{Call, CallRequest, Outcome, Verdict, VerdictKind};
use minijinja::context;
use std::collections::BTreeMap;

use super::Replay;
use crate::engine::failing::{self, Ran};
use crate::engine::nudge::Form;
use crate::engine::{outcome, prompt};

/// The most of a list of what failed last, in characters.
const OPEN: usize = 2_000;
/// Runs that failed and are looked through for one.
const RUNS: usize = 3;

/// Runs of checks among the turns that are told in short, for what is still open of them.
#[derive(Default)]
pub(super) struct Runs<'a> {
    /// Of each command the newest run, by the action's number.
    own: BTreeMap<&'a str, (u32, &'a Outcome)>,
    /// The host's own.
    hosts: Option<&'a Verdict>,
}

impl<'a> Runs<'a> {
    pub(super) fn ran(&mut self, number: u32, call: &'a CallRequest, ended: &'a Outcome) {
        if let Call::Action { action } = &call.call
            && let Some(command) = action.command()
        {
            self.own.insert(command, (number, ended));
        }
    }

    pub(super) fn checked(&mut self, verdict: &'a Verdict) {
        if verdict.kind != VerdictKind::None {
            // What ran before is older than what is known now.
            self.own.clear();
            self.hosts = Some(verdict);
        }
    }

    /// What failed in the newest of them that says so.
    fn open(&self) -> Option<Ran> {
        let mut own: Vec<_> = self.own.values().filter(|(_, ended)| !ended.status.succeeded()).collect();
        own.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
        let own = own.into_iter().take(RUNS).find_map(|(_, ended)| outcome::ran(ended).filter(|ran| !ran.is_empty()));
        own.or_else(|| {
            let host = self.hosts.filter(|verdict| verdict.kind == VerdictKind::Failed)?;
            Some(Ran::of(&host.tail, false)).filter(|ran| !ran.is_empty())
        })
    }
}

impl Replay<'_> {
    /// The older turns end here: they become one text with what people asked for until then, before what was said since.
    pub(super) fn fold(&mut self) {
        self.replaced(u32::MAX);
        let Some(summary) = self.folding.take() else { return };
        self.open = None;
        self.ran.clear();
        self.checked = None;
        let since = std::mem::take(&mut self.notes);
        self.notes = self.asked[..self.heard].to_vec();
        self.gallery.anew();
        if !summary.is_empty() {
            let most = OPEN.min(self.summary_chars / 2);
            let failing = self.runs.open().and_then(|ran| failing::list(self.fence, &ran, None, most));
            let values = context! {
                summary => summary.fenced(self.fence, self.summary_chars), recall => self.form == Form::Tools,
                failing => failing.unwrap_or_default(), ..self.stand()
            };
            self.notes.push(prompt::render("compacted", values));
        }
        self.notes.extend(since);
    }

    /// Before the answer of this turn: what a model told of all turns before it stands in place of the host's lines about them.
    pub(super) fn replaced(&mut self, turn: u32) {
        if let Some((_, written)) = self.written.take_if(|(upto, _)| turn > *upto)
            && let Some(summary) = &mut self.folding
        {
            summary.replace(written);
        }
    }
}
