//! What a transition asks the shell to do. Each has a key and may be carried out again: `docs/effects.md` says how, for each.

use crate::{Action, Bar, Budget, BudgetBar, Commit, Ending, PauseReason, Shelf, Source, Why};
use serde::{Deserialize, Deserializer, Serialize};

/// A text the bot owes a person; the words stand in `src/message`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "notice", rename_all = "snake_case")]
pub enum Notice {
    Accepted,
    Refused {
        login: String,
        verb: String,
    },
    AlreadyLive,
    Edited {
        login: String,
    },
    Stale {
        login: String,
        reason: String,
    },
    Doubtful {
        login: String,
        n: u32,
    },
    NameTheCommit {
        login: String,
        commit: Commit,
    },
    Status,
    Help,
    UnknownCommand {
        word: String,
        #[serde(default)]
        why: Option<String>,
    },
    HostAllowed {
        login: String,
        host: String,
        repo: bool,
    },
    HostDenied {
        login: String,
        host: String,
    },
    HostBarred {
        login: String,
        host: String,
        bar: Bar,
    },
    NothingToDeny {
        login: String,
        host: String,
    },
    NothingToApprove {
        login: String,
    },
    /// Changes were asked for before checkpoint `n` stood: the words wait for what is decided about that.
    RemarksKept {
        login: String,
        n: u32,
    },
    BudgetGranted {
        login: String,
        more: Budget,
        /// Still used up: the task stays paused.
        lacks: Option<String>,
    },
    BudgetRefused {
        login: String,
        why: BudgetBar,
    },
    /// `/resume` where only a grant helps.
    BudgetNeeded {
        login: String,
        what: String,
    },
    NotPaused {
        login: String,
    },
    InAdvance {
        login: String,
        next: u8,
    },
    AdvanceEnded {
        login: String,
        left: u8,
        why: Ending,
    },
    Paused {
        reason: PauseReason,
    },
    Resumed,
    Answer {
        n: u32,
    },
    Approved {
        commit: Commit,
    },
    Voided {
        n: u32,
    },
    Cancelled {
        login: String,
    },
    Declined,
    Failed {
        why: String,
    },
    Delivered,
    Expired,
    Trouble {
        sentence: String,
    },
    /// The repository was renamed or given away; the task follows it. Both as `owner/name`.
    Moved {
        from: String,
        to: String,
    },
}

/// What a comment answers: one text is posted for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum To {
    /// A step of the task: the number of events in its log then, and which of the step's effects this is.
    Step { seq: u32, at: u32 },
    /// The comment or review with this number on the forge.
    Asked { number: i64 },
    /// What was seen outside when the log had so many events.
    Seen { seq: u32 },
    /// The change of hosts with this serial, which the router now obeys.
    Hosts { serial: u32 },
}

impl To {
    fn key(self) -> String {
        match self {
            To::Step { seq, at } => format!("comment:step:{seq}:{at}"),
            To::Asked { number } => format!("comment:asked:{number}"),
            To::Seen { seq } => format!("comment:seen:{seq}"),
            To::Hosts { serial } => format!("comment:hosts:{serial}"),
        }
    }
}

/// As effects have it that were stored by versions that knew one number only: negative for an answer, otherwise a hundred for each event.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredTo {
    Now(To),
    Serial(i64),
}

fn stored_to<'de, D: Deserializer<'de>>(deserializer: D) -> Result<To, D::Error> {
    let step = |serial: i64| To::Step {
        seq: u32::try_from(serial / 100).unwrap_or(u32::MAX),
        at: u32::try_from(serial % 100).unwrap_or_default(),
    };
    Ok(match StoredTo::deserialize(deserializer)? {
        StoredTo::Now(to) => to,
        StoredTo::Serial(serial) if serial < 0 => To::Asked { number: serial.saturating_neg() },
        StoredTo::Serial(serial) => step(serial),
    })
}

