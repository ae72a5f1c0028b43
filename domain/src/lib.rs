//! The pure core: the types of a task, its log of events, and the `transition` that decides what happens next.
//!
//! No I/O, clock or randomness: `now` is a field of the input, and everything that must happen outside is returned as
//! an [`Effect`]. The crate depends on no runtime, so that it can do no I/O. Tests: `tests/` beside this file.

// A new state, event, input or effect does not compile before every match handles it.
#![deny(clippy::wildcard_enum_match_arm)]
// A match that ignores or passes on what does not concern it says why that is safe.
#![deny(clippy::allow_attributes_without_reason)]

pub mod action;
pub mod advance;
mod artifact;
pub mod budget;
pub mod call;
pub mod checkpoint;
pub mod ci;
mod ci_items;
mod conflict_items;
pub mod decision;
pub mod effect;
pub mod event;
pub mod failed;
pub mod fallback;
pub mod host;
pub mod ids;
pub mod input;
pub mod look;
pub mod loss;
mod merge;
mod model_call;
mod notice;
pub mod outcome;
mod own_command;
pub mod picture;
pub mod plan;
mod pull_review;
pub mod rebase;
mod remark;
pub mod remarks;
mod reply;
mod reported;
mod request;
pub mod rules;
mod scan;
pub mod state;
pub mod summary;
pub mod task;
mod task_kind;
pub mod terms;
mod test_run;
pub mod touched;
pub mod transition;
pub mod tree;
mod trigger;
pub mod verdict;

pub use action::{
    Action, ActionKind, IssueCheck, LineRange, MOST_ACTION, MOST_EDITS, MOST_FILES, MOST_RANGES, NewFile, ResultText,
    Shown, TextEdit,
};
pub use advance::{Advance, Ending, Risk};
pub use artifact::{Artifact, ArtifactBar, ArtifactLeft, ArtifactStep, Artifacts, ArtifactsHang};
pub use budget::{Budget, BudgetBar, Spent};
pub use call::{Call, CallRequest, Claim, MOST_OPTIONS, Question, Recall};
pub use checkpoint::Checkpoint;
pub use ci::{CiAwaited, CiCheck, CiEnded, CiOutcome, CiState, CiWait, UpstreamChecks};
pub use ci_items::{CiItem, CiItemState, ci_items};
pub use conflict_items::{ConflictItem, ConflictState, conflict_items};
pub use decision::{Access, Account, Decision, Granters, Item, NO_COMMAND, NO_RIGHT, NOT_AMONG, Others, Source, Verb};
pub use effect::{Again, Effect, Needs, Queue, SandboxNeed};
pub use event::Event;
pub use failed::FailedEffect;
pub use fallback::{Fallback, FallbackReason};
pub use host::{Bar, Grant, names_grant};
pub use ids::{Commit, Millis, TaskId};
pub use input::{Envelope, Failure, Input, Order};
pub use look::{BaseRun, Look, ShownFile};
pub use loss::{Loss, Resource};
pub use merge::{BranchGuard, GuardLack, MergeBar, MergeStep, Merged, Merging};
pub use model_call::{CallAnswer, CallPurpose, ModelCall, model_calls};
pub use notice::{Notice, To};
pub use outcome::{Example, MOST_SEEN, Outcome, OutcomeStatus, Usage};
pub use own_command::OwnCommand;
pub use picture::Picture;
pub use plan::{PlanStep, StepState};
pub use pull_review::{Difference, PullHead};
pub use rebase::{Rebase, RebaseBar, Rebased};
pub use remark::{LONGEST_REMARK_ANSWER, OldLine, RemarkAnswer, RemarkWithdrawn, Withdrawal};
pub use remarks::{Remark, RemarkState, Remarks};
pub use reply::Reply;
pub use reported::{Against, BaseReport, Reported, Severity};
pub use request::{FilePosition, Request};
pub use rules::{KindPrompt, Rules, RulesFile};
pub use scan::{
    AdvisoryMatch, AdvisoryScan, Dependency, DependencyScan, NewestScan, NewestVersion, RuleFinding, RuleScan,
    RuleSeverity, Scan, VersionGap,
};
pub use state::{End, PauseReason, QuestionPosted, QuestionSubject, State, Suspension, Why};
pub use summary::{ModelSummary, SummaryOf, Trust};
pub use task::Task;
pub use task_kind::{Scope, TaskKind, TaskTraits, Threads};
pub use terms::{ApprovedStart, Earlier, ModelChosen, Terms};
pub use test_run::{OnBase, TestExit, TestResult, TestRun, TestVerdict, Weaker};
pub use touched::Touched;
pub use transition::{Step, transition};
pub use tree::{CapturedTree, FileChange, FileFacts, TestCount, TestCounts};
pub use trigger::Trigger;
pub use verdict::{BaseTests, Verdict, VerdictCase, VerdictKind};

/// Actions between two approvals; an operator or a project can only lower it.
pub const ACTIONS_PER_CHECKPOINT: u8 = 5;
/// The most checkpoints that one approval covers in advance.
pub const ADVANCE_LIMIT: u8 = 20;
/// Actions a read-only task may take before it must answer.
pub const READ_ONLY_ACTIONS: u8 = 20;
/// Malformed or empty turns in a row after which a task pauses.
pub const MALFORMED_LIMIT: u8 = 5;
/// The most recalls in a row, without an action between them, that are answered.
pub const RECALL_LIMIT: u8 = 3;
/// Reason in [`Event::DecisionRefused`] for a permission that may have been meant for another question.
pub const DOUBTFUL: &str = "it may be about what somebody else decided just before";
/// The most questions in a row, without an action between them, that are put to a person.
pub const ASK_LIMIT: u8 = 3;
/// Failed verifications after which the failure goes to a person instead of the agent.
pub const VERIFY_LIMIT: u8 = 3;
