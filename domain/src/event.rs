//! What happened to a task: the log whose fold is its state. Additive only: a stored event is read for ever.

use crate::{
    Account, Budget, CallRequest, Commit, Decision, End, Ending, Item, Look, Loss, Millis, Outcome, PauseReason,
    Request, Shelf, Source, Usage, Why,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    pub path: String,
    pub added: u64,
    pub removed: u64,
    /// "added", "modified", "deleted", "renamed", "mode", "binary".
    pub kind: String,
    /// Its size now, in bytes; none when it was deleted, and in older logs.
    #[serde(default)]
    pub bytes: Option<u64>,
}

/// One checkpoint's tree after quarantine: a commit of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedTree {
    pub commit: Commit,
    pub files: Vec<FileChange>,
    /// Diff since the last checkpoint, capped.
    pub diff: String,
    /// Bytes that were cut off the diff's end.
    #[serde(default)]
    pub diff_cut: u64,
    /// Changed files that define or steer tests.
    pub steering: Vec<String>,
    /// Paths that stayed out of the commit as by-products of known tools. The sandbox's own word.
    #[serde(default)]
    pub left_out: Vec<String>,
}

#[derive(Debug, Clone, Default, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    Passed,
    Failed,
    /// No test command is known.
    #[default]
    None,
}

/// The commit's sources under the base's tests: a change of the tests then shows as a difference.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "tests", rename_all = "snake_case")]
pub enum BaseTests {
    /// Nothing that defines or steers tests differs: there is no second run to make.
    #[default]
    Same,
    Ran {
        exit_code: Option<i32>,
    },
}

/// What the bot's own run of the project's tests gave, on the exact commit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub kind: VerdictKind,
    pub command: Option<String>,
    /// Where the command comes from: ".caisson.toml" or what it was detected by.
    pub origin: Option<String>,
    pub exit_code: Option<i32>,
    pub base_exit_code: Option<i32>,
    #[serde(default)]
    pub base_tests: BaseTests,
    /// Tests that the base's run reported and the run they are held against did not; at most 50 names. Foreign.
    #[serde(default)]
    pub missing: Vec<String>,
    /// How many tests of the base were looked for by name; 0 when its report names none.
    #[serde(default)]
    pub looked_for: u32,
    /// End of the output: reported by code under review.
    pub tail: String,
    pub duration_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    Requested {
        request: Box<Request>,
    },
    PlaceGranted,
    /// Work may go on as soon as one of the `max_tasks` places is free.
    PlaceAwaited,
    /// `every` is what the pinned project file narrows the checkpoint to; `note` is what a person should know about the
    /// sandbox, and stands in the next review.
    Prepared {
        base: Commit,
        boot: String,
        image: String,
        every: u8,
        #[serde(default)]
        note: Option<String>,
        /// What the pinned project file narrows the budget to.
        #[serde(default)]
        budget: Option<Budget>,
    },
    /// The host read files for the request of this turn.
    Looked {
        turn: u32,
        look: Box<Look>,
    },
    /// A model call is about to be made; its worst case is charged until the answer is stored.
    ModelCallStarted {
        turn: u32,
        worst_micro_usd: u64,
    },
    /// The model's server refused or was away: the call certainly cost nothing.
    ModelCallUncharged {
        turn: u32,
    },
    TurnCompleted {
        turn: u32,
        text: String,
        calls: Vec<CallRequest>,
        usage: Usage,
        micro_usd: u64,
        duration_ms: u64,
        model: String,
    },
    /// A call of the turn got its answer without an action: a plan noted, a malformed call, one left over at a checkpoint.
    CallAnswered {
        turn: u32,
        index: u32,
        answer: String,
        malformed: bool,
    },
    /// Counted when taken up. `number` rises over the whole task.
    ActionStarted {
        number: u32,
        turn: u32,
        index: u32,
    },
    ActionFinished {
        number: u32,
        outcome: Outcome,
    },
    PlanUpdated {
        plan: String,
    },
    /// The agent said that it is done.
    DoneSaid {
        turn: u32,
        index: u32,
        summary: String,
    },
    /// A turn without any call: the model is asked to use a tool.
    Nudged {
        turn: u32,
    },
    /// Everything stops; the tree is taken (a read-only task posts its answer instead).
    PublishStarted {
        n: u32,
        why: Why,
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
    VerifyStarted {
        n: u32,
        commit: Commit,
    },
    Verified {
        n: u32,
        commit: Commit,
        verdict: Verdict,
    },
    /// The verdict goes back to the agent.
    VerdictReturned {
        n: u32,
        verdict: Verdict,
    },
    /// Done was said, and nothing differs from the commit that the work began from: the agent is asked once more.
    DoneReturned {
        n: u32,
    },
    CheckpointPosted {
        n: u32,
        review: i64,
        number: i64,
        at: Millis,
        commit: Option<Commit>,
        last: bool,
        verdict: Option<Verdict>,
    },
    /// The read-only task's answer stands on the issue.
    Answered {
        n: u32,
        number: i64,
        at: Millis,
    },
    CheckpointVoided {
        n: u32,
    },
    /// Came while a checkpoint was being published: judged again, with a fresh look, once that stands.
    DecisionHeld {
        source: Source,
        number: i64,
    },
    DecisionUsed {
        decision: Box<Decision>,
        n: u32,
    },
    DecisionRefused {
        source: Source,
        poster: Account,
        reason: String,
    },
    /// An approval in advance that was not used up.
    AdvanceEnded {
        source: Source,
        left: u8,
        why: Ending,
    },
    /// `host` as a rule of the router is written.
    HostAllowed {
        host: String,
        repo: bool,
        decision: Box<Decision>,
    },
    /// Every grant that has this name is taken back.
    HostDenied {
        host: String,
        decision: Box<Decision>,
    },
    FeedbackGiven {
        items: Vec<Item>,
        from: Source,
    },
    /// A read-only task goes on as one that may write.
    WidenedToFix {
        words: String,
    },
    /// `decision` says who granted it; a log of an earlier release, where `/resume` granted, has none.
    BudgetGranted {
        more: Budget,
        #[serde(default)]
        decision: Option<Box<Decision>>,
    },
    Paused {
        reason: PauseReason,
    },
    Resumed,
    /// The sandbox was lost and is made anew; the work since the last commit is gone.
    SandboxLost {
        sentence: String,
        #[serde(default)]
        loss: Loss,
    },
    /// The router went away while the sandbox's way out stood open: connections were cut, nothing went out meanwhile.
    RouterReplaced,
    /// What no checkpoint has of a waiting task's sandbox is being taken into a commit, so that the sandbox can be removed.
    WorkKeeping,
    /// The sandbox is made anew from this commit, which no branch has.
    WorkKept {
        commit: Commit,
    },
    /// It could not be taken: the sandbox stays as long as nothing more is done in it.
    WorkNotKept {
        reasons: Vec<String>,
    },
    /// The conversation with the model begins anew, with what people said and where the work stands.
    ConversationRestarted,
    /// The sandbox of a task that waits was put away.
    SandboxShelved {
        shelf: Shelf,
    },
    Ended {
        end: End,
    },
}
