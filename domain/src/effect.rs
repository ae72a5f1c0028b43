//! What a transition asks the shell to do. Each has a key and may be carried out again: `docs/effects.md` says how, for each.

use crate::{Action, Bar, Budget, BudgetBar, Commit, Ending, PauseReason, Shelf, Source, Why};
use serde::{Deserialize, Deserializer, Serialize};

/// A text the bot owes a person; the words stand in `src/message`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "notice", rename_all = "snake_case")]
pub enum Notice {
    /// The task was created; says what happens next.
    Accepted,
    /// Somebody without write access gave a command; said to each account once in a task.
    Refused {
        /// Login of whoever asked.
        login: String,
        /// The command's name without its slash; `comment` for a remark, `request changes` for a change request.
        verb: String,
    },
    /// `/fix` or `/plan` where a task is already at work.
    AlreadyLive,
    /// Nothing was taken of a text, because it was changed after it was posted.
    Edited {
        /// Login of whoever posted it.
        login: String,
    },
    /// An approval does not count, because it is not about what stands there now.
    Stale {
        /// Login of whoever approved.
        login: String,
        /// Why, as half a sentence that follows "because".
        reason: String,
    },
    /// A bare `/approve` came within a minute of a checkpoint that followed somebody else's decision: asks which is
    /// meant.
    Doubtful {
        /// Login of whoever approved.
        login: String,
        /// Number of the newest checkpoint.
        n: u32,
    },
    /// An approval of the final review by comment did not name the commit.
    NameTheCommit {
        /// Login of whoever approved.
        login: String,
        /// The commit to name.
        commit: Commit,
    },
    /// Answers `/status`.
    Status,
    /// Answers `/help` with the list of commands.
    Help,
    /// A slash and a word that is no command, or a command that can't be followed.
    UnknownCommand {
        /// The word behind the slash, in lower case and without the slash.
        word: String,
        /// What is wrong with a command that exists, as half a sentence; none where there is no such command.
        #[serde(default)]
        why: Option<String>,
    },
    /// A host was allowed; said once the router has the rule.
    HostAllowed {
        /// Login of whoever allowed it.
        login: String,
        /// The host as a rule of the router is written.
        host: String,
        /// Whether it is allowed for the repository's later tasks too.
        repo: bool,
    },
    /// Grants of a host were taken back; said once the router has the rules.
    HostDenied {
        /// Login of whoever took them back.
        login: String,
        /// The name that was denied, as a rule of the router is written.
        host: String,
    },
    /// A host can't be allowed, whoever asks.
    HostBarred {
        /// Login of whoever asked.
        login: String,
        /// The host as a rule of the router is written.
        host: String,
        /// What stands against it.
        bar: Bar,
    },
    /// `/deny` of a host that no grant names.
    NothingToDeny {
        /// Login of whoever asked.
        login: String,
        /// The name that was given, as a rule of the router is written.
        host: String,
    },
    /// An approval where no checkpoint waits for one.
    NothingToApprove {
        /// Login of whoever approved.
        login: String,
    },
    /// Changes were asked for before checkpoint `n` stood: the words wait for what is decided about that.
    RemarksKept {
        /// Login of whoever asked for changes.
        login: String,
        /// Number of the checkpoint that stands now.
        n: u32,
    },
    /// `/budget` was followed.
    BudgetGranted {
        /// Login of whoever granted it.
        login: String,
        /// What was added; 0 in a kind adds nothing.
        more: Budget,
        /// Still used up: the task stays paused.
        lacks: Option<String>,
    },
    /// `/budget` granted nothing.
    BudgetRefused {
        /// Login of whoever asked.
        login: String,
        /// Why not.
        why: BudgetBar,
    },
    /// `/resume` where only a grant helps.
    BudgetNeeded {
        /// Login of whoever asked; `operator` for an order from the command line.
        login: String,
        /// The kind that is used up: `money`, `tokens`, `actions` or `time`.
        what: String,
    },
    /// `/resume` where nothing is paused.
    NotPaused {
        /// Login of whoever asked.
        login: String,
    },
    /// An approval was used that also covers later checkpoints.
    InAdvance {
        /// Login of whoever approved.
        login: String,
        /// How many later checkpoints it covers.
        next: u8,
    },
    /// An approval in advance ended before it was used up.
    AdvanceEnded {
        /// Login of whoever gave it.
        login: String,
        /// Checkpoints that it was not used for.
        left: u8,
        /// What ended it.
        why: Ending,
    },
    /// The task is paused; says what a person can do.
    Paused {
        /// Why it is paused.
        reason: PauseReason,
    },
    /// `/resume` or the operator's order was followed.
    Resumed,
    /// The answer of a read-only task; no transition asks for it, since [`Effect::Review`] posts the answer itself.
    Answer {
        /// Number of the answer.
        n: u32,
    },
    /// The final review was approved; says how to fetch the commit.
    Approved {
        /// The approved commit.
        commit: Commit,
    },
    /// A checkpoint's review was edited or deleted: it is posted again.
    Voided {
        /// Number of the checkpoint whose review it was.
        n: u32,
    },
    /// The task was ended by `/stop` or by the operator's order.
    Cancelled {
        /// Login of whoever ended it; `operator` for an order from the command line.
        login: String,
    },
    /// The issue or the pull request was closed, which ended the task without a delivery.
    Declined,
    /// The task failed and can't go on.
    Failed {
        /// What went wrong, as a sentence; it may hold foreign words.
        why: String,
    },
    /// The approved commit was fetched, or the pull request was merged.
    Delivered,
    /// The task ended because nothing happened to it for 30 days.
    Expired,
    /// An effect can't be done yet and is tried again, or failed after the final approval, when no pause is made for
    /// it.
    Trouble {
        /// What is in the way.
        sentence: String,
    },
    /// The repository was renamed or given away; the task follows it. Both as `owner/name`.
    Moved {
        /// Name before.
        from: String,
        /// Name now.
        to: String,
    },
}

