//! The data of a review, collected by the effect that posts it. Makes no text.
//!
//! Strings marked *untrusted* are shown only as code, which `render` ensures.

use domain::{Remark, Risk, TestCounts, VerdictCase};

/// One action of a review.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionLine {
    /// The action's number in its task, from 1.
    pub n: u32,
    /// The tool's name: `bash`, `edit_file`, …
    pub kind: String,
    /// Untrusted: its main argument, such as the command, path or address.
    pub what: String,
    /// Untrusted: paths of files that it wrote, by name or, for a command, as its sandbox reports.
    pub wrote: Vec<String>,
    /// How it ended; [`ActionResult::Interrupted`] also where the log has no end of it.
    pub result: ActionResult,
    /// Untrusted: the first mistake in what it wrote, as the sandbox reports.
    pub mistake: Option<String>,
    /// Files that a command changed, as its sandbox reports; none without changes, and for actions that name their files.
    pub touched: Option<Box<TouchedFiles>>,
}

/// Files that a command touched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TouchedFiles {
    /// The first ones, each with a sign of ours: `+` new, `±` changed, `−` deleted. The paths are untrusted.
    pub named: Vec<(char, String)>,
    /// How many more there are.
    pub more: u64,
    /// How many git ignores.
    pub ignored: u64,
    /// What the sandbox could not observe, as a sentence; none where everything was. Untrusted.
    pub not_seen: Option<String>,
}

/// How an action ended, as the log has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ActionResult {
    /// Done, without further details.
    #[default]
    Done,
    /// A command started in the background.
    Started,
    /// Lines read, listed or found.
    Lines(u64),
    /// Lines added and removed in a file.
    Changed {
        /// Lines added.
        added: u64,
        /// Lines removed.
        removed: u64,
    },
    /// The end of a command.
    Exited {
        /// The exit code.
        code: i32,
        /// The output line that summarizes a test run or a failure; none without one. Untrusted.
        note: Option<String>,
        /// Whether `note` summarizes a failure.
        failed: bool,
        /// Milliseconds that the command ran.
        ms: u64,
    },
    /// Ended by a signal of this number.
    Signaled {
        /// The signal's number.
        signal: i32,
        /// Milliseconds that the command ran.
        ms: u64,
    },
    /// It ran into its wall-clock limit.
    TimedOut {
        /// Milliseconds that it ran.
        ms: u64,
    },
    /// Memory, processes or disk were exhausted; the word is ours.
    Exhausted(&'static str),
    /// The router refused it.
    Blocked,
    /// Denied by a rule; untrusted reason.
    Denied(String),
    /// The sandbox went away meanwhile, so it may have run.
    Interrupted,
    /// The tool refused it; untrusted reason.
    Failed(String),
}

/// One changed file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileLine {
    /// Untrusted.
    pub path: String,
    /// Lines added since the last checkpoint.
    pub added: u64,
    /// Lines removed since the last checkpoint.
    pub removed: u64,
    /// Whether it is there now, or was deleted.
    pub state: FileState,
    /// Whether git takes it for binary.
    pub binary: bool,
    /// Its present size in bytes; none when it was deleted, and in older logs.
    pub bytes: Option<u64>,
    /// Its mode before and now, as [`domain::FileFacts::modes`].
    pub modes: Option<(String, String)>,
    /// Its tests on both sides; none where it holds none, and in older logs.
    pub tests: Option<TestCounts>,
    /// Whether its first lines say that a program wrote it.
    pub generated: bool,
    /// As [`domain::FileFacts::through`]. Untrusted.
    pub through: Option<String>,
    /// Address for people of its part of the newest commit's difference that has one; none where it cannot be made.
    pub url: Option<String>,
    /// Those of its parts of earlier commits since the last checkpoint, oldest first.
    pub earlier: Vec<String>,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileState {
    /// It was there before and is now.
    #[default]
    Changed,
    /// It is new.
    Added,
    /// It is gone.
    Deleted,
}

/// One file's part of the diff.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffPart {
    /// Untrusted path.
    pub path: String,
    /// Kind and size, in our words.
    pub about: String,
    /// Whether the file is binary, so that its text is not shown.
    pub binary: bool,
    /// Untrusted: as git writes it.
    pub text: String,
    /// Whether text was cut off before rendering, or a credential was left out of it.
    pub cut: bool,
}

/// Another live task of the repository that changes files which this one changes too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overlap {
    /// Its number.
    pub task: i64,
    /// Number of its issue.
    pub issue: i64,
    /// Number of its pull request; none before it is open.
    pub pull: Option<i64>,
    /// Untrusted: the files that both change.
    pub files: Vec<String>,
    /// Whether there may be more files and tasks.
    pub cut: bool,
}

/// How the base branch stands to the commit that a task began from, where that is not its newest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BaseMoved {
    /// The commit that the task began from, shortened.
    pub base: String,
    /// The branch's newest commit, shortened.
    pub at: String,
    /// Commits that came since.
    pub commits: u64,
    /// Untrusted: files that they change, and this task too.
    pub files: Vec<String>,
    /// Whether the branch does not contain the task's base any more.
    pub rewritten: bool,
}

