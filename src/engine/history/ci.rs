//! What the model is told when the forge's CI failed on finished work. Everything that the CI says is data.

use super::{Replay, TAIL};
use crate::engine::failing::{self, EarlierRuns, Ran};
use crate::engine::fence::Trust;
use crate::engine::outcome;
use domain::{CiCheck, CiEnded};
use minijinja::context;

impl Replay<'_> {
    /// A failure; what passed or did not end is for people.
    pub(super) fn ci_ended(&mut self, ended: &CiEnded) {
        if !ended.failed() {
            return;
        }
        if let Some(summary) = &mut self.folding {
            return summary.happened(format!("the forge's CI failed on commit {}", ended.commit.short()));
        }
        let checks: String = ended.failures().map(line).collect();
        let log = ended.log();
        let (tail, _) = outcome::shortened(&log, TAIL);
        let failing = failing::list(self.fence, &Ran::of(&log, false), EarlierRuns::default(), TAIL / 2);
        let values = context! {
            commit => ended.commit.short(),
            checks => self.fence.wrap("failed checks of the forge's CI", Trust::None, &checks),
            failing => failing.unwrap_or_default(),
            tail => if log.is_empty() { String::new() } else { self.fence.wrap("log of the forge's CI", Trust::None, &tail) },
        };
        self.say("ci", values);
    }
}

/// `- build / unit (push): Failing after 3s (https://…)`.
fn line(check: &CiCheck) -> String {
    let said = if check.description.is_empty() { "failed" } else { &check.description };
    let at = if check.url.is_empty() { String::new() } else { format!(" ({})", check.url) };
    format!("- {}: {said}{at}\n", check.context)
}
