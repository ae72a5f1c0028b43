//! Which texts of a thread without a task wait with one that may begin a task and could not be taken up yet. Tests:
//! `tests/stories/unstarted.rs`.

use crate::thread::words;
use domain::Verb;

/// What was left for the thread's next reading.
#[derive(Default)]
pub(super) struct Left {
    /// Whether a task may begin by one of the texts.
    pub begins: bool,
    /// The hosts that they allow, with which the task begins.
    allowed: Vec<String>,
}

impl Left {
    /// Adds a text that was left; `begins` says whether a task may begin by it.
    pub fn add(&mut self, text: &str, begins: bool) {
        self.begins |= begins;
        self.allowed.extend(words::every_host(text).into_iter().filter_map(|verb| match verb {
            Verb::Allow { host, .. } => Some(host),
            _ => None,
        }));
    }

    /// Whether this later text waits too: taken up now, what it decides would be answered that no task is at work, and then the task would
    /// begin. Questions, what needs no task, and hosts that are taken back from the whole repository do not wait.
    /// `verb` is its own, which a review may have from one of its lines.
    pub fn keeps(&self, verb: &Verb, text: &str) -> bool {
        self.begins && [verb].into_iter().chain(&words::commands(text)).any(|verb| self.is_for_the_task(verb))
    }

    fn is_for_the_task(&self, verb: &Verb) -> bool {
        match verb {
            Verb::Status | Verb::Cost | Verb::Help | Verb::Ask { .. } | Verb::Unknown { .. } | Verb::Say { .. } => {
                false
            }
            Verb::Deny { host, .. } => self.allowed.iter().any(|allowed| may_name_the_same(allowed, host)),
            Verb::Test { .. } | Verb::TestOff | Verb::Sync => false,
            Verb::Allow { .. }
            | Verb::Approve { .. }
            | Verb::Budget { .. }
            | Verb::Changes { .. }
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
}

/// Whether two rules may be about one host; of patterns it is not known.
fn may_name_the_same(one: &str, other: &str) -> bool {
    let host = |rule: &str| rule.split_once(':').map_or(rule, |(host, _)| host).to_lowercase();
    one.contains('*') || other.contains('*') || host(one) == host(other)
}

#[cfg(test)]
mod tests {
    use super::Left;
    use crate::thread::words;

    fn keeps(left: &Left, text: &str) -> bool {
        left.keeps(&words::text(text, "u7"), text)
    }

    #[test]
    fn what_decides_waits_with_what_may_begin_a_task_and_nothing_else_does() {
        let mut left = Left::default();
        for text in ["/stop", "/deny a.test", "/allow a.test"] {
            assert!(!keeps(&left, text), "nothing was left: {text}");
        }
        left.add("/deploy\n/allow a.test:8443", true);
        for text in
            ["/stop", "/allow b.test", "/status\n/pause", "/deny A.test", "/deny *.a.test", "/deny b.test\n/stop"]
        {
            assert!(keeps(&left, text), "{text}");
        }
        for text in ["/status", "/help", "/deny b.test", "/test-pr", "/sync\n/deny b.test", "/frobnicate"] {
            assert!(!keeps(&left, text), "{text}");
        }
    }
}
