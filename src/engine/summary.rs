//! The summary of older turns, which replaces them in a shortened request.
//!
//! Owns: its lines, by rules from the log alone: what the agent said, what it did, how that ended, what people decided; and a model's
//! summary in place of the first of these, if the log has one. Names the actions that it covers. Must not: judge, or call a model. All of
//! it is foreign: it is in a fence with the lowest trust of its sources. Tests: `compact_tests.rs`.

use domain::{Action, CallRequest, ModelSummary, Outcome, OutcomeStatus, SummaryOf};

use super::fence::{Fence, Trust, spelled};
use crate::text;

/// Characters kept of what the agent said before its calls, and of an action's object.
const SAID: usize = 240;
const OBJECT: usize = 100;

/// The lines so far.
#[derive(Debug, Default)]
pub(super) struct Summary<'a> {
    /// A model's summary of everything before the lines.
    written: Option<&'a ModelSummary>,
    lines: Vec<String>,
    /// Numbers of the first and last action.
    actions: Option<(u32, u32)>,
}

impl<'a> Summary<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.written.is_none()
    }

    /// Replaces everything so far by a model's summary.
    pub(super) fn replace(&mut self, written: &'a ModelSummary) {
        *self = Self { written: Some(written), ..Self::default() };
    }

    /// Adds what the agent said with an answer.
    pub(super) fn note(&mut self, words: &str) {
        let line = text::one_line(words.trim());
        if !line.is_empty() {
            let line = spelled(&line);
            let (head, missing) = text::cut(&line, SAID);
            self.lines.push(format!("{head}{}", if missing > 0 { "…" } else { "" }));
        }
    }

    /// Adds an action and how it ended.
    pub(super) fn did(&mut self, number: u32, call: &CallRequest, ended: &Outcome) {
        let object = text::one_line(&call.call.action().map(Action::object).unwrap_or_default());
        let (object, missing) = text::cut(&object, OBJECT);
        let more = if missing > 0 { "…" } else { "" };
        self.lines.push(format!("  action {number}: {} {object}{more}: {}", call.name, how(&ended.status)));
        self.actions = Some((self.actions.map_or(number, |(first, _)| first), number));
    }

    /// Adds something that people or the host did.
    pub(super) fn happened(&mut self, what: String) {
        self.lines.push(what);
    }

    /// The summary in fences, of at most `most` characters: up to two thirds for a model's summary if lines follow it, and as many of the
    /// newest lines as fit, with the number of those left out before them.
    pub(super) fn fenced(&self, fence: &Fence, most: usize) -> String {
        let written = self.written.map(|written| self.written(fence, written, most));
        if written.is_some() && self.lines.is_empty() {
            return written.unwrap_or_default();
        }
        let mut left = most.saturating_sub(written.as_ref().map_or(0, |words| words.chars().count()));
        let fits = |line: &&String| {
            let needed = line.chars().count() + 1;
            let fits = needed <= left;
            left = left.saturating_sub(needed);
            fits
        };
        let shown = self.lines.iter().rev().take_while(fits).count();
        let hidden = self.lines.len() - shown;
        let mut body = if hidden > 0 { format!("(… {hidden} earlier lines are left out)\n") } else { String::new() };
        body.push_str(&self.lines[hidden..].join("\n"));
        let lines = fence.wrap(&source(self.actions, "from the host's log"), Trust::None, &body);
        written.into_iter().chain([lines]).collect::<Vec<_>>().join("\n")
    }

    fn written(&self, fence: &Fence, written: &ModelSummary, most: usize) -> String {
        let actions = match written.of {
            SummaryOf::Turns { from, to, .. } => (from > 0).then_some((from, to)),
            SummaryOf::Lines { .. } => None,
        };
        let most = if self.lines.is_empty() { most } else { most / 3 * 2 };
        let source = source(actions, &format!("told in short by the model {}", written.model));
        fence.wrap(&source, written.trust, text::cut(&spelled(&written.text), most).0)
    }
}

fn source(actions: Option<(u32, u32)>, by: &str) -> String {
    match actions {
        Some((first, last)) => format!("actions {first} to {last}, {by}"),
        None => by.to_owned(),
    }
}

/// How an action ended, in a few words.
pub(super) fn how(status: &OutcomeStatus) -> String {
    match status {
        OutcomeStatus::Ok => "ok".to_owned(),
        OutcomeStatus::Exited { code } => format!("exit code {code}"),
        OutcomeStatus::Signaled { signal } => format!("killed by signal {signal}"),
        OutcomeStatus::TimedOut => "timed out".to_owned(),
        OutcomeStatus::OutOfMemory => "out of memory".to_owned(),
        OutcomeStatus::OutOfPids => "out of processes".to_owned(),
        OutcomeStatus::DiskFull | OutcomeStatus::DiskSpent { .. } => "out of disk space".to_owned(),
        OutcomeStatus::Failed { reason } | OutcomeStatus::Denied { reason } => {
            let reason = text::one_line(reason);
            format!("failed: {}", text::cut(&reason, OBJECT).0)
        }
        OutcomeStatus::Interrupted => "interrupted".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;
    use domain::{TaskId, Usage};

    #[test]
    fn a_models_summary_is_cut_once_its_hidden_characters_are_spelled() {
        let of = SummaryOf::Turns { upto: 1, from: 1, to: 1 };
        let (text, model, usage) = ("\u{200b}".repeat(400), "m".to_owned(), Usage::default());
        let written = ModelSummary { of, text, trust: Trust::None, usage, micro_usd: 0, duration_ms: 0, model };
        let mut summary = Summary::default();
        summary.replace(&written);
        let shown = summary.fenced(&Fence::new(&Secret::new("k"), TaskId(1)), 320);
        assert_eq!(shown.matches("\\u{200b}").count(), 40, "eight characters for each: {shown}");
    }
}
