//! What happened to a task: the log whose fold is its state. Additive only: a stored event is read for ever.

use crate::{
    Account, Budget, CallRequest, CapturedTree, Commit, Decision, End, Ending, Fallback, Item, Look, Loss, Millis,
    ModelSummary, Outcome, PauseReason, Picture, PlanStep, Question, Recall, Request, Rules, Source, SummaryOf,
    Suspension, Usage, Verdict, Why,
};
use serde::{Deserialize, Serialize};

/// One entry of a task's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Somebody asked for the task: the first event of every log.
    Requested {
        /// What was asked for.
        request: Box<Request>,
    },
    /// The task got one of the `max_tasks` slots: it is prepared, or goes on where it stood.
    #[serde(rename = "place_granted")]
    SlotGranted,
    /// Work may go on as soon as one of the `max_tasks` slots is free.
    #[serde(rename = "place_awaited")]
    SlotAwaited,
    /// The sandbox is made, and what the pinned project file narrows holds from now on.
    Prepared {
        /// The commit that the work begins from: the tip of the base branch when the task was first prepared.
        base: Commit,
        /// Id of the runner's process in the new sandbox, random for each process.
        boot: String,
        /// Name of the image that the sandbox was made from.
        image: String,
        /// Actions between two checkpoints, at most [`crate::ACTIONS_PER_CHECKPOINT`].
        every: u8,
        /// Sentences for a person; none where there is nothing to say.
        #[serde(default)]
        note: Option<String>,
        /// What the pinned project file narrows the budget to.
        #[serde(default)]
        budget: Option<Budget>,
        /// The repository's own rules at the base; none in logs of versions that did not read them.
        #[serde(default, skip_serializing_if = "Rules::is_empty")]
        rules: Rules,
        /// Pictures of the issue, in the order in which they hang on it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pictures: Vec<Picture>,
    },
    /// The host read files for the request of this turn.
    Looked {
        /// Turn that the request is about to be made for.
        turn: u32,
        /// What was read.
        look: Box<Look>,
    },
    /// A model call is about to be made; its worst case is charged until the answer is stored.
    ModelCallStarted {
        /// Turn that the call is made for: one more than the last completed one.
        turn: u32,
        /// The most that the call can cost, in millionths of a US dollar.
        worst_micro_usd: u64,
    },
    /// The model's server refused or was away: the call certainly cost nothing.
    ModelCallUncharged {
        /// Turn that the call was made for.
        turn: u32,
        /// Which model is asked from then on; none where the same one is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fallback: Option<Fallback>,
    },
    /// The model's server refused a request that showed pictures: none is shown in this task any more.
    PicturesRefused {
        /// Turn that the call was made for.
        turn: u32,
    },
    /// An answer arrived, of the model or of the host in its place; its true charge replaces the worst case.
    TurnCompleted {
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
    /// A call of the turn got its answer without an action: a plan noted, a malformed call, one left over at a checkpoint.
    CallAnswered {
        /// Turn that the call belongs to.
        turn: u32,
        /// Place of the call in its turn, counted from 0.
        index: u32,
        /// The call's result, written for the model.
        answer: String,
        /// Whether it counts towards [`crate::MALFORMED_LIMIT`].
        malformed: bool,
    },
    /// Counted when taken up. `number` rises over the whole task.
    ActionStarted {
        /// Number of the action, counted from 1 over the whole task.
        number: u32,
        /// Turn whose call asked for it.
        turn: u32,
        /// Place of the call in its turn, counted from 0.
        index: u32,
    },
    /// An action ended, or was interrupted.
    ActionFinished {
        /// Number of the action, as in [`Event::ActionStarted`].
        number: u32,
        /// How it ended.
        outcome: Outcome,
    },
    /// The agent asked for an action of its own log again. What it is shown is read out of the log up to here, so it is not stored.
    Recalled {
        /// Turn that the call belongs to.
        turn: u32,
        /// Place of the call in its turn, counted from 0.
        index: u32,
        /// What it asked for.
        #[serde(rename = "wanted")]
        what: Recall,
    },
    /// The agent asks the person: everything rests until somebody who may write answers.
    Asked {
        /// Turn that the call belongs to.
        turn: u32,
        /// Place of the call in its turn, counted from 0.
        index: u32,
        /// What it asks.
        question: Question,
    },
    /// A rule puts an action before a person: everything rests until somebody who may write permits or refuses it.
    PermissionAsked {
        /// Number of the action, which was taken up and has not run.
        number: u32,
        /// The rule's reason and name.
        reason: String,
    },
    /// Somebody permitted the action: it runs, this once.
    PermissionGiven {
        /// Number of the action.
        number: u32,
        /// The `/approve` that permits it.
        decision: Box<Decision>,
    },
    /// Somebody refused it by saying something else; the action ends as refused.
    PermissionRefused {
        /// Number of the action.
        number: u32,
        /// The text that refuses it; a remark, or a request for changes.
        decision: Box<Decision>,
    },
    /// The question stands on the forge: what somebody who may write says after it is its answer.
    QuestionPosted {
        /// The forge's id of the comment, which is its number in the forge's order.
        number: i64,
        /// Unix milliseconds at which the bot took up that it was posted.
        at: Millis,
    },
    /// Somebody answered; the call has its result and work goes on. The count of actions stays as it is.
    QuestionAnswered {
        /// Turn that the call belongs to.
        turn: u32,
        /// Place of the call in its turn, counted from 0.
        index: u32,
        /// The text that answers, with what was seen of it; a remark, or a request for changes.
        decision: Box<Decision>,
    },
    /// From here on requests hold less of the conversation so far. Holds until the next one, or until the conversation begins anew.
    Compacted {
        /// Turn that the next request is made for.
        turn: u32,
        /// Results of the turns up to this one are named and no longer sent, where they are long; 0 for none.
        shrunk: u32,
        /// Turns up to this one are told in a summary; at most `shrunk`; 0 for none.
        folded: u32,
        /// Tokens of 1,000 characters, as the model's server had counted until then.
        rate: u32,
    },
    /// A model is about to be asked to tell something in short; its worst case is charged until the answer is stored.
    SummaryStarted {
        /// What it is to stand for.
        of: SummaryOf,
        /// The most that the call can cost, in millionths of a US dollar.
        worst_micro_usd: u64,
    },
    /// A model told something in short. Of older turns it is sent in their place where the conversation leaves them out.
    Summarised {
        /// What it said, and what that cost.
        summary: Box<ModelSummary>,
    },
    /// A plan, which replaces the one before: the agent's, or a list that a person wrote.
    PlanUpdated {
        /// The plan as Markdown. Foreign.
        plan: String,
        /// Its steps, as [`crate::plan::read`] finds them in it; empty in logs of versions that kept the text alone.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        steps: Vec<PlanStep>,
        /// The person whose list it is; none for the agent's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Account>,
    },
    /// The agent said that it is done.
    DoneSaid {
        /// Turn whose call said so.
        turn: u32,
        /// Place of the call in its turn, counted from 0.
        index: u32,
        /// The agent's Markdown for the reviewer, or a read-only task's whole answer. Foreign.
        summary: String,
    },
    /// A turn without any call: the model is asked to use a tool.
    Nudged {
        /// The turn without a call.
        turn: u32,
    },
    /// Everything stops; the tree is taken (a read-only task posts its answer instead).
    PublishStarted {
        /// Number of the checkpoint that is being published.
        n: u32,
        /// What the publication follows from.
        why: Why,
    },
    /// The tree passed the quarantine and became a commit.
    #[serde(rename = "tree_sealed")]
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
    /// The draft pull request is open.
    PullOpened {
        /// Number of the pull request in its repository.
        number: u64,
        /// Address of the pull request for people.
        url: String,
    },
    /// The bot's own run of the project's tests begins.
    VerifyStarted {
        /// Number of the checkpoint that is being published.
        n: u32,
        /// The commit that is tested.
        commit: Commit,
    },
    /// The bot's own run of the project's tests ended.
    Verified {
        /// Number of the checkpoint that is being published.
        n: u32,
        /// The commit that was tested.
        commit: Commit,
        /// What the run gave.
        verdict: Verdict,
    },
    /// The verdict goes back to the agent.
    VerdictReturned {
        /// Number of the checkpoint that was being published; it is not posted.
        n: u32,
        /// The failed verdict.
        verdict: Verdict,
    },
    /// Done was said, and nothing differs from the commit that the work began from: the agent is asked once more.
    DoneReturned {
        /// Number of the checkpoint that was being published; it is not posted.
        n: u32,
    },
    /// A second model is about to be asked what it sees in the changes of a checkpoint; its worst case is charged until the answer is stored.
    SecondLookStarted {
        /// Number of the checkpoint that is being published.
        n: u32,
        /// The most that the call can cost, in millionths of a US dollar.
        worst_micro_usd: u64,
    },
    /// What a second model said of a checkpoint's changes: shown in the review, and no verdict.
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
    /// The review of a checkpoint stands on the pull request: a decision is awaited.
    CheckpointPosted {
        /// Number of the checkpoint.
        n: u32,
        /// The forge's id of the review.
        review: i64,
        /// Number of the review in the forge's order over comments and reviews.
        number: i64,
        /// Unix milliseconds at which the bot took up that it was posted.
        at: Millis,
        /// The commit that is reviewed; none where there is none to approve, as for a refused tree.
        commit: Option<Commit>,
        /// Whether it is the final review.
        last: bool,
        /// The bot's own test run; none for a checkpoint that was not verified.
        verdict: Option<Verdict>,
    },
    /// The read-only task's answer stands on the issue.
    Answered {
        /// Number of the answer, counted together with checkpoints.
        n: u32,
        /// The forge's id of the comment, which is its number in the forge's order.
        number: i64,
        /// Unix milliseconds at which the bot took up that it was posted.
        at: Millis,
    },
    /// The review of a checkpoint was edited or deleted on the forge: it can't be approved any more.
    CheckpointVoided {
        /// Number of the checkpoint.
        n: u32,
    },
    /// Judged again, with a fresh look: once the checkpoint stands that is being published, or when somebody else approves it too.
    DecisionHeld {
        /// The text that carries the decision.
        source: Source,
        /// Number of the text in the forge's order.
        number: i64,
    },
    /// A decision about a checkpoint was accepted; work goes on, or the task is approved.
    DecisionUsed {
        /// The decision with what was seen of it.
        decision: Box<Decision>,
        /// Number of the checkpoint that it is about.
        n: u32,
    },
    /// A decision was not accepted; the task stays in its state.
    DecisionRefused {
        /// The text that carries it.
        source: Source,
        /// Account that posted the text.
        poster: Account,
        /// Why, in English words of the bot's; [`crate::NO_RIGHT`] for an account without write access.
        reason: String,
    },
    /// An approval in advance that was not used up.
    AdvanceEnded {
        /// The comment or review that gave it.
        source: Source,
        /// Checkpoints that it was not used for.
        left: u8,
        /// What ended it.
        why: Ending,
    },
    /// `host` as a rule of the router is written.
    HostAllowed {
        /// The allowed host: `host`, `host:port` or `*.suffix`.
        host: String,
        /// Whether it is allowed for the repository's later tasks too.
        repo: bool,
        /// The `/allow` that asked for it.
        decision: Box<Decision>,
    },
    /// Every grant that has this name is taken back.
    HostDenied {
        /// The name as a rule of the router is written; without a port it names grants of every port.
        host: String,
        /// The `/deny` that asked for it.
        decision: Box<Decision>,
    },
    /// Remarks of somebody who may write, which reach the agent with the next decision.
    FeedbackGiven {
        /// The remarks.
        items: Vec<Item>,
        /// The text that carries them.
        from: Source,
    },
    /// A read-only task goes on as one that may write.
    WidenedToFix {
        /// What stands behind `/fix`; empty where it was approved by another word. Data.
        words: String,
    },
    /// `decision` says who granted it; a log of an earlier release, where `/resume` granted, has none.
    BudgetGranted {
        /// What was added; 0 in a kind adds nothing.
        more: Budget,
        /// The `/budget` that granted it.
        #[serde(default)]
        decision: Option<Box<Decision>>,
    },
    /// A model is about to be asked a person's question; its worst case is charged until the answer is stored.
    ReplyStarted {
        /// Number of the text that asks, in the forge's order.
        number: i64,
        /// Number of the call among those for questions, counted from 1 over the whole task.
        call: u32,
        /// The most that the call can cost, in millionths of a US dollar.
        worst_micro_usd: u64,
    },
    /// What a model said to a person's question: posted, and no decision.
    Replied {
        /// As in [`Event::ReplyStarted`].
        number: i64,
        /// As in [`Event::ReplyStarted`].
        call: u32,
        /// What it said; empty where nothing was answered. Foreign.
        text: String,
        /// Tokens of the call.
        usage: Usage,
        /// What the call cost, in millionths of a US dollar.
        micro_usd: u64,
        /// The model's label as reviews show it.
        model: String,
    },
    /// Somebody named the model that answers from the next turn on.
    ModelChosen {
        /// Id of its entry in the configuration.
        id: String,
        /// The `/model` that named it.
        decision: Box<Decision>,
    },
    /// The task stands still until a person lets it go on.
    Paused {
        /// Why it stands still.
        reason: PauseReason,
    },
    /// A pause ended: the state before it is the state again.
    Resumed,
    /// The sandbox was lost and is made anew; the work since the last commit is gone.
    SandboxLost {
        /// The loss as a sentence for a person, without a full stop.
        sentence: String,
        /// What became of the sandbox.
        #[serde(default)]
        loss: Loss,
    },
    /// The router went away while the sandbox's way out stood open: connections were cut, nothing went out meanwhile.
    RouterReplaced,
    /// What no checkpoint has of a waiting task's sandbox is being taken into a commit, so that the sandbox can be removed.
    WorkKeeping,
    /// The sandbox is made anew from this commit, which no branch has.
    WorkKept {
        /// The commit that holds the work.
        commit: Commit,
    },
    /// It could not be taken: the sandbox stays as long as nothing more is done in it.
    WorkNotKept {
        /// Why not, one sentence each; empty where the task had gone on meanwhile.
        reasons: Vec<String>,
    },
    /// The agent got nowhere: with the next event its conversation begins anew, and it is asked to take another way.
    AnotherWay {
        /// What showed it, one sentence each, in the order of the log. Foreign in part.
        tried: Vec<String>,
    },
    /// The conversation with the model begins anew, with what people said and where the work stands.
    ConversationRestarted,
    /// The sandbox of a task that waits was put away.
    #[serde(rename = "sandbox_shelved")]
    SandboxSuspended {
        /// How far it was put away.
        #[serde(rename = "shelf")]
        suspension: Suspension,
    },
    /// The task is over.
    Ended {
        /// How it ended.
        end: End,
    },
}
