//! What a review shows: plain data, gathered by the effect that posts it. No text is made here.
//!
//! Strings named *foreign* are shown as code only; `render` sees to it, whoever fills them need not.

use domain::Risk;

/// One of the five lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionLine {
    /// The action's number in its task, from 1.
    pub n: u32,
    /// The tool's name: `bash`, `edit_file`, …
    pub kind: String,
    /// Foreign: its main argument — the command, the path, the address.
    pub what: String,
    /// Foreign: paths of the files that it gave new texts, by name or, a command, as its sandbox told it.
    pub wrote: Vec<String>,
    /// How it ended; [`ActionResult::Interrupted`] also where the log has no end of it.
    pub result: ActionResult,
    /// Foreign: the first mistake in what it wrote, as the sandbox told it.
    pub mistake: Option<String>,
    /// What a command did to files, as its sandbox told it; none where it did nothing to any, and for what names its files itself.
    pub touched: Option<TouchedFiles>,
}

/// Files that a command touched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TouchedFiles {
    /// The first ones, each with a sign of ours: `+` new, `±` changed, `−` gone. The paths are foreign.
    pub named: Vec<(char, String)>,
    /// How many more.
    pub more: u64,
    /// How many that git ignores.
    pub ignored: u64,
}

/// How an action ended, as the log has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ActionResult {
    /// Nothing more to say than that it was done.
    #[default]
    Done,
    /// A command that was started to go on in the background.
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
    /// A command's end. `note` is foreign (a test summary); `failed`: it sums up a failure; `ms` is how long it ran.
    Exited {
        /// The exit code.
        code: i32,
        /// The line of the output that sums up a test run or a failure; none where there is none. Foreign.
        note: Option<String>,
        /// Whether `note` sums up a failure.
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
    /// Memory, processes or disk ran out; the word says which (ours).
    Exhausted(&'static str),
    /// The router refused it.
    Blocked,
    /// An inspector refused it; foreign reason.
    Denied(String),
    /// It may have run: the sandbox went away meanwhile.
    Interrupted,
    /// The tool refused it; foreign reason.
    Failed(String),
}

/// One changed file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileLine {
    /// Foreign.
    pub path: String,
    /// Lines added since the last checkpoint.
    pub added: u64,
    /// Lines removed since the last checkpoint.
    pub removed: u64,
}

/// One file's part of the diff.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffPart {
    /// Foreign.
    pub path: String,
    /// What it is and how large; ours.
    pub about: String,
    /// A binary file: its text is not shown.
    pub binary: bool,
    /// Foreign: as git writes it.
    pub text: String,
    /// Text was cut off before it came here.
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
    /// Foreign: the files that both change.
    pub files: Vec<String>,
    /// There may be more files, and further tasks.
    pub cut: bool,
}

/// One command and its end, as evidence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EvidenceLine {
    /// Foreign.
    pub command: String,
    /// The command's exit code.
    pub exit_code: i32,
    /// Foreign: the summary line of a test run.
    pub note: Option<String>,
    /// The summary is one of a failure.
    pub failed: bool,
}

/// One claim of the agent's, beside what it names as showing it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimLine {
    /// Foreign.
    pub text: String,
    /// What stands in the log there.
    pub shown: Shown,
}

/// What a claim names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// An action of this task.
    Action(ActionLine),
    /// The bot's own run of the checks.
    Checks,
    /// An action that there was not.
    Missing(u32),
    /// Nothing.
    Nothing,
}

/// What was tried in a copy that was thrown away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidate {
    /// Number of its action.
    pub n: u32,
    /// Foreign: what it would have changed.
    pub diff: String,
    /// Foreign: what the issue's own check says of it, line by line.
    pub check: String,
}

/// A host the router refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockedLine {
    /// Foreign.
    pub host: String,
    /// The port that was asked for; 0 where the name was only looked up.
    pub port: u16,
    /// How often it was refused.
    pub count: u64,
    /// Foreign in part: what the rule that refused it says; empty when no rule allows it.
    pub why: String,
    /// The actions during which it was refused, in their order; without those that nothing was under way at.
    pub actions: Vec<u32>,
}

/// A host that was sent unusually much.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UploadLine {
    /// Foreign: a name, or the wildcard under which there were some; empty when there were too many to tell apart.
    pub host: String,
    /// Bytes sent to it since the last checkpoint.
    pub bytes: u64,
    /// Why its rule stands.
    pub because: String,
}

/// A host that a person allowed, or took back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostLine {
    /// As a rule of the router is written.
    pub host: String,
    /// A forge login, shown as code.
    pub by: String,
    /// Whether it was allowed or taken back, and for what.
    pub change: HostChange,
}

/// How a person changed what may be reached.
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

/// Spent so far, in this task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Tokens of all model calls that were answered, prompts included.
    pub tokens: u64,
    /// Of them: tokens that models thought and did not say, as far as their servers tell.
    pub reasoning: u64,
    /// Micro-dollars; 0 and `priced` false where the model has no price.
    pub cost_micros: u64,
    /// Whether the model has a price.
    pub priced: bool,
    /// Micro-dollars granted; none = the budget isn't in money.
    pub granted_micros: Option<u64>,
    /// Working time of the whole task, waiting left out.
    pub duration_ms: u64,
}

