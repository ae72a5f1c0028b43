//! Effects: what a transition asks the shell to do. Each has a key and may be repeated; `docs/effects.md` describes each kind.

use crate::notice::stored_to;
use crate::{Account, Action, Commit, Notice, QuestionSubject, Source, Suspension, To, Why};
use serde::{Deserialize, Serialize};

/// Effects of one queue of a task run in order; its queues run side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// Everything that the other two queues do not take: sandbox, model, git and reviews.
    Work,
    /// Changes of egress; a queue of its own, so that neither a long action nor a slow forge delays them.
    #[serde(rename = "gate")]
    Egress,
    /// What people read: comments, labels, commit statuses, and the state of the pull request.
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
        /// Whether a person permitted it, so that no rule asks about it again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        permitted: bool,
    },
    /// Takes the sandbox's tree through the quarantine into the commit of a checkpoint.
    #[serde(rename = "seal")]
    Capture {
        /// Number of the checkpoint.
        n: u32,
        /// What led to the publication; part of the commit's message.
        why: Why,
    },
    /// Pushes a checkpoint's commit to the agent's branch on the forge.
    Push {
        /// Number of the checkpoint.
        n: u32,
        /// The commit to push.
        commit: Commit,
        /// Commit where the branch must stand before; none if the branch must not exist yet.
        expected: Option<Commit>,
    },
    /// Opens the draft pull request, or finds the one that is open; answered by [`crate::Input::PullOpened`].
    OpenPull,
    /// Attaches the files that were taken beside finished work to the pull request; answered by [`crate::Input::Artifacts`].
    Attach {
        /// Number of the checkpoint.
        n: u32,
    },
    /// Posts the review of checkpoint `n`; `last` marks the final one.
    Review {
        /// Number of the checkpoint.
        n: u32,
        /// The commit that the review is about; none where there is none to approve.
        commit: Option<Commit>,
        /// Whether it is the final review.
        last: bool,
    },
    /// Posts the question that waits for an answer; answered by [`crate::Input::QuestionPosted`].
    Ask {
        /// What it is about.
        about: QuestionSubject,
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
    /// Stops or freezes what the sandbox runs and closes its subnet while the task waits.
    Rest {
        /// Number of events in the task's log when it was asked for; part of the key.
        serial: u32,
    },
    /// Commits the work in a waiting task's sandbox that no checkpoint has.
    Keep {
        /// Number of events in the log up to its [`crate::Event::WorkKeeping`], whose time dates the commit; part of
        /// the key.
        serial: u32,
    },
    /// Stops or removes the sandbox of a task that waits.
    #[serde(rename = "shelve")]
    Suspend {
        /// Number of events in the task's log when it was asked for; part of the key.
        serial: u32,
        /// How far to put the sandbox away.
        #[serde(rename = "shelf")]
        suspension: Suspension,
    },
    /// Removes the task's containers and volumes, and closes its subnet.
    Teardown,
    /// Closes the pull request of a task that ended without a delivery; the branch stays.
    ClosePull,
    /// Takes the pull request of approved work out of draft, and attaches what the agent did.
    ReadyPull,
    /// Merges the pull request of approved work on the forge; answered by [`crate::Input::PullClosed`] or [`crate::Input::NotMerged`].
    Merge {
        /// Number of events in the task's log when it was asked for; part of the key.
        serial: u32,
        /// The approved commit, which the pull request has to end at.
        commit: Commit,
        /// The person who wants it, whose right is read again.
        asker: Account,
        /// What a refusal answers.
        to: To,
    },
    /// Brings the check list in the pull request's text to the task's plan.
    ShowPlan {
        /// Number of the checkpoint that it follows.
        n: u32,
    },
    /// Reads decisions that came too early again, with the poster's present right and the branch's present head.
    Recheck {
        /// Number of the checkpoint that stands now.
        n: u32,
        /// The comments and reviews that hold the decisions.
        sources: Vec<Source>,
    },
    /// Reads an approval given in advance again, for checkpoint `n`.
    Advance {
        /// Number of the checkpoint that it may cover.
        n: u32,
        /// The comment or review that gave the approval.
        source: Source,
    },
    /// Attaches what the agent did to the pull request, or to the issue of a task without one, when it ends without an approval; answered by
    /// [`crate::Input::LogAttached`].
    AttachLog,
    /// Updates the router's rules of the task's open subnet; with `repo` also those of the repository's other tasks.
    /// `notice` is posted afterwards.
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
        /// What the text answers; part of the key.
        #[serde(alias = "serial", deserialize_with = "stored_to")]
        to: To,
        /// What the text says.
        notice: Notice,
    },
    /// Brings the task's one status comment on its issue to its present state; answered by [`crate::Input::StatusShown`].
    StatusComment,
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
    /// Key of the effect, unique within the task; a repeated transition yields the same key.
    pub fn key(&self) -> String {
        match self {
            Effect::Prepare { serial } => format!("prepare:{serial}"),
            Effect::Converse { turn } => format!("converse:{turn}"),
            Effect::Act { number, permitted: false, .. } => format!("act:{number}"),
            Effect::Act { number, permitted: true, .. } => format!("act:{number}:permitted"),
            Effect::Capture { n, .. } => format!("seal:{n}"),
            Effect::Push { n, .. } => format!("push:{n}"),
            Effect::OpenPull => "open-pull".into(),
            Effect::Attach { n } => format!("attach:{n}"),
            Effect::Review { n, .. } => format!("review:{n}"),
            Effect::Ask { about: QuestionSubject::Question { turn, index }, .. } => {
                format!("ask:question:{turn}:{index}")
            }
            Effect::Ask { about: QuestionSubject::Permission { number }, .. } => format!("ask:permission:{number}"),
            Effect::Verify { n, .. } => format!("verify:{n}"),
            Effect::Open { serial } => format!("open:{serial}"),
            Effect::Rest { serial } => format!("rest:{serial}"),
            Effect::Keep { serial } => format!("keep:{serial}"),
            Effect::Suspend { serial, .. } => format!("shelve:{serial}"),
            Effect::Teardown => "teardown".into(),
            Effect::ClosePull => "close-pull".into(),
            Effect::ReadyPull => "ready-pull".into(),
            Effect::AttachLog => "attach-log".into(),
            Effect::Merge { serial, .. } => format!("merge:{serial}"),
            Effect::ShowPlan { n } => format!("plan:{n}"),
            Effect::Recheck { n, .. } => format!("recheck:{n}"),
            Effect::Advance { n, .. } => format!("advance:{n}"),
            Effect::Egress { serial, .. } => format!("egress:{serial}"),
            Effect::Comment { to, .. } => to.key(),
            // One row for the whole task: what is wanted while it is open needs no second one.
            Effect::StatusComment => "status-comment".into(),
            Effect::Label { serial, .. } => format!("label:{serial}"),
            Effect::CommitStatus { n, state, .. } => format!("status:{n}:{state}"),
        }
    }

    /// Name of the kind, as stored with the row and counted in metrics.
    pub fn kind(&self) -> &'static str {
        match self {
            Effect::Prepare { .. } => "prepare",
            Effect::Converse { .. } => "converse",
            Effect::Act { .. } => "act",
            Effect::Capture { .. } => "seal",
            Effect::Push { .. } => "push",
            Effect::OpenPull => "open_pull",
            Effect::Attach { .. } => "attach",
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
            Effect::AttachLog => "attach_log",
            Effect::Merge { .. } => "merge",
            Effect::ShowPlan { .. } => "show_plan",
            Effect::Recheck { .. } => "recheck",
            Effect::Advance { .. } => "advance",
            Effect::Egress { .. } => "egress",
            Effect::Comment { .. } => "comment",
            Effect::StatusComment => "status_comment",
            Effect::Label { .. } => "label",
            Effect::CommitStatus { .. } => "commit_status",
        }
    }

    /// As [`Needs::queue`].
    pub fn queue(&self) -> Queue {
        self.needs().queue
    }

    /// What the effect needs; the match is exhaustive, so that a new kind does not compile without an entry.
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
            // Verification runs in containers of its own.
            Effect::Verify { .. } => inside,
            Effect::Act { .. } => Needs { sandbox: Sandbox::Open, again: Again::Never, ..inside },
            // In the style *files* the base's checks run in the sandbox, and files are read from it.
            Effect::Converse { .. } => Needs { sandbox: Sandbox::Standing, again: Again::Charged, ..inside },
            Effect::Push { .. } => Needs { commits: true, ..work },
            Effect::Recheck { .. } | Effect::Advance { .. } => work,
            // These only stop or remove the sandbox.
            Effect::Rest { .. } | Effect::Suspend { .. } => Needs { sandbox: Sandbox::IfThere, ..work },
            Effect::OpenPull | Effect::Attach { .. } | Effect::Ask { .. } => Needs { again: Again::ReadBack, ..work },
            Effect::Review { .. } => Needs { commits: true, again: Again::ReadBack, ..work },
            Effect::Teardown => Needs { sandbox: Sandbox::IfThere, ends_with_task: false, ..work },
            Effect::Egress { .. } => {
                Needs { queue: Queue::Egress, sandbox: Sandbox::IfThere, commits: true, ends_with_task: false, ..work }
            }
            Effect::Comment { .. } => Needs { again: Again::ReadBack, set_aside: true, ..talk },
            // It waits for an interrupted try by itself, because an ordinary edit follows none.
            Effect::StatusComment => Needs { set_aside: true, ..talk },
            // A file that an earlier try attached is looked for, and so is a merge; of a task that is over nothing is merged.
            Effect::ReadyPull | Effect::AttachLog | Effect::Merge { .. } => Needs { again: Again::ReadBack, ..talk },
            Effect::Label { .. } | Effect::CommitStatus { .. } | Effect::ClosePull | Effect::ShowPlan { .. } => talk,
        }
    }

    /// The commit that it names, if it names one.
    pub fn commit(&self) -> Option<&Commit> {
        match self {
            Effect::Push { commit, .. }
            | Effect::Verify { commit, .. }
            | Effect::Merge { commit, .. }
            | Effect::CommitStatus { commit, .. } => Some(commit),
            Effect::Review { commit, .. } => commit.as_ref(),
            Effect::Prepare { .. }
            | Effect::Converse { .. }
            | Effect::Act { .. }
            | Effect::Capture { .. }
            | Effect::OpenPull
            | Effect::Attach { .. }
            | Effect::Ask { .. }
            | Effect::Open { .. }
            | Effect::Rest { .. }
            | Effect::Keep { .. }
            | Effect::Suspend { .. }
            | Effect::Teardown
            | Effect::ClosePull
            | Effect::ReadyPull
            | Effect::AttachLog
            | Effect::ShowPlan { .. }
            | Effect::Recheck { .. }
            | Effect::Advance { .. }
            | Effect::Egress { .. }
            | Effect::Comment { .. }
            | Effect::StatusComment
            | Effect::Label { .. } => None,
        }
    }
}

