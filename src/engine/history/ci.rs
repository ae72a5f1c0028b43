//! What the model is told when the forge's CI failed on finished work. Everything that the CI says is data.

use super::{Replay, TAIL};
use crate::engine::failing::{self, EarlierRuns, Ran};
use crate::engine::fence::{Trust, spelled};
use crate::engine::outcome;
use crate::text;
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
        self.say("ci", self.ci_values(ended, usize::MAX, TAIL));
    }

    /// With at most so many characters of the checks' own words, and of their log.
    pub(super) fn ci_values(&self, ended: &CiEnded, most_of_checks: usize, most: usize) -> minijinja::Value {
        let checks: String = ended.failures().map(line).collect();
        let log = ended.log();
        let (tail, _) = outcome::shortened(&log, most);
        let failing = failing::list(self.fence, &Ran::of(&log, false), EarlierRuns::default(), most / 2);
        context! {
            commit => ended.commit.short(),
            checks => self.fence.wrap("failed checks of the forge's CI", Trust::None, text::cut(&spelled(&checks), most_of_checks).0),
            failing => failing.unwrap_or_default(),
            tail => if log.is_empty() { String::new() } else { self.fence.wrap("log of the forge's CI", Trust::None, &tail) },
        }
    }
}

/// `- build / unit (push): Failing after 3s (https://…)`.
fn line(check: &CiCheck) -> String {
    let said = if check.description.is_empty() { "failed" } else { &check.description };
    let at = if check.url.is_empty() { String::new() } else { format!(" ({})", check.url) };
    format!("- {}: {said}{at}\n", check.context)
}
