//! Which texts of a thread without a task wait with one that may begin a task and could not be taken up yet. Tests:
//! `tests/stories/unstarted.rs`.

use crate::thread::words;
use crate::trouble::Trouble;
use domain::Verb;

/// What a reading of a thread has met so far.
#[derive(Default)]
pub(super) struct SoFar {
    /// Why the first text that may be a command of the repository's own could not be looked up.
    pub unknown: Option<Trouble>,
    /// Why a text could not be carried out or answered.
    pub failed: Option<Trouble>,
    /// Whether one that takes hosts back could not.
    pub takes_back: bool,
    /// Whether a task may begin by a text that was left, or could not be read.
    pub begins: bool,
    /// Whether a text could not be looked at, or not be answered: those behind it wait, but for what they take back.
    pub stopped: bool,
}

impl SoFar {
    /// Notes why a text could not be carried out or answered.
    pub fn fails(&mut self, trouble: Trouble) {
        self.failed = first_of(self.failed.take(), Some(trouble));
    }

    /// As [`SoFar::fails`], of a text that those behind it wait for.
    pub fn stops(&mut self, trouble: Trouble) {
        self.stopped = true;
        self.fails(trouble);
    }

    /// Why the thread is to be read again, if it is; `unread` is why a part of it could not be read.
    pub fn trouble(self, unread: Option<Trouble>) -> Option<Trouble> {
        first_of(first_of(self.unknown, self.failed), unread)
    }

    /// Whether a text waits: a task may begin before it, or, where it `may_begin` one, hosts are to be taken back before. `verb` is its own,
    /// which a review may have from one of its lines.
    pub fn keeps(&self, (verb, text): (&Verb, &str), may_begin: bool) -> bool {
        self.begins && waits_for_a_task(verb, text) || (self.begins || self.takes_back) && may_begin
    }
}

/// Of two troubles the first, but what passes before a refusal: that may be given up, and the other is tried again.
fn first_of(one: Option<Trouble>, other: Option<Trouble>) -> Option<Trouble> {
    match (&one, &other) {
        (Some(Trouble::Doubtful { .. } | Trouble::Failed(_)), Some(Trouble::Later { .. })) => other,
        _ => one.or(other),
    }
}

/// Whether this text waits too: taken up now, what it decides would be answered that no task is at work, and then the task would begin.
/// Questions, and what needs no task, do not wait.
fn waits_for_a_task(verb: &Verb, text: &str) -> bool {
    [verb].into_iter().chain(&words::commands(text)).any(is_for_a_task)
}

fn is_for_a_task(verb: &Verb) -> bool {
    match verb {
        Verb::Status | Verb::Cost | Verb::Help | Verb::Ask { .. } | Verb::Unknown { .. } | Verb::Say { .. } => false,
        Verb::Test { .. } | Verb::TestOff | Verb::Sync => false,
        Verb::Allow { .. }
        | Verb::Approve { .. }
        | Verb::Budget { .. }
        | Verb::Changes { .. }
        | Verb::Deny { .. }
        | Verb::Fix { .. }
        | Verb::Merge { .. }
        | Verb::Model { .. }
        | Verb::Pause
        | Verb::Plan { .. }
        | Verb::Rebase { .. }
        | Verb::Resume
        | Verb::Retry { .. }
        | Verb::Stop
        | Verb::Work { .. } => true,
    }
}

#[cfg(test)]
mod tests {
    use super::{SoFar, waits_for_a_task};
    use crate::thread::words;
    use crate::trouble::Trouble;

    #[test]
    fn what_passes_comes_before_a_refusal() {
        let later = || Trouble::later("the router is down");
        let refused = || Trouble::blocked("the text is refused");
        let mut so_far = SoFar::default();
        so_far.fails(refused());
        so_far.fails(later());
        so_far.fails(refused());
        assert_eq!(so_far.trouble(Some(refused())), Some(later()));
        let unknown = SoFar { unknown: Some(refused()), ..SoFar::default() };
        assert_eq!(unknown.trouble(Some(later())), Some(later()));
        let unknown = SoFar { unknown: Some(refused()), failed: Some(Trouble::blocked("another")), ..SoFar::default() };
        assert_eq!(unknown.trouble(None), Some(refused()));
        assert_eq!(SoFar::default().trouble(None), None);
    }

    #[test]
    fn what_decides_about_a_task_waits_and_nothing_else_does() {
        let waits = |text: &str| waits_for_a_task(&words::text(text, "u7"), text);
        for text in
            ["/stop", "/allow b.test", "/status\n/pause", "/deny a.test", "/sync\n/deny b.test", "/budget 1 usd"]
        {
            assert!(waits(text), "{text}");
        }
        for text in ["/status", "/help\n/cost", "/test-pr", "/sync", "/frobnicate", "a word"] {
            assert!(!waits(text), "{text}");
        }
    }
}