/// Effects of one lane run in order; the lanes of a task run side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    Work,
    /// The way out of the sandbox: neither a long action nor a slow forge holds it up.
    Gate,
    Talk,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    Prepare {
        serial: u32,
    },
    /// One model call.
    Converse {
        turn: u32,
    },
    Act {
        number: u32,
        action: Action,
    },
    Seal {
        n: u32,
        why: Why,
    },
    Push {
        n: u32,
        commit: Commit,
        expected: Option<Commit>,
    },
    OpenPull,
    /// Posts the review of checkpoint `n`; `last` marks the final one.
    Review {
        n: u32,
        commit: Option<Commit>,
        last: bool,
    },
    Verify {
        n: u32,
        commit: Commit,
    },
    /// Opens the berth again before work goes on; makes the sandbox anew from the last commit if it is gone.
    Open {
        serial: u32,
    },
    /// While a person is awaited: stops what may be stopped.
    Rest {
        serial: u32,
    },
    /// Takes what no checkpoint has of a waiting task's sandbox into a commit of its own.
    Keep {
        serial: u32,
    },
    /// Puts the sandbox of a task that waits further away.
    Shelve {
        serial: u32,
        shelf: Shelf,
    },
    Teardown,
    ClosePull,
    /// The work is approved: its pull request is no draft any more.
    ReadyPull,
    /// Reads these objects again and judges them with a fresh right and head.
    Recheck {
        n: u32,
        sources: Vec<Source>,
    },
    /// Looks again at an approval given in advance, for checkpoint `n`.
    Advance {
        n: u32,
        source: Source,
    },
    /// Brings the rules of the open berth to what is allowed now; with `repo`, those of the repository's other tasks too.
    /// Then `notice` is said.
    Egress {
        serial: u32,
        repo: bool,
        notice: Notice,
    },
    Comment {
        #[serde(alias = "serial", deserialize_with = "stored_to")]
        to: To,
        notice: Notice,
    },
    Label {
        serial: u32,
        name: String,
    },
    CommitStatus {
        n: u32,
        commit: Commit,
        state: String,
    },
}

impl Effect {
    /// Unique within the task: a repeated transition yields the same key.
    pub fn key(&self) -> String {
        match self {
            Effect::Prepare { serial } => format!("prepare:{serial}"),
            Effect::Converse { turn } => format!("converse:{turn}"),
            Effect::Act { number, .. } => format!("act:{number}"),
            Effect::Seal { n, .. } => format!("seal:{n}"),
            Effect::Push { n, .. } => format!("push:{n}"),
            Effect::OpenPull => "open-pull".into(),
            Effect::Review { n, .. } => format!("review:{n}"),
            Effect::Verify { n, .. } => format!("verify:{n}"),
            Effect::Open { serial } => format!("open:{serial}"),
            Effect::Rest { serial } => format!("rest:{serial}"),
            Effect::Keep { serial } => format!("keep:{serial}"),
            Effect::Shelve { serial, .. } => format!("shelve:{serial}"),
            Effect::Teardown => "teardown".into(),
            Effect::ClosePull => "close-pull".into(),
            Effect::ReadyPull => "ready-pull".into(),
            Effect::Recheck { n, .. } => format!("recheck:{n}"),
            Effect::Advance { n, .. } => format!("advance:{n}"),
            Effect::Egress { serial, .. } => format!("egress:{serial}"),
            Effect::Comment { to, .. } => to.key(),
            Effect::Label { serial, .. } => format!("label:{serial}"),
            Effect::CommitStatus { n, state, .. } => format!("status:{n}:{state}"),
        }
    }

