//! What a transition asks the shell to do. Each has a key and may be carried out again: `docs/effects.md` says how, for each.

use crate::notice::stored_to;
use crate::{Action, Asked, Commit, Notice, Source, Suspension, To, Why};
use serde::{Deserialize, Serialize};

/// Effects of one queue run in order; the queues of a task run side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// All that the other two do not have: sandbox, model, git and reviews.
    Work,
    /// The way out of the sandbox: neither a long action nor a slow forge holds it up.
    #[serde(rename = "gate")]
    Egress,
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
        /// A person permitted it: no rule asks about it again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        permitted: bool,
    },
    /// Takes the sandbox's tree through the quarantine into the commit of a checkpoint.
    #[serde(rename = "seal")]
    Capture {
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
    /// Posts the question that waits; answered by [`crate::Input::QuestionPosted`].
    Ask {
        /// What it is about.
        about: Asked,
        /// Number of events in the task's log when it was asked for; part of the key.
        serial: u32,
    },
    /// Runs the project's tests on a commit in a fresh sandbox; answered by [`crate::Input::Verified`].
    Verify {
        /// Number of the checkpoint.
        n: u32,
        /// The commit to test.
        commit: Commit,
    },
    /// Opens the subnet again before work goes on; makes the sandbox anew from the last commit if it is gone.
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
    #[serde(rename = "shelve")]
    Suspend {
        /// Number of events in the task's log when it was asked for; part of the key.
        serial: u32,
        /// How far to put it away.
        #[serde(rename = "shelf")]
        suspension: Suspension,
    },
    /// Removes the task's containers and volumes, and closes its subnet.
    Teardown,
    /// Closes the pull request of a task that ended without a delivery; the branch stays.
    ClosePull,
    /// The work is approved: its pull request is no draft any more.
    ReadyPull,
    /// Brings the check list in the pull request's text to the task's plan.
    ShowPlan {
        /// Number of the checkpoint that it follows.
        n: u32,
    },
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
    /// Brings the rules of the open subnet to what is allowed now; with `repo`, those of the repository's other tasks too.
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
            Effect::Act { number, permitted: false, .. } => format!("act:{number}"),
            Effect::Act { number, permitted: true, .. } => format!("act:{number}:permitted"),
            Effect::Capture { n, .. } => format!("seal:{n}"),
            Effect::Push { n, .. } => format!("push:{n}"),
            Effect::OpenPull => "open-pull".into(),
            Effect::Review { n, .. } => format!("review:{n}"),
            Effect::Ask { about: Asked::Question { turn, index }, .. } => format!("ask:question:{turn}:{index}"),
            Effect::Ask { about: Asked::Permission { number }, .. } => format!("ask:permission:{number}"),
            Effect::Verify { n, .. } => format!("verify:{n}"),
            Effect::Open { serial } => format!("open:{serial}"),
            Effect::Rest { serial } => format!("rest:{serial}"),
            Effect::Keep { serial } => format!("keep:{serial}"),
            Effect::Suspend { serial, .. } => format!("shelve:{serial}"),
            Effect::Teardown => "teardown".into(),
            Effect::ClosePull => "close-pull".into(),
            Effect::ReadyPull => "ready-pull".into(),
            Effect::ShowPlan { n } => format!("plan:{n}"),
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
            Effect::Capture { .. } => "seal",
            Effect::Push { .. } => "push",
            Effect::OpenPull => "open_pull",
            Effect::Review { .. } => "review",
            Effect::Ask { .. } => "ask",
            Effect::Verify { .. } => "verify",
            Effect::Open { .. } => "open",
            Effect::Rest { .. } => "rest",
            Effect::Keep { .. } => "keep",
            Effect::Suspend { .. } => "shelve",
            Effect::Teardown => "teardown",
            Effect::ClosePull => "close_pull",
            Effect::ReadyPull => "ready_pull",
            Effect::ShowPlan { .. } => "show_plan",
            Effect::Recheck { .. } => "recheck",
            Effect::Advance { .. } => "advance",
            Effect::Egress { .. } => "egress",
            Effect::Comment { .. } => "comment",
            Effect::Label { .. } => "label",
            Effect::CommitStatus { .. } => "commit_status",
        }
    }

    /// The queue that it runs in, as [`Effect::needs`] has it.
    pub fn queue(&self) -> Queue {
        self.needs().queue
    }

    /// Said of every effect, one by one: a new one does not compile before it is known what it needs.
    pub fn needs(&self) -> Needs {
        use SandboxNeed as Sandbox;
        let work = Needs {
            queue: Queue::Work,
            barrier: false,
            sandbox: Sandbox::Nothing,
            commits: false,
            ends_with_task: true,
            again: Again::Converges,
            set_aside: false,
        };
        let inside = Needs { barrier: true, commits: true, ..work };
        let talk = Needs { queue: Queue::Talk, ends_with_task: false, ..work };
        match self {
            Effect::Prepare { .. } | Effect::Open { .. } => Needs { sandbox: Sandbox::Made, ..inside },
            Effect::Capture { .. } | Effect::Keep { .. } => Needs { sandbox: Sandbox::Standing, ..inside },
            // It has sandboxes of its own.
            Effect::Verify { .. } => inside,
            Effect::Act { .. } => Needs { sandbox: Sandbox::Open, again: Again::Never, ..inside },
            // In the style *files* the base's checks run, and the sandbox is asked for its files.
            Effect::Converse { .. } => Needs { sandbox: Sandbox::Standing, again: Again::Charged, ..inside },
            Effect::Push { .. } => Needs { commits: true, ..work },
            Effect::Recheck { .. } | Effect::Advance { .. } => work,
            // They only take away.
            Effect::Rest { .. } | Effect::Suspend { .. } => Needs { sandbox: Sandbox::IfThere, ..work },
            Effect::OpenPull | Effect::Ask { .. } => Needs { again: Again::ReadBack, ..work },
            Effect::Review { .. } => Needs { commits: true, again: Again::ReadBack, ..work },
            Effect::Teardown => Needs { sandbox: Sandbox::IfThere, ends_with_task: false, ..work },
            Effect::Egress { .. } => {
                Needs { queue: Queue::Egress, sandbox: Sandbox::IfThere, commits: true, ends_with_task: false, ..work }
            }
            Effect::Comment { .. } => Needs { again: Again::ReadBack, set_aside: true, ..talk },
            Effect::Label { .. }
            | Effect::CommitStatus { .. }
            | Effect::ClosePull
            | Effect::ReadyPull
            | Effect::ShowPlan { .. } => talk,
        }
    }

    /// The commit that it names, if it names one.
    pub fn commit(&self) -> Option<&Commit> {
        match self {
            Effect::Push { commit, .. } | Effect::Verify { commit, .. } | Effect::CommitStatus { commit, .. } => {
                Some(commit)
            }
            Effect::Review { commit, .. } => commit.as_ref(),
            Effect::Prepare { .. }
            | Effect::Converse { .. }
            | Effect::Act { .. }
            | Effect::Capture { .. }
            | Effect::OpenPull
            | Effect::Ask { .. }
            | Effect::Open { .. }
            | Effect::Rest { .. }
            | Effect::Keep { .. }
            | Effect::Suspend { .. }
            | Effect::Teardown
            | Effect::ClosePull
            | Effect::ReadyPull
            | Effect::ShowPlan { .. }
            | Effect::Recheck { .. }
            | Effect::Advance { .. }
            | Effect::Egress { .. }
            | Effect::Comment { .. }
            | Effect::Label { .. } => None,
        }
    }
}

/// What an effect needs, and how long it is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// The queue that it runs in.
    pub queue: Queue,
    /// Code or data of a repository or a model comes to run in a sandbox: not begun before the barrier is proven.
    pub barrier: bool,
    /// What it needs of its task's own sandbox.
    pub sandbox: SandboxNeed,
    /// It reads the task's commits on this host: they are brought here before it begins.
    pub commits: bool,
    /// Called off when its task has ended.
    pub ends_with_task: bool,
    /// What a later try does.
    pub again: Again,
    /// Where the forge forbids it, it is set aside and tried again for days, and the rest of its queue goes before it; any other fails.
    pub set_aside: bool,
}

/// What an effect needs of its task's own sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxNeed {
    /// Nothing: it is not looked at.
    Nothing,
    /// One that stands is changed or removed; that none stands is fine.
    IfThere,
    /// It has to stand; whether its subnet is open does not matter.
    Standing,
    /// It has to stand, with its subnet open: something of an agent's runs in it.
    Open,
    /// It is opened, or made where none stands.
    Made,
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