/// What a comment answers: one text is posted for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum To {
    /// A step of the task: the number of events in its log then, and which of the step's effects this is.
    Step {
        /// Number of events in the task's log when the text was asked for.
        seq: u32,
        /// Place of the comment among the step's effects, counted from 0.
        at: u32,
    },
    /// The comment or review with this number on the forge.
    Asked {
        /// The number in the forge's order over comments and reviews.
        number: i64,
    },
    /// What was seen outside when the log had so many events.
    Seen {
        /// Number of events in the task's log when it was seen.
        seq: u32,
    },
    /// The change of hosts with this serial, which the router now obeys.
    Hosts {
        /// Serial of the [`Effect::Egress`] that changed them.
        serial: u32,
    },
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
    /// All that the other two do not have: sandbox, model, git and reviews.
    Work,
    /// The way out of the sandbox: neither a long action nor a slow forge holds it up.
    Gate,
    /// What is said to people: comments, labels, commit statuses, closing and readying the pull request.
    Talk,
}

/// One row of a task's outbox: something to do outside, whose result comes back as an input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Fetches the repository and makes the task's sandbox; answered by [`crate::Input::Prepared`].
    Prepare {
        /// Number of events in the task's log when it was asked for; part of the key.
        serial: u32,
    },
    /// One model call.
    Converse {
        /// Number of the turn that the answer makes, counted from 1.
        turn: u32,
    },
    /// One action in the sandbox; answered by [`crate::Input::ActionEnded`].
    Act {
        /// Number of the action within the task, which is also the runner's request id.
        number: u32,
        /// What to do.
        action: Action,
    },
    /// Takes the sandbox's tree through the quarantine into the commit of a checkpoint.
    Seal {
        /// Number of the checkpoint.
        n: u32,
        /// What the publication follows from; part of the commit's message.
        why: Why,
    },
    /// Pushes a checkpoint's commit to the agent's branch on the forge.
    Push {
        /// Number of the checkpoint.
        n: u32,
        /// The commit to push.
        commit: Commit,
        /// Where the branch must stand before; none: it must not exist yet.
        expected: Option<Commit>,
    },
    /// Opens the draft pull request, or finds the one that is open; answered by [`crate::Input::PullOpened`].
    OpenPull,
    /// Posts the review of checkpoint `n`; `last` marks the final one.
    Review {
        /// Number of the checkpoint.
        n: u32,
        /// The commit that the review is about; none where there is none to approve.
        commit: Option<Commit>,
        /// Whether it is the final review.
        last: bool,
    },
    /// Runs the project's tests on a commit in a fresh sandbox; answered by [`crate::Input::Verified`].
    Verify {
        /// Number of the checkpoint.
        n: u32,
        /// The commit to test.
        commit: Commit,
    },
    /// Opens the berth again before work goes on; makes the sandbox anew from the last commit if it is gone.
    Open {
        /// Number of events in the task's log when it was asked for; part of the key.
        serial: u32,
    },
    /// While a person is awaited: stops what may be stopped.
    Rest {
        /// Number of events in the task's log when it was asked for; part of the key.
        serial: u32,
    },
    /// Takes what no checkpoint has of a waiting task's sandbox into a commit of its own.
    Keep {
        /// Number of events in the log up to its [`crate::Event::WorkKeeping`], whose time dates the commit; part of
        /// the key.
        serial: u32,
    },
    /// Puts the sandbox of a task that waits further away.
    Shelve {
        /// Number of events in the task's log when it was asked for; part of the key.
        serial: u32,
        /// How far to put it away.
        shelf: Shelf,
    },
    /// Removes the task's containers and volumes, and closes its berth.
    Teardown,
    /// Closes the pull request of a task that ended without a delivery; the branch stays.
    ClosePull,
    /// The work is approved: its pull request is no draft any more.
    ReadyPull,
    /// Reads these objects again and judges them with a fresh right and head.
    Recheck {
        /// Number of the checkpoint that stands now.
        n: u32,
        /// The comments and reviews that hold the decisions.
        sources: Vec<Source>,
    },
    /// Looks again at an approval given in advance, for checkpoint `n`.
    Advance {
        /// Number of the checkpoint that it may cover.
        n: u32,
        /// The comment or review that gave the approval.
        source: Source,
    },
    /// Brings the rules of the open berth to what is allowed now; with `repo`, those of the repository's other tasks too.
    /// Then `notice` is said.
    Egress {
        /// Number of events in the task's log when it was asked for; part of the key.
        serial: u32,
        /// Whether the repository's other live tasks get new rules too.
        repo: bool,
        /// What the person is answered once the router has the rules.
        notice: Notice,
    },
    /// Posts one text on the issue or the pull request.
    Comment {
        /// What the text answers; it makes the key.
        #[serde(alias = "serial", deserialize_with = "stored_to")]
        to: To,
        /// What the text says.
        notice: Notice,
    },
    /// Puts the label of a state on the issue and the pull request.
    Label {
        /// Number of events in the task's log when it was asked for; part of the key.
        serial: u32,
        /// The state's name, as [`crate::State::name`] has it; the label is `caisson/` and this name.
        name: String,
    },
    /// Sets the commit status `caisson` on the forge.
    CommitStatus {
        /// Number of the checkpoint.
        n: u32,
        /// The commit that gets the status.
        commit: Commit,
        /// `pending`, `failure` or `success`.
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

    /// Name of the kind, as it is stored with the row and counted in metrics.
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

    /// The lane that it runs in, as [`Effect::needs`] has it.
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
    /// The lane that it runs in.
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