    pub fn kind(&self) -> &'static str {
        match self {
            Effect::Prepare { .. } => "prepare",
            Effect::Converse { .. } => "converse",
            Effect::Act { .. } => "act",
            Effect::Seal { .. } => "seal",
            Effect::Push { .. } => "push",
            Effect::OpenPull => "open_pull",
            Effect::Review { .. } => "review",
            Effect::Verify { .. } => "verify",
            Effect::Open { .. } => "open",
            Effect::Rest { .. } => "rest",
            Effect::Keep { .. } => "keep",
            Effect::Shelve { .. } => "shelve",
            Effect::Teardown => "teardown",
            Effect::ClosePull => "close_pull",
            Effect::ReadyPull => "ready_pull",
            Effect::Recheck { .. } => "recheck",
            Effect::Advance { .. } => "advance",
            Effect::Egress { .. } => "egress",
            Effect::Comment { .. } => "comment",
            Effect::Label { .. } => "label",
            Effect::CommitStatus { .. } => "commit_status",
        }
    }

    pub fn lane(&self) -> Lane {
        self.needs().lane
    }

    /// Said of every effect, one by one: a new one does not compile before it is known what it needs.
    pub fn needs(&self) -> Needs {
        let work = Needs { lane: Lane::Work, barrier: false, ends_with_task: true, again: Again::Converges };
        let talk = Needs { lane: Lane::Talk, ends_with_task: false, ..work };
        match self {
            Effect::Prepare { .. }
            | Effect::Open { .. }
            | Effect::Seal { .. }
            | Effect::Keep { .. }
            | Effect::Verify { .. } => Needs { barrier: true, ..work },
            Effect::Act { .. } => Needs { barrier: true, again: Again::Never, ..work },
            // In the style *files* the base's checks run, and the sandbox is asked for its files.
            Effect::Converse { .. } => Needs { barrier: true, again: Again::Charged, ..work },
            Effect::Push { .. }
            | Effect::Recheck { .. }
            | Effect::Advance { .. }
            // They only take away.
            | Effect::Rest { .. }
            | Effect::Shelve { .. } => work,
            Effect::OpenPull | Effect::Review { .. } => Needs { again: Again::ReadBack, ..work },
            Effect::Teardown => Needs { ends_with_task: false, ..work },
            Effect::Egress { .. } => Needs { lane: Lane::Gate, ends_with_task: false, ..work },
            Effect::Comment { .. } => Needs { again: Again::ReadBack, ..talk },
            Effect::Label { .. } | Effect::CommitStatus { .. } | Effect::ClosePull | Effect::ReadyPull => talk,
        }
    }
}

/// What an effect needs, and how long it is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    pub lane: Lane,
    /// Code or data of a repository or a model comes to run in a sandbox: not begun before the barrier is proven.
    pub barrier: bool,
    /// Called off when its task has ended.
    pub ends_with_task: bool,
    pub again: Again,
}

/// What a later try does about an earlier one that may have been carried out: its answer was lost, or the process was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// The same once more: it ends where the first would have.
    Converges,
    /// A request to the forge may still land: it waits for that, reads back, and posts only what is not there.
    ReadBack,
    /// Nothing is run a second time: whoever ran it says what came of it, or that it was interrupted.
    Never,
    /// The same once more, and what each try may have cost stays charged.
    Charged,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_that_was_stored_with_one_number_still_says_what_it_answers() {
        let read = |serial: i64| {
            let stored = format!(r#"{{"effect":"comment","serial":{serial},"notice":{{"notice":"help"}}}}"#);
            let Effect::Comment { to, .. } = serde_json::from_str(&stored).unwrap() else { panic!("{stored}") };
            to
        };
        assert_eq!(read(-17), To::Asked { number: 17 });
        assert_eq!(read(1203), To::Step { seq: 12, at: 3 });
    }

    #[test]
    fn no_two_comments_of_a_task_have_one_key() {
        let all = [
            To::Step { seq: 1, at: 2 },
            To::Step { seq: 12, at: 0 },
            To::Asked { number: 1 },
            To::Seen { seq: 1 },
            To::Hosts { serial: 1 },
        ];
        let keys: std::collections::BTreeSet<String> = all.into_iter().map(To::key).collect();
        assert_eq!(keys.len(), all.len());
        for to in all {
            let effect = Effect::Comment { to, notice: Notice::Help };
            let stored = serde_json::to_string(&effect).unwrap();
            assert_eq!(serde_json::from_str::<Effect>(&stored).unwrap(), effect);
        }
    }
}
