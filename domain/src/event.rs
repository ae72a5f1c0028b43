//! Events: what happened to a task. Its state is the fold of them; stored events must stay readable in all later versions.
use crate::{
    Account, Budget, CallRequest, Commit, Decision, Difference, End, Ending, Fallback, Item, Look, Loss, MergeStep,
    Millis, Outcome, Picture, PlanStep, Question, Recall, RemarkWithdrawn, Request, Rules, Source, SummaryOf, Usage,
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
        /// Sentences for a person about the sandbox; none where there is nothing to say.
        note: Option<String>,
        /// What the pinned project file narrows the budget to.
        budget: Option<Budget>,
        /// The repository's own rules at the base; none in logs of versions that did not read them.
        #[serde(default, skip_serializing_if = "Rules::is_empty")]
        rules: Rules,
        /// Pictures of the issue, in the order in which they hang on it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pictures: Vec<Picture>,
        /// What is to be reviewed; none for a task that reviews nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        difference: Option<Box<Difference>>,
        /// What the host read for it in the tree; none for a kind of which it reads nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scan: Option<Box<crate::Scan>>,
        /// What the checks reported on the base; none where they reported nothing, or did not end in time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on_base: Option<Box<crate::BaseReport>>,
    },
    /// The work was merged onto a newer commit of its base branch, in a sandbox of which [`Event::Prepared`] told just before.
    Rebased(Box<crate::Rebased>),
    /// The host read files of the workspace for the request of this turn.
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
    /// The model's server refused the call or could not be reached, so it cost nothing.
    ModelCallUncharged {
        /// Turn that the call was made for.
        turn: u32,
        /// Which model is asked from then on; none where the same one is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fallback: Option<Fallback>,
    },
    /// The model's server refused a request that showed pictures; from now on requests of this task show none.
    PicturesRefused {
        /// Turn that the call was made for.
        turn: u32,
    },
    /// An answer arrived, from the model or from the host in its place; its actual cost replaces the worst case.
    TurnCompleted {
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
    /// A call got its answer without an action, such as a noted plan, a malformed call, or one left over at a checkpoint.
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
    /// An action was started; it counts from here on.
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
    /// The agent asked for earlier actions of its own log. What it is shown is derived from the log up to here and not stored.
    Recalled {
        /// Turn that the call belongs to.
        turn: u32,
        /// Place of the call in its turn, counted from 0.
        index: u32,
        /// What it asked for.
        #[serde(rename = "wanted")]
        what: Recall,
    },
    /// The agent asks a person; work rests until somebody with write access answers.
    Asked {
        /// Turn that the call belongs to.
        turn: u32,
        /// Place of the call in its turn, counted from 0.
        index: u32,
        /// What it asks.
        question: Question,
    },
    /// A rule requires a person's permission for an action; work rests until somebody with write access permits or refuses it.
    PermissionAsked {
        /// Number of the action, which was taken up and has not run.
        number: u32,
        /// The rule's reason and name.
        reason: String,
    },
    /// Somebody with write access permitted the action to run once.
    PermissionGiven {
        /// Number of the action.
        number: u32,
        /// The `/approve` that permits it.
        decision: Box<Decision>,
    },
    /// Somebody with write access refused the action by a remark; it ends as denied.
    PermissionRefused {
        /// Number of the action.
        number: u32,
        /// The text that refuses it; a remark, or a request for changes.
        decision: Box<Decision>,
    },
    /// The question was posted; what somebody with write access says after it is its answer.
    QuestionPosted(crate::QuestionPosted),
    /// Somebody answered the question; the call has its result and work goes on. The answer does not count as an action.
    QuestionAnswered {
        /// Turn that the call belongs to.
        turn: u32,
        /// Place of the call in its turn, counted from 0.
        index: u32,
        /// The text that answers, with what was seen of it; a remark, or a request for changes.
        decision: Box<Decision>,
    },
    /// Requests hold less of the older conversation from here on, until the next such event or until the conversation restarts.
    Compacted {
        /// Turn that the next request is made for.
        turn: u32,
        /// Long results of the turns up to this one are named and no longer sent; 0 for none.
        shrunk: u32,
        /// Turns up to this one are replaced by a summary; at most `shrunk`; 0 for none.
        folded: u32,
        /// Tokens per 1,000 bytes (characters in logs of earlier versions), as the model's server had counted until then.
        rate: u32,
    },
    /// A model is about to be asked for a summary; its worst case is charged until the answer is stored.
    SummaryStarted {
        /// What it is to summarize.
        of: SummaryOf,
        /// The most that the call can cost, in millionths of a US dollar.
        worst_micro_usd: u64,
    },
    /// A model gave a summary. One of older turns is sent in their place where requests leave them out.
    Summarised {
        /// The summary and its cost.
        summary: Box<crate::ModelSummary>,
    },
    /// A new plan replaces the one before: the agent's, or a list that a person wrote.
    PlanUpdated {
        /// The plan as Markdown. Untrusted.
        plan: String,
        /// Its steps as [`crate::plan::read`] parses them; empty in logs of versions that stored only the text.
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
        /// The agent's Markdown for the reviewer, or a read-only task's whole answer. Untrusted.
        summary: String,
    },
    /// A turn had no call, or only noted something once more: the model is asked to do something.
    Nudged {
        /// That turn.
        turn: u32,
    },
    /// Publication of a checkpoint began: work stops, and the tree is captured (a read-only task posts its answer instead).
    PublishStarted {
        /// Number of the checkpoint that is being published.
        n: u32,
        /// What led to the publication.
        why: crate::Why,
    },
    /// The tree passed the quarantine and became a commit.
    #[serde(rename = "tree_sealed")]
    TreeCaptured {
        /// Number of the checkpoint that is being published.
        n: u32,
        /// The commit and what it changes.
        tree: crate::CapturedTree,
    },
    /// The tree equals that of the last commit, so there is no new commit.
    TreeUnchanged {
        /// Number of the checkpoint that is being published.
        n: u32,
        /// The last commit on the agent's branch, or the base.
        commit: Commit,
        /// As in [`crate::CapturedTree`].
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
    /// Files were taken beside a commit of finished work, or it is known what became of them.
    Artifacts(Box<crate::ArtifactStep>),
    /// The checkpoint's commit is on the agent's branch on the forge.
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
        verdict: crate::Verdict,
    },
    /// The forge's CI is waited for.
    CiAwaited(Box<crate::CiAwaited>),
    /// The wait for the forge's CI ended; a failure may go back to the agent.
    CiEnded(Box<crate::CiEnded>),
    /// The upstream's CI was read on what was brought there of this task, which has ended.
    UpstreamCiEnded(Box<crate::CiEnded>),
    /// The failed verdict goes back to the agent.
    VerdictReturned {
        /// Number of the checkpoint that was being published; it is not posted.
        n: u32,
        /// The failed verdict.
        verdict: crate::Verdict,
    },
    /// The agent said done, but nothing differs from the commit that the work began from: the agent is asked once more.
    DoneReturned {
        /// Number of the checkpoint that was being published; it is not posted.
        n: u32,
    },
    /// A second model is about to be asked to review a checkpoint's changes; its worst case is charged until the answer is stored.
    SecondLookStarted {
        /// Number of the checkpoint that is being published.
        n: u32,
        /// The most that the call can cost, in millionths of a US dollar.
        worst_micro_usd: u64,
    },
    /// What a second model said of a checkpoint's changes: shown in the review, without effect on the verdict.
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
    /// The review of a checkpoint was posted: a decision is awaited.
    CheckpointPosted {
        /// Number of the checkpoint.
        n: u32,
        /// The forge's id of the review.
        review: i64,
        /// Number of the review in the forge's order over comments and reviews.
        number: i64,
        /// Unix milliseconds at which the bot recorded that it was posted.
        at: Millis,
        /// The commit that is reviewed; none where there is none to approve, as for a refused tree.
        commit: Option<Commit>,
        /// Whether it is the final review.
        last: bool,
        /// The bot's own test run; none for a checkpoint that was not verified.
        verdict: Option<crate::Verdict>,
    },
    /// The read-only task's answer was posted on the issue.
    Answered {
        /// Number of the answer, counted together with checkpoints.
        n: u32,
        /// The forge's id of the comment, which is its number in the forge's order.
        number: i64,
        /// Unix milliseconds at which the bot recorded that it was posted.
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
    /// A decision about a checkpoint was accepted: work goes on, the task is approved, or finished work is once more, which changes no state.
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
        /// Why, in English; [`crate::NO_RIGHT`] or [`crate::NO_COMMAND`] for an account without write access.
        reason: String,
    },
    /// An approval in advance ended before it was used up.
    AdvanceEnded {
        /// The comment or review that gave it.
        source: Source,
        /// Checkpoints that it was not used for.
        left: u8,
        /// What ended it.
        why: Ending,
    },
    /// A host was allowed by `/allow`.
    HostAllowed {
        /// The allowed host: `host`, `host:port` or `*.suffix`.
        host: String,
        /// Whether it is allowed for the repository's later tasks too.
        repo: bool,
        /// The `/allow` that asked for it.
        decision: Box<Decision>,
    },
    /// Every grant with this name was taken back by `/deny`.
    HostDenied {
        /// The name as a rule of the router is written; without a port it names grants of every port.
        host: String,
        /// The `/deny` that asked for it.
        decision: Box<Decision>,
    },
    /// Somebody with write access made remarks, which reach the agent with the next decision.
    FeedbackGiven {
        /// The remarks.
        items: Vec<Item>,
        /// The text that carries them.
        from: Source,
        /// Whether it asks for changes; false too in logs of versions that did not keep it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        asks: bool,
    },
    /// The agent said what became of a remark; the call's result follows.
    RemarkAnswered(crate::RemarkAnswer),
    /// The author of an open remark took it back.
    RemarkWithdrawn(RemarkWithdrawn),
    /// A read-only task goes on as one that may write.
    WidenedToFix {
        /// Text after `/fix`, with a list of its author that was posted before it; empty where the plan was approved by another command. Untrusted.
        words: String,
    },
    /// More budget was granted.
    BudgetGranted {
        /// What was added; 0 in a kind adds nothing.
        more: Budget,
        /// The `/budget` that granted it; none in logs of versions in which `/resume` granted.
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
    /// A model answered a person's question; the answer is posted and decides nothing.
    Replied(crate::Reply),
    /// Somebody named the model that answers from the next turn on.
    ModelChosen(crate::ModelChosen),
    /// Work stopped until a person resumes the task.
    Paused {
        /// Why it stopped.
        reason: crate::PauseReason,
    },
    /// A pause ended; the task returns to the state before it.
    Resumed,
    /// The sandbox was lost and is made anew; work since the last commit is gone.
    SandboxLost {
        /// The loss as a sentence for a person, without a full stop.
        sentence: String,
        /// What became of the sandbox.
        #[serde(default)]
        loss: Loss,
    },
    /// The router was gone while the sandbox's subnet was open: connections were cut, and nothing passed meanwhile.
    RouterReplaced,
    /// Work in a waiting task's sandbox that no checkpoint has is being committed, so that the sandbox can be removed.
    WorkKeeping,
    /// That work was committed; the sandbox is made anew from this commit, which is on no branch.
    WorkKept {
        /// The commit that holds the work.
        commit: Commit,
    },
    /// That work could not be committed: the sandbox stays as long as nothing more is done in it.
    WorkNotKept {
        /// Why not, one sentence each; empty where the task had gone on meanwhile.
        reasons: Vec<String>,
    },
    /// The agent made no progress: its conversation restarts with the next event, and it is told to try another approach.
    AnotherWay {
        /// What showed the lack of progress, one sentence each, in the order of the log. Partly untrusted.
        tried: Vec<String>,
    },
    /// The conversation with the model restarts, from what people said and the state of the work.
    ConversationRestarted,
    /// The sandbox of a task that waits was put away.
    #[serde(rename = "sandbox_shelved")]
    SandboxSuspended {
        /// How far it was put away.
        #[serde(rename = "shelf")]
        suspension: crate::Suspension,
    },
    /// A merge of the pull request was wanted, refused or done.
    Merge(MergeStep),
    /// The task is over.
    Ended {
        /// How it ended.
        end: End,
    },
}
