//! What the host told once and still holds, where the part of the conversation that has it is left out.
//!
//! Owns: until which event each of it holds, and its shorter form. A move onto a newer base is told again by `messages`. Must not: judge
//! whether the work has mended it. Tests: `reminders_tests.rs`.

use domain::{CiEnded, Event, Loss, VerdictKind, names_grant};
use minijinja::context;

use super::Replay;
use crate::engine::failing::Ran;

/// The most characters of each list and each output.
const MOST: usize = 2_000;
/// The most allowed hosts that are named.
const HOSTS: usize = 20;

/// What holds after the events so far.
#[derive(Default, Clone)]
struct Facts<'a> {
    /// The newest verification, if it failed.
    verdict: Option<&'a Event>,
    /// The newest CI of the forge, if it failed.
    ci: Option<&'a CiEnded>,
    /// Why the tree is refused as it is.
    refused: Option<&'a [String]>,
    /// Hosts that people allowed, oldest first.
    hosts: Vec<&'a String>,
}

impl<'a> Facts<'a> {
    fn take(&mut self, event: &'a Event) {
        match event {
            Event::Verified { verdict, .. } => self.verdict = (verdict.kind == VerdictKind::Failed).then_some(event),
            Event::CiEnded(ended) => self.ci = Some(&**ended).filter(|ended| ended.failed()),
            Event::TreeRefused { reasons, .. } => self.refused = Some(reasons),
            Event::TreeCaptured { .. } | Event::TreeUnchanged { .. } => self.refused = None,
            // Otherwise the refused tree is gone with it.
            Event::SandboxLost { loss, .. } if *loss != Loss::Outdated => self.refused = None,
            Event::HostAllowed { host, .. } => {
                self.hosts.retain(|other| *other != host);
                self.hosts.push(host);
            }
            Event::HostDenied { host, .. } => self.hosts.retain(|grant| !names_grant(host, grant)),
            _ => {}
        }
    }
}

/// What holds now, and what of it stands in the part that is left out.
#[derive(Default)]
pub(super) struct Reminders<'a> {
    now: Facts<'a>,
    left_out: Facts<'a>,
    /// Changes of the allowed hosts during a call, whose request they must not change.
    later: Vec<&'a Event>,
}

impl<'a> Reminders<'a> {
    /// Takes an event after the conversation did. `calling`: whether a call is under way.
    pub(super) fn take(&mut self, event: &'a Event, calling: bool) {
        match event {
            Event::HostAllowed { .. } | Event::HostDenied { .. } if calling => self.later.push(event),
            Event::TurnCompleted { .. } => {
                for event in std::mem::take(&mut self.later) {
                    self.now.take(event);
                }
            }
            _ => self.now.take(event),
        }
    }

    /// Everything that was told so far is left out.
    pub(super) fn leave_out(&mut self) {
        self.left_out = self.now.clone();
    }

    /// The older turns end: of checks until here only the summary has a line.
    pub(super) fn fold(&mut self) {
        (self.left_out.verdict, self.left_out.ci) = (self.now.verdict, self.now.ci);
    }
}

impl Replay<'_> {
    /// What still holds of what the host told in the part that is left out; empty if nothing does.
    pub(super) fn reminded(&self) -> String {
        let (now, before) = (&self.reminders.now, &self.reminders.left_out);
        let most = MOST.min(self.summary_chars / 2);
        let mut notes = Vec::new();
        if let Some(Event::Verified { commit, verdict, .. }) = still(before.verdict, now.verdict) {
            let ran = Ran::of(&verdict.tail, false);
            notes.push(self.rendered("verified", self.verdict_values(commit, verdict, (&ran, None), most)));
        }
        if let Some(ended) = still(before.ci, now.ci) {
            notes.push(self.rendered("ci", self.ci_values(ended, most, most)));
        }
        if let Some(reasons) = still(before.refused, now.refused) {
            notes.push(self.rendered("refused", self.refused_values(reasons, most)));
        }
        let hosts = before.hosts.iter().rev().filter(|host| now.hosts.contains(host)).take(HOSTS);
        notes.extend(hosts.map(|host| self.rendered("allowed", context! { host => host.as_str() })));
        notes.join("\n\n")
    }
}

/// What held before, if nothing newer stands against it.
fn still<'a, T: ?Sized>(before: Option<&'a T>, now: Option<&'a T>) -> Option<&'a T> {
    before.filter(|one| now.is_some_and(|other| std::ptr::eq(*one, other)))
}

#[cfg(test)]
#[path = "reminders_tests.rs"]
mod tests;