/// What the bot's own run of the checks said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VerdictKind {
    /// They ended with exit code 0, and no test of the base that was looked for is missing.
    Passed,
    /// They failed, were ended before they could say, or tests of the base are missing.
    Failed,
    /// There was nothing to run.
    #[default]
    None,
}

/// The verdict of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerdictView {
    /// Whether the checks passed.
    pub kind: VerdictKind,
    /// Exit code on this commit, 128 + n after signal n; none when nothing ran or it did not end by itself.
    pub exit_code: Option<i32>,
    /// Foreign: the command that ran; none when nothing was found to run.
    pub command: Option<String>,
    /// Where the command comes from: `.caisson.toml`, or the file it was detected by.
    pub chosen_by: String,
    /// Foreign: the end of its output.
    pub tail: String,
    /// Foreign: the line of it that sums up a failure.
    pub failure: Option<String>,
    /// The same command on the base commit; none when it didn't run there.
    pub base_exit: Option<i32>,
    /// The same command on this commit's sources with the base's tests.
    pub base_tests: domain::BaseTests,
    /// Foreign: tests of the base that the report they are held against does not have.
    pub missing: Vec<String>,
    /// How many were looked for.
    pub looked_for: u32,
    /// What the run reports that the base's does not.
    pub against_base: domain::Against,
}

/// Everything one review says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckpointView {
    /// The task's number.
    pub task: i64,
    /// This checkpoint's number, from 1.
    pub n: u32,
    /// Actions since the last checkpoint, in the order they were taken up.
    pub actions: Vec<ActionLine>,
    /// Candidates that were tried since the last checkpoint, in their order.
    pub candidates: Vec<Candidate>,
    /// Files that the host read for the model since the last checkpoint: a foreign path, and why (ours; names in it are foreign).
    pub looked: Vec<(String, String)>,
    /// Foreign: tool and argument of actions that the newest answer still asks for. They come first after an approval.
    pub waiting: Vec<(String, String)>,
    /// Foreign: what and why, in the agent's words.
    pub summary: String,
    /// Foreign: what comes next, in the agent's words.
    pub next: String,
    /// Files changed since the last checkpoint, with their lines.
    pub files: Vec<FileLine>,
    /// Foreign paths among `files` that define or steer tests.
    pub steering: Vec<String>,
    /// What the branch does that a task of this kind may not, as the end of "the branch", and the files with which it does; foreign paths.
    pub breach: Option<(&'static str, Vec<String>)>,
    /// Since the last checkpoint, file by file.
    pub diff: Vec<DiffPart>,
    /// Other live tasks that change files of this one.
    pub overlaps: Vec<Overlap>,
    /// Foreign: paths that stayed out of the commit as by-products of known tools.
    pub left_out: Vec<String>,
    /// Commands since the last checkpoint and how they ended; if any of them has a test summary, only those that have
    /// one.
    pub evidence: Vec<EvidenceLine>,
    /// What a second model said of these changes, and its label. The first is foreign.
    pub second_look: Option<(String, String)>,
    /// What the agent claims, where it says so one by one.
    pub claims: Vec<ClaimLine>,
    /// What people asked for and these changes touch nothing of. Foreign: reviewers' words.
    pub unanswered: Vec<domain::Item>,
    /// What the router refused since the last checkpoint.
    pub blocked: Vec<BlockedLine>,
    /// Where unusually much was sent, since the last checkpoint.
    pub uploads: Vec<UploadLine>,
    /// What people changed about the hosts that may be reached, since the last checkpoint.
    pub hosts: Vec<HostLine>,
    /// What the task has used up so far.
    pub spent: Spent,
    /// None when there is no commit: nothing changed, or the tree was refused.
    pub commit: Option<String>,
    /// The task's own branch, without `refs/heads/`.
    pub branch: String,
    /// The branch that the task began from and that the pull request goes to, without `refs/heads/`.
    pub base_branch: String,
    /// Foreign reasons why the tree was refused; not empty = no commit.
    pub refused: Vec<String>,
    /// Address for people of the comparison `base...branch`; ours.
    pub compare_url: Option<String>,
    /// The last verification's verdict; none before there is one.
    pub verdict: Option<VerdictView>,
    /// Who is asked to answer (a forge login, shown as code).
    pub asked: Option<String>,
    /// What became of the sandbox or its way out meanwhile, and how often; ours.
    pub happened: Vec<(String, u32)>,
    /// What a person should know about the sandbox; only in the first review after it was made.
    pub note: Option<String>,
    /// The model was a recording, not a model.
    pub scripted: bool,
    /// Part of the change cannot be shown: a binary file, a very long line, more than a review holds.
    pub unseen: bool,
    /// Why nobody's approval in advance covers it; none when one may.
    pub risk: Option<Risk>,
    /// Who approved in advance (a forge login, shown as code), and how many checkpoints from this one on.
    pub advance: Option<(String, u8)>,
}
