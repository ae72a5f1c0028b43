//! Older turns of a conversation in a few lines: what a shortened request holds in their place.
//!
//! Owns: the lines, by rules from the log alone: what the agent said it does, what it did, how that ended, what people decided. Names the actions they
//! stand for. Must not: judge, or use a model. Everything in it is foreign: it stands in a fence. Tests: `compact_tests.rs`.

use domain::{Action, CallRequest, Outcome, OutcomeStatus};

use super::fence::{Fence, Trust};
use crate::text;

/// Characters that are kept of what the agent said before its calls, and of what an action was done to.
const SAID: usize = 240;
const OBJECT: usize = 100;

/// The lines so far.
#[derive(Debug, Default)]
pub(super) struct Summary {
    lines: Vec<String>,
    /// First and last action among them.
    actions: Option<(u32, u32)>,
}

impl Summary {
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// What the agent said with an answer.
    pub(super) fn note(&mut self, words: &str) {
        let line = text::one_line(words.trim());
        if !line.is_empty() {
            let (head, missing) = text::cut(&line, SAID);
            self.lines.push(format!("{head}{}", if missing > 0 { "…" } else { "" }));
        }
    }

    /// An action and how it ended.
    pub(super) fn did(&mut self, number: u32, call: &CallRequest, ended: &Outcome) {
        let object = text::one_line(&call.call.action().map(Action::object).unwrap_or_default());
        let (object, missing) = text::cut(&object, OBJECT);
        let more = if missing > 0 { "…" } else { "" };
        self.lines.push(format!("  action {number}: {} {object}{more}: {}", call.name, how(&ended.status)));
        self.actions = Some((self.actions.map_or(number, |(first, _)| first), number));
    }

    /// Something that people or the host did.
    pub(super) fn happened(&mut self, what: String) {
        self.lines.push(what);
    }

    /// All of it in a fence: the newest lines that fit into `most` characters, and how many are left out before them.
    pub(super) fn fenced(&self, fence: &Fence, most: usize) -> String {
        let mut left = most;
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
        let source = match self.actions {
            Some((first, last)) => format!("actions {first} to {last}, from the host's log"),
            None => "the host's log".to_owned(),
        };
        fence.wrap(&source, Trust::None, &body)
    }
}

fn how(status: &OutcomeStatus) -> String {
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
