//! Inputs: results of effects, decisions of people, and timers. Each has a key and is used once.

use crate::{
    Budget, CallRequest, CapturedTree, CiCheck, CiOutcome, CiWait, Commit, Decision, Difference, Fallback, Look, Loss,
    Millis, ModelSummary, Outcome, PauseReason, Picture, QuestionSubject, RemarkWithdrawn, Request, Risk, Rules,
    SummaryOf, Suspension, Usage, Verdict,
};
use serde::{Deserialize, Serialize};

/// An input with its key (unique in the store) and the time at which it was taken up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// Key of the input, such as `comment:17#0`; an input whose key was used before is ignored.
    pub key: String,
    /// Unix milliseconds by the bot's clock.
    pub now: Millis,
    /// What reached the task.
    pub input: Input,
}

/// Why an effect failed for good. Temporary failures are retried by the outbox and never become inputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "failure", rename_all = "snake_case")]
pub enum Failure {
    /// A person has to do something first: the sentence says what.
    Blocked {
        /// What to do, as a sentence for a person.
        sentence: String,
    },
    /// The conversation no longer fits into the model.
    ContextFull {
        /// The window that is configured for the model, in tokens, its answer included; none where it is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context_tokens: Option<u64>,
    },
    /// The sandbox is gone; it is made anew from the last commit.
    SandboxGone {
        /// What became of the sandbox.
        #[serde(default)]
        loss: Loss,
    },
    /// The failure is permanent and the task cannot go on.
    Fatal {
        /// What went wrong, as a sentence.
        why: String,
    },
}

