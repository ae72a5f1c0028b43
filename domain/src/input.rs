//! What can reach a task: results of its effects, decisions of people, timers. Each has a key that is used once.

use crate::{
    Asked, Budget, CallRequest, CapturedTree, Commit, Decision, Fallback, Look, Loss, Millis, ModelSummary, Outcome,
    PauseReason, Picture, Request, Risk, Rules, SummaryOf, Suspension, Usage, Verdict,
};
use serde::{Deserialize, Serialize};

/// An input with its key (unique in the store) and the time at which it was taken up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// What the input is known by, such as `comment:17#0`; one whose key was used before is not taken up again.
    pub key: String,
    /// Unix milliseconds by the bot's clock.
    pub now: Millis,
    /// What reached the task.
    pub input: Input,
}

/// Why an effect could not be done, for good. What is only down is retried by the outbox and never comes here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "failure", rename_all = "snake_case")]
pub enum Failure {
    /// A person has to do something first: the sentence says what.
    Blocked {
        /// What to do, as a sentence for a person.
        sentence: String,
    },
    /// The conversation no longer fits into the model.
    ContextFull,
    /// The sandbox is gone: it is made anew from the last commit.
    SandboxGone {
        /// What became of the sandbox.
        #[serde(default)]
        loss: Loss,
    },
    /// Nothing can mend it.
    Fatal {
        /// What went wrong, as a sentence.
        why: String,
    },
}

/// What an operator orders where the forge's threads cannot be read, or need not be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// As `/stop`.
    Stop,
    /// As `/resume`.
    Resume,
}