/// What an effect needs before it begins, and how it is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// The queue that it runs in.
    pub queue: Queue,
    /// Whether it runs code or handles data of a repository or a model in a sandbox; such an effect waits for the barrier's self-test.
    pub barrier: bool,
    /// What it needs of its task's own sandbox.
    pub sandbox: SandboxNeed,
    /// Whether it reads the task's commits, which are fetched to this host before it begins.
    pub commits: bool,
    /// Whether it is cancelled when its task has ended.
    pub ends_with_task: bool,
    /// What a later try does.
    pub again: Again,
    /// Whether an effect that the forge forbids is postponed and retried for days while the rest of its queue goes on;
    /// any other effect fails.
    pub set_aside: bool,
}

/// What an effect needs of its task's own sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxNeed {
    /// Nothing.
    Nothing,
    /// The sandbox is changed or removed if it exists.
    IfThere,
    /// The sandbox has to exist; its subnet may be closed.
    Standing,
    /// The sandbox has to exist with its subnet open, because something of the agent runs in it.
    Open,
    /// The sandbox is opened, or made if it does not exist.
    Made,
}

/// How an effect is repeated that an earlier try may already have carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// It is repeated, with the same result.
    Converges,
    /// A request to the forge may still arrive: the repetition waits for it, reads back, and posts only what is missing.
    ReadBack,
    /// It is never run twice: the earlier try's result is asked for, or it counts as interrupted.
    Never,
    /// It is repeated, and the worst-case cost of each try stays charged.
    Charged,
}