/// What an operator orders from the command line, without the forge.
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
    /// The status comment shows the task, or will never: somebody deleted it.
    StatusShown {
        /// Number of events in the task's log whose state it shows.
        seq: u32,
    },
    /// One of the `max_tasks` slots is free.
    SlotFree,
    /// The sandbox is made; `every` and `budget` are the values after narrowing by the project file at the base.
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
        /// What is to be reviewed; none for a task that reviews nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        difference: Option<Box<Difference>>,
        /// What the host read for it in the tree; none for a kind of which it reads nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scan: Option<Box<crate::Scan>>,
        /// What the checks reported on the base; none where they reported nothing, or did not end in time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on_base: Option<Box<crate::BaseReport>>,
        /// Files in conflict where the work was merged onto a newer base, as the sandbox named them. Untrusted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        conflicts: Vec<String>,
    },
    /// Files that the host read for this turn's request, recorded before the call; answers no effect.
    Looked {
        /// Turn that the request is about to be made for.
        turn: u32,
        /// What was read.
        look: Box<Look>,
    },
    /// Recorded before a model is asked for a summary; answers no effect.
    SummaryStarting {
        /// What it is to summarize.
        of: SummaryOf,
        /// The most that the call can cost, in millionths of a US dollar.
        worst_micro_usd: u64,
    },
    /// The model gave a summary, or its call cost nothing; answers no effect.
    Summarised {
        /// The summary and its cost.
        summary: Box<ModelSummary>,
    },
    /// What this turn's request leaves out because it would be too long, recorded before the call; answers no effect.
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
    /// The agent made no progress: its conversation restarts. Answers no effect.
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
    /// The call was refused because of its pictures, or possibly because of them; it cost nothing.
    PicturesRefused {
        /// Turn that the call was made for.
        turn: u32,
    },
    /// An answer arrived, from the model or from the host in its place; one of any other turn than the next is ignored.
    ModelAnswered {
        /// Number of the turn, counted from 1 over the whole task.
        turn: u32,
        /// What the answer says beside its calls. Untrusted.
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
        /// The answer as its vendor sent it, where it holds what text and calls do not (signed or encrypted reasoning); opaque. Untrusted.
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
    /// The tree equals that of the last commit, so there is no new commit.
    TreeUnchanged {
        /// Number of the checkpoint that is being published.
        n: u32,
        /// The last commit on the agent's branch, or the base.
        commit: Commit,
        /// As in [`CapturedTree`].
        #[serde(default)]
        left_out: Vec<String>,
    },
    /// The tree breaks a rule, so no commit is made of it.
    TreeRefused {
        /// Number of the checkpoint that is being published.
        n: u32,
        /// What is wrong, one sentence each, for the agent and for a person.
        reasons: Vec<String>,
    },
    /// Files were taken beside a commit of finished work, recorded before the tree's own input, which answers no effect; or the effect that
    /// attaches them ended.
    Artifacts {
        /// What happened to them.
        step: Box<crate::ArtifactStep>,
    },
    /// The checkpoint's commit stands on the agent's branch on the forge.
    Pushed {
        /// Number of the checkpoint that is being published.
        n: u32,
        /// The commit that was pushed.
        commit: Commit,
    },
    /// The draft pull request is open, whether this try or an earlier one opened it.
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
        /// What is waited for before the review is posted; none where nothing is.
        ci: Option<CiWait>,
    },
    /// The wait for the forge's CI ended; answers no effect.
    CiEnded {
        /// Number of the checkpoint that is being published.
        n: u32,
        /// How it ended.
        outcome: CiOutcome,
        /// What each check that counts said, failed ones first.
        checks: Vec<CiCheck>,
        /// How many more checks count than are named.
        #[serde(default)]
        more: u32,
    },
    /// The upstream's CI ended on what a person brought there; answers no effect, and only a task that was delivered takes it.
    UpstreamCiEnded(Box<crate::UpstreamChecks>),
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
        /// What it said; empty where nothing was answered. Untrusted.
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
    /// The model answered the question, or its call cost nothing; answers no effect.
    Replied {
        /// As in [`crate::Event::Replied`].
        number: i64,
        /// As in [`crate::Event::Replied`].
        call: u32,
        /// As in [`crate::Event::Replied`]. Untrusted.
        text: String,
        /// As in [`crate::Event::Replied`].
        usage: Usage,
        /// As in [`crate::Event::Replied`].
        micro_usd: u64,
        /// As in [`crate::Event::Replied`].
        model: String,
    },
    /// The forge shows that these remarks were taken back; answers no effect.
    RemarksWithdrawn {
        /// Which ones, and how.
        remarks: Vec<RemarkWithdrawn>,
    },
    /// The review was posted.
    ReviewPosted {
        /// Number of the checkpoint.
        n: u32,
        /// The forge's id of the review.
        review: i64,
        /// Number of the review in the forge's order over comments and reviews.
        number: i64,
        /// Why no approval in advance covers it, judged by what the review shows; none where there is no reason.
        risk: Option<Risk>,
    },
    /// The text of a checkpoint without a pull request was posted on the issue, such as a read-only task's answer.
    AnswerPosted {
        /// Number of the checkpoint or answer.
        n: u32,
        /// The forge's id of the comment, which is its number in the forge's order.
        number: i64,
    },
    /// A rule requires a person's permission for the action that is under way; it has not run.
    PermissionAsked {
        /// Number of the action within the task.
        number: u32,
        /// The rule's reason and name.
        reason: String,
    },
    /// The question was posted on the issue or the pull request; ignored unless it is the one that waits.
    QuestionPosted {
        /// What it is about.
        about: QuestionSubject,
        /// The forge's id of the comment, which is its number in the forge's order.
        number: i64,
    },
    /// The subnet is open and the sandbox runs.
    Opened {
        /// Why the sandbox before was lost and made anew; none where the same one goes on.
        fresh: Option<Loss>,
    },
    /// The router was gone while the sandbox's subnet was open; it is back with the same rules.
    RouterReplaced,
    /// A notice has to be posted to people; nothing else changes.
    Noticed {
        /// What to say.
        notice: crate::Notice,
    },
    /// An effect whose result changes nothing: label, status, comment, rest, teardown.
    Settled,
    /// The log of actions hangs on the pull request or issue, or never will.
    LogAttached,
    /// An effect failed for good, or the issue and pull request can't be read for good.
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
    /// An operator's order from the command line.
    Ordered {
        /// What was ordered.
        order: Order,
    },
    /// An approval in advance was read again.
    AdvanceRead {
        /// Number of the checkpoint that it may cover.
        n: u32,
        /// The approval as it was just read; none when its text is gone.
        decision: Option<Box<Decision>>,
    },
    /// The router applied the rules of the effect with this serial, so the answer can be posted.
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
        /// What was merged and by whom; none where it was not, or where the forge does not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        how: Option<crate::Merged>,
    },
    /// The pull request of approved work was not merged.
    NotMerged {
        /// Why not.
        why: crate::MergeBar,
        /// Login of the person who wanted it.
        login: String,
        /// What the refusal answers.
        to: crate::To,
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
    /// A pause is requested: a model call can't be made, or the forge denies reading the task's threads.
    PauseAsked {
        /// Why; [`PauseReason::ContextFull`] makes a checkpoint of uncommitted work instead of a pause.
        reason: PauseReason,
    },
    /// Nothing happened to the task for 30 days; ignored while it works or is queued again.
    Expired,
    /// Work that no checkpoint had was committed.
    WorkKept {
        /// The commit, which is on no branch.
        commit: Commit,
    },
    /// That work could not be committed.
    WorkNotKept {
        /// Why not, one sentence each; empty where the task had gone on meanwhile.
        reasons: Vec<String>,
    },
    /// The task has waited long, or others need its resources: its sandbox may be stopped or removed.
    Idled {
        /// How far it may be put away.
        suspension: Suspension,
    },
}