/// What reached a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "input", rename_all = "snake_case")]
pub enum Input {
    /// Somebody asked for the task: creates it.
    Requested {
        /// What was asked for.
        request: Box<Request>,
    },
    /// One of the `max_tasks` slots is free.
    SlotFree,
    /// `every` and `budget` are what the pinned project file narrows the operator's to.
    Prepared {
        /// The commit that the work begins from.
        base: Commit,
        /// Id of the runner's process in the new sandbox, random for each process.
        boot: String,
        /// Name of the image that the sandbox was made from.
        image: String,
        /// Actions between two checkpoints.
        every: u8,
        /// Sentences for a person; none where there is nothing to say.
        #[serde(default)]
        note: Option<String>,
        /// The narrower budget; none in an input from before there was one.
        #[serde(default)]
        budget: Option<Budget>,
        /// The repository's own rules at the base; none in logs of versions that did not read them.
        #[serde(default, skip_serializing_if = "Rules::is_empty")]
        rules: Rules,
        /// Pictures of the issue, in the order in which they hang on it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pictures: Vec<Picture>,
    },
    /// What the host read for the request of this turn, recorded before it is made; answers no effect.
    Looked {
        /// Turn that the request is about to be made for.
        turn: u32,
        /// What was read.
        look: Box<Look>,
    },
    /// Recorded before a model is asked to tell something in short; answers no effect.
    SummaryStarting {
        /// What it is to stand for.
        of: SummaryOf,
        /// The most that the call can cost, in millionths of a US dollar.
        worst_micro_usd: u64,
    },
    /// The model answered, or its call cost nothing; answers no effect.
    Summarised {
        /// What it said, and what that cost.
        summary: Box<ModelSummary>,
    },
    /// The request of this turn would be too long, or soon: what it leaves out, recorded before it is made; answers no effect.
    Compacted {
        /// Turn that the request is about to be made for.
        turn: u32,
        /// As in [`crate::Event::Compacted`].
        shrunk: u32,
        /// As in [`crate::Event::Compacted`].
        folded: u32,
        /// As in [`crate::Event::Compacted`].
        rate: u32,
    },
    /// The agent got nowhere since it was last told something: it begins anew. Answers no effect.
    AnotherWay {
        /// Turn that the next request is about to be made for.
        turn: u32,
        /// As in [`crate::Event::AnotherWay`].
        tried: Vec<String>,
    },
    /// Recorded before the call goes out; answers no effect.
    ModelCallStarting {
        /// Turn that the call is made for: one more than the last completed one.
        turn: u32,
        /// The most that the call can cost, in millionths of a US dollar.
        worst_micro_usd: u64,
    },
    /// The call never reached a model, or was refused by its server.
    ModelCallRefused {
        /// Turn that the call was made for.
        turn: u32,
        /// Which model is asked from then on; none where the same one is.
        #[serde(default)]
        fallback: Option<Fallback>,
    },
    /// The call was refused because of the pictures that it shows, or that is possible; it cost nothing.
    PicturesRefused {
        /// Turn that the call was made for.
        turn: u32,
    },
    /// An answer arrived, of the model or of the host in its place; any other turn than the next one is ignored.
    ModelAnswered {
        /// Number of the turn, counted from 1 over the whole task.
        turn: u32,
        /// What the answer says beside its calls. Foreign.
        text: String,
        /// The answer's tool calls in their order; empty for one without any.
        calls: Vec<CallRequest>,
        /// Tokens of the call.
        usage: Usage,
        /// What the call cost, in millionths of a US dollar.
        micro_usd: u64,
        /// Milliseconds of the call, with its retries.
        duration_ms: u64,
        /// The model's label as reviews show it, or `the host`.
        model: String,
        /// The answer as its vendor sent it, where it holds what text and calls do not (signed or encrypted reasoning); opaque. Foreign.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        vendor: Option<Box<str>>,
    },
    /// An action ended; ignored unless it is the one that is under way.
    ActionEnded {
        /// Number of the action within the task.
        number: u32,
        /// How it ended.
        outcome: Outcome,
    },
    /// The tree passed the quarantine and became a commit.
    TreeCaptured {
        /// Number of the checkpoint that is being published.
        n: u32,
        /// The commit and what it changes.
        tree: CapturedTree,
    },
    /// The tree is the last commit's, so there is no new commit.
    TreeUnchanged {
        /// Number of the checkpoint that is being published.
        n: u32,
        /// The last commit on the agent's branch, or the base.
        commit: Commit,
        /// As in [`CapturedTree`].
        #[serde(default)]
        left_out: Vec<String>,
    },
    /// The tree breaks a rule, so there is no commit of it.
    TreeRefused {
        /// Number of the checkpoint that is being published.
        n: u32,
        /// What is wrong, one sentence each, for the agent and for a person.
        reasons: Vec<String>,
    },
    /// The checkpoint's commit stands on the agent's branch on the forge.
    Pushed {
        /// Number of the checkpoint that is being published.
        n: u32,
        /// The commit that was pushed.
        commit: Commit,
    },
    /// The draft pull request is open, newly or since an earlier try.
    PullOpened {
        /// Number of the pull request in its repository.
        number: u64,
        /// Address of the pull request for people.
        url: String,
    },
    /// The bot's own run of the project's tests ended.
    Verified {
        /// Number of the checkpoint that is being published.
        n: u32,
        /// What the run gave.
        verdict: Verdict,
    },
    /// Recorded before a second model is asked about a checkpoint's changes; answers no effect.
    SecondLookStarting {
        /// Number of the checkpoint that is being published.
        n: u32,
        /// The most that the call can cost, in millionths of a US dollar.
        worst_micro_usd: u64,
    },
    /// The second model answered, or its call cost nothing; answers no effect.
    SecondLooked {
        /// Number of the checkpoint that is being published.
        n: u32,
        /// What it said; empty where nothing was answered. Foreign.
        text: String,
        /// Tokens of the call.
        usage: Usage,
        /// What the call cost, in millionths of a US dollar.
        micro_usd: u64,
        /// Milliseconds of the call, with its retries.
        duration_ms: u64,
        /// The model's label as reviews show it.
        model: String,
    },
    /// Recorded before a model is asked a person's question; answers no effect.
    ReplyStarting {
        /// As in [`crate::Event::ReplyStarted`].
        number: i64,
        /// As in [`crate::Event::ReplyStarted`].
        call: u32,
        /// As in [`crate::Event::ReplyStarted`].
        worst_micro_usd: u64,
    },
    /// It answered, or its call cost nothing; answers no effect.
    Replied {
        /// As in [`crate::Event::Replied`].
        number: i64,
        /// As in [`crate::Event::Replied`].
        call: u32,
        /// As in [`crate::Event::Replied`]. Foreign.
        text: String,
        /// As in [`crate::Event::Replied`].
        usage: Usage,
        /// As in [`crate::Event::Replied`].
        micro_usd: u64,
        /// As in [`crate::Event::Replied`].
        model: String,
    },
    /// `risk` is what the review shows beside the log.
    ReviewPosted {
        /// Number of the checkpoint.
        n: u32,
        /// The forge's id of the review.
        review: i64,
        /// Number of the review in the forge's order over comments and reviews.
        number: i64,
        /// Why no approval in advance covers it; none where the review shows no reason.
        risk: Option<Risk>,
    },
    /// The text of a checkpoint without a pull request stands on the issue, such as a read-only task's answer.
    AnswerPosted {
        /// Number of the checkpoint or answer.
        n: u32,
        /// The forge's id of the comment, which is its number in the forge's order.
        number: i64,
    },
    /// A rule puts the action that is under way before a person; it has not run.
    PermissionAsked {
        /// Number of the action within the task.
        number: u32,
        /// The rule's reason and name.
        reason: String,
    },
    /// The question stands on the issue or the pull request; ignored unless it is the one that waits.
    QuestionPosted {
        /// What it is about.
        about: Asked,
        /// The forge's id of the comment, which is its number in the forge's order.
        number: i64,
    },
    /// `fresh`: it had to be made anew, because the one before was lost.
    Opened {
        /// What became of the sandbox before; none where that one goes on.
        fresh: Option<Loss>,
    },
    /// The router was gone while the sandbox's way out stood open; it is there again, with the same rules.
    RouterReplaced,
    /// A sentence is owed to the person, nothing else changes.
    Noticed {
        /// What to say.
        notice: crate::Notice,
    },
    /// An effect whose result changes nothing: label, status, comment, rest, teardown.
    Settled,
    /// An effect failed for good, or what is said to the task can't be read for good.
    EffectFailed {
        /// Key of the effect, as [`crate::Effect::key`] has it; `reading` for the reading of issue and pull request.
        effect: String,
        /// Why it failed.
        failure: Failure,
    },
    /// Somebody said something to the task on the forge.
    Decided {
        /// What was said, with what was seen of it.
        decision: Box<Decision>,
    },
    /// The operator's word, given at the machine: it names no object of the forge.
    Ordered {
        /// What was ordered.
        order: Order,
    },
    /// What an approval given in advance says now; none when its text is gone.
    AdvanceRead {
        /// Number of the checkpoint that it may cover.
        n: u32,
        /// The approval as it was just read.
        decision: Option<Box<Decision>>,
    },
    /// The router obeys the change with this serial: the answer is due.
    EgressSet {
        /// Serial of the [`crate::Effect::Egress`] that is done.
        serial: u32,
        /// What the person is answered.
        notice: crate::Notice,
    },
    /// The issue was closed on the forge, and its pull request, if any, was not.
    IssueClosed,
    /// The pull request was closed or merged on the forge.
    PullClosed {
        /// Whether it was merged.
        merged: bool,
    },
    /// The review of a checkpoint was found edited or deleted on the forge.
    CheckpointVoided {
        /// Number of the checkpoint.
        n: u32,
    },
    /// `caisson fetch` brought a commit into somebody's clone.
    Fetched {
        /// The commit that was fetched; only the approved one ends the task.
        commit: Commit,
    },
    /// A pause is asked for: a model call can't be made, or the forge denies reading what is said to the task.
    PauseAsked {
        /// Why; [`PauseReason::ContextFull`] makes a checkpoint of uncommitted work instead of a pause.
        reason: PauseReason,
    },
    /// Nothing happened to the task for 30 days; ignored while it works or stands in line again.
    Expired,
    /// What no checkpoint had is in this commit.
    WorkKept {
        /// The commit, which no branch has.
        commit: Commit,
    },
    /// It is in no commit; each reason is a sentence.
    WorkNotKept {
        /// Why not; empty where the task had gone on meanwhile.
        reasons: Vec<String>,
    },
    /// The task has waited long, or others need the room: its sandbox may be put away.
    Idled {
        /// How far it may be put away.
        suspension: Suspension,
    },
}