/// A command that ran, as evidence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EvidenceLine {
    /// Untrusted.
    pub command: String,
    /// How it ended.
    pub result: ActionResult,
}

/// One claim of the agent with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimLine {
    /// Untrusted.
    pub text: String,
    /// The named evidence in the log.
    pub shown: Shown,
}

/// Evidence that a claim names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// An action of this task.
    Action(ActionLine),
    /// The bot's own run of the checks.
    Checks,
    /// An action that does not exist.
    Missing(u32),
    /// Nothing.
    Nothing,
}

/// Things with a number and a state, by where they stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemsView<T> {
    /// Those that nothing closed yet.
    pub open: Vec<T>,
    /// Those that were closed since the last review.
    pub closed: Vec<T>,
    /// How many were closed before.
    pub settled: usize,
}

impl<T> Default for ItemsView<T> {
    fn default() -> Self {
        Self { open: Vec::new(), closed: Vec::new(), settled: 0 }
    }
}

/// Where people's remarks stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemarksView {
    /// Those that nothing settled yet. What people and the agent wrote in them is untrusted.
    pub open: Vec<Remark>,
    /// Those whose state changed since the last review, and are not open. As `open`.
    pub changed: Vec<Remark>,
    /// How many were settled before.
    pub settled: usize,
    /// Names of all that words alone settled.
    pub in_words: Vec<String>,
}

/// A candidate that was tried in a temporary copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidate {
    /// Number of its action.
    pub n: u32,
    /// Untrusted: its changes.
    pub diff: String,
    /// Untrusted: results of the issue's own check, line by line.
    pub check: String,
}

/// A host the router refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockedLine {
    /// Untrusted.
    pub host: String,
    /// The port that was asked for; 0 where the name was only looked up.
    pub port: u16,
    /// How often it was refused.
    pub count: u64,
    /// Partly untrusted: the reason of the rule that refused it; empty when no rule allows it.
    pub why: String,
    /// The actions during which it was refused, in order; background processes between actions count for none.
    pub actions: Vec<u32>,
}

/// A host to which unusually much was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UploadLine {
    /// Untrusted: a name, or a wildcard that covers several; empty when there were too many names.
    pub host: String,
    /// Bytes sent to it since the last checkpoint.
    pub bytes: u64,
    /// Reason of its rule.
    pub because: String,
}

/// A host that a person allowed, or took back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostLine {
    /// Host as a rule of the router.
    pub host: String,
    /// A forge login, shown as code.
    pub by: String,
    /// Whether it was allowed or taken back, and for what.
    pub change: HostChange,
}

/// How a person changed the allowed hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostChange {
    /// For this task.
    #[default]
    Task,
    /// For the repository, in this task.
    Repository,
    /// For the repository, before this task began.
    Before,
    /// A grant was taken back (`/deny`).
    TakenBack,
}

/// Usage of the task so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Tokens of all model calls that were answered, prompts included.
    pub tokens: u64,
    /// Part of these: hidden reasoning, as far as servers report it.
    pub reasoning: u64,
    /// Micro-dollars.
    pub cost_micros: u64,
    /// Of the tokens: those whose price is unknown, so that `cost_micros` has nothing of them.
    pub unpriced: u64,
    /// Micro-dollars granted; none = the budget isn't in money.
    pub granted_micros: Option<u64>,
    /// Working time of the whole task, without waiting.
    pub duration_ms: u64,
}

/// The verdict of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerdictView {
    /// Whether the checks passed.
    pub kind: VerdictCase,
    /// Exit code on this commit, 128 + n after signal n; none when nothing ran or it did not end by itself.
    pub exit_code: Option<i32>,
    /// Untrusted: the command that ran; none when nothing was found to run.
    pub command: Option<String>,
    /// Where the command comes from: `.caisson.toml`, or the file it was detected by.
    pub chosen_by: String,
    /// Untrusted: the end of its output.
    pub tail: String,
    /// Untrusted: the output line that summarizes a failure.
    pub failure: Option<String>,
    /// Exit code on the base commit; none when it was not run there.
    pub base_exit: Option<i32>,
    /// Result of the same command with the base's tests.
    pub base_tests: domain::BaseTests,
    /// Untrusted: tests of the base that the compared report lacks.
    pub missing: Vec<String>,
    /// How many tests were looked for.
    pub looked_for: u32,
    /// Whether tests of the base could not be looked for.
    pub not_compared: bool,
    /// Reports that the base's run does not have.
    pub against_base: domain::Against,
}

