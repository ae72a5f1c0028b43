//! What can reach a task: results of its effects, decisions of people, timers. Each has a key that is used once.

use crate::{
    Budget, CallRequest, Commit, Decision, Look, Loss, Millis, Outcome, PauseReason, Request, Risk, SealedTree, Shelf,
    Usage, Verdict,
};
use serde::{Deserialize, Serialize};

/// An input with its key (unique in the store) and the time at which it was taken up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    pub key: String,
    pub now: Millis,
    pub input: Input,
}

/// Why an effect could not be done, for good. What is only down is retried by the outbox and never comes here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "failure", rename_all = "snake_case")]
pub enum Failure {
    /// A person has to do something first: the sentence says what.
    Blocked {
        sentence: String,
    },
    ContextFull,
    /// The sandbox is gone: it is made anew from the last commit.
    SandboxGone {
        #[serde(default)]
        loss: Loss,
    },
    /// Nothing can mend it.
    Fatal {
        why: String,
    },
}

/// What an operator orders where the forge's threads cannot be read, or need not be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    Stop,
    Resume,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "input", rename_all = "snake_case")]
pub enum Input {
    Requested {
        request: Box<Request>,
    },
    /// One of the `max_tasks` places is free.
    PlaceFree,
    /// `every` and `budget` are what the pinned project file narrows the operator's to.
    Prepared {
        base: Commit,
        boot: String,
        image: String,
        every: u8,
        #[serde(default)]
        note: Option<String>,
        #[serde(default)]
        budget: Option<Budget>,
    },
    /// What the host read for the request of this turn, recorded before it is made; answers no effect.
    Looked {
        turn: u32,
        look: Box<Look>,
    },
    /// Recorded before the call goes out; answers no effect.
    ModelCallStarting {
        turn: u32,
        worst_micro_usd: u64,
    },
    /// The call never reached a model, or was refused by its server.
    ModelCallRefused {
        turn: u32,
    },
    ModelAnswered {
        turn: u32,
        text: String,
        calls: Vec<CallRequest>,
        usage: Usage,
        micro_usd: u64,
        duration_ms: u64,
        model: String,
    },
    ActionEnded {
        number: u32,
        outcome: Outcome,
    },
    TreeSealed {
        n: u32,
        tree: SealedTree,
    },
    TreeUnchanged {
        n: u32,
        commit: Commit,
        /// As in [`SealedTree`].
        #[serde(default)]
        left_out: Vec<String>,
    },
    TreeRefused {
        n: u32,
        reasons: Vec<String>,
    },
    Pushed {
        n: u32,
        commit: Commit,
    },
    PullOpened {
        number: u64,
        url: String,
    },
    Verified {
        n: u32,
        verdict: Verdict,
    },
    /// `risk` is what the review shows beside the log.
    ReviewPosted {
        n: u32,
        review: i64,
        number: i64,
        risk: Option<Risk>,
    },
    AnswerPosted {
        n: u32,
        number: i64,
    },
    /// `fresh`: it had to be made anew, because the one before was lost.
    Opened {
        fresh: Option<Loss>,
    },
    /// The router was gone while the sandbox's way out stood open; it is there again, with the same rules.
    RouterReplaced,
    /// A sentence is owed to the person, nothing else changes.
    Noticed {
        notice: crate::Notice,
    },
    /// An effect whose result changes nothing: label, status, comment, rest, teardown.
    Settled,
    EffectFailed {
        effect: String,
        failure: Failure,
    },
    Decided {
        decision: Box<Decision>,
    },
    /// The operator's word, given at the machine: it names no object of the forge.
    Ordered {
        order: Order,
    },
    /// What an approval given in advance says now; none when its text is gone.
    AdvanceRead {
        n: u32,
        decision: Option<Box<Decision>>,
    },
    /// The router obeys the change with this serial: the answer is due.
    EgressSet {
        serial: u32,
        notice: crate::Notice,
    },
    IssueClosed,
    PullClosed {
        merged: bool,
        by: String,
    },
    CheckpointVoided {
        n: u32,
    },
    Fetched {
        commit: Commit,
    },
    PauseAsked {
        reason: PauseReason,
    },
    Expired,
    /// What no checkpoint had is in this commit.
    WorkKept {
        commit: Commit,
    },
    /// It is in no commit; each reason is a sentence.
    WorkNotKept {
        reasons: Vec<String>,
    },
    /// The task has waited long, or others need the place: its sandbox may be put away.
    Idled {
        shelf: Shelf,
    },
}