/// All data of one review.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckpointView {
    /// The task's number.
    pub task: i64,
    /// This checkpoint's number, from 1.
    pub n: u32,
    /// The number of the newest review before this one that was not voided: the last checkpoint; none before the first.
    pub since: Option<u32>,
    /// Whether `files` are all of the work, because it was brought onto a newer base and no review has shown a tree there yet.
    pub rebased: bool,
    /// Actions since the last checkpoint, in order.
    pub actions: Vec<ActionLine>,
    /// Candidates that were tried since the last checkpoint, in order.
    pub candidates: Vec<Candidate>,
    /// Files that the host read for the model since the last checkpoint: untrusted path, and our reason (names in it are untrusted).
    pub looked: Vec<(String, String)>,
    /// Untrusted: tool and argument of actions of the newest answer that are still to run, first after an approval.
    pub waiting: Vec<(String, String)>,
    /// Untrusted: the agent's summary.
    pub summary: String,
    /// Untrusted: the agent's next step.
    pub next: String,
    /// Files changed since the last checkpoint, in the order in which a person should read them.
    pub files: Vec<FileLine>,
    /// Untrusted paths among `files` that define or steer tests.
    pub steering: Vec<String>,
    /// What the branch does that a task of this kind may not, as the end of "the branch", and the files with which it does; foreign paths.
    pub breach: Option<(&'static str, Vec<String>)>,
    /// Diff since the last checkpoint, by file, in the order of `files`.
    pub diff: Vec<DiffPart>,
    /// Other live tasks that change files of this one.
    pub overlaps: Vec<Overlap>,
    /// How far the base branch is ahead of this task's base.
    pub base_moved: Option<BaseMoved>,
    /// Untrusted: paths left out of the commit as by-products of known tools.
    pub left_out: Vec<String>,
    /// Commands since the last checkpoint with their results; if any has a test summary, only those with one.
    pub evidence: Vec<EvidenceLine>,
    /// A second model's text about these changes (untrusted), and its label.
    pub second_look: Option<(String, String)>,
    /// Why there is none, and the label of the model that was to take it.
    pub no_second_look: Option<(String, String)>,
    /// The agent's claims, if it made any.
    pub claims: Vec<ClaimLine>,
    /// Where people's remarks stand.
    pub remarks: RemarksView,
    /// What the router refused since the last checkpoint.
    pub blocked: Vec<BlockedLine>,
    /// Large uploads since the last checkpoint.
    pub uploads: Vec<UploadLine>,
    /// Entries of the router's log since the last checkpoint that were lost, so that uploads may be missing.
    pub lost_entries: u64,
    /// Changes that people made to the allowed hosts since the last checkpoint.
    pub hosts: Vec<HostLine>,
    /// Usage of the task so far.
    pub spent: Spent,
    /// The commit; none when nothing changed or the tree was refused.
    pub commit: Option<String>,
    /// The task's own branch, without `refs/heads/`.
    pub branch: String,
    /// The base branch, to which the pull request goes, without `refs/heads/`.
    pub base_branch: String,
    /// The checkpoint of an earlier task that the work begins from, by that task's number and its own; none where it begins from the base.
    pub begins_at: Option<(i64, u32)>,
    /// Untrusted reasons why the newest tree was refused; if not empty there is no commit.
    pub refused: Vec<String>,
    /// The commit at which `files` were pushed before the newest tree was refused, shortened; none where they were not.
    pub pushed: Option<String>,
    /// Address for people of the comparison `base...branch`; ours.
    pub compare_url: Option<String>,
    /// The last verification's verdict; none before there is one.
    pub verdict: Option<VerdictView>,
    /// What the forge's CI said of the finished commit; none where it was not waited for.
    pub ci: Option<domain::CiEnded>,
    /// Its failures so far, on this commit and on earlier ones.
    pub ci_items: ItemsView<domain::CiItem>,
    /// Files that git could not merge onto a newer base.
    pub conflict_items: ItemsView<domain::ConflictItem>,
    /// What the forge's CI says so far of a checkpoint's commit; empty where it is not waited for.
    pub ci_so_far: Vec<domain::CiCheck>,
    /// Files that were taken beside finished work, of whichever commit; none where no pattern asks for any.
    pub artifacts: Option<domain::Artifacts>,
    /// Address for people of the repository's pages, without a slash at its end; ours.
    pub pages: Option<String>,
    /// Login of the account that is asked to answer, shown as code.
    pub asked: Option<String>,
    /// Events of sandbox and egress meanwhile, with counts; our words.
    pub happened: Vec<(String, u32)>,
    /// Notes for a person about the sandbox, only in the first review after it was made.
    pub note: Option<String>,
    /// Whether the model is a recording.
    pub scripted: bool,
    /// How many people have to approve it; 0 and 1 = one.
    pub approvals: u8,
    /// Whether a part of the change cannot be shown: a binary file, a very long line, one that white space pushes aside, more than a
    /// review can hold.
    pub unseen: bool,
    /// Why no approval in advance covers it; none when one may.
    pub risk: Option<Risk>,
    /// Login of the account that approved in advance (shown as code), and for how many checkpoints from this one on.
    pub advance: Option<(String, u8)>,
}
