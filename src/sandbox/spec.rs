//! Types for the operations on sandboxes: settings, specifications and results.

use super::link::HELLO;
use super::record::Record;
use super::{Merge, Replacement, SetupSpec, policy};
use domain::{Commit, FileChange, Loss};
use protocol::broker::ContainerLimits;
use protocol::router::Rule;
use protocol::runner::Outcome;
use std::path::PathBuf;
use std::time::Duration;

/// Settings of all sandboxes of this bot.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Directory of records of living sandboxes (mode 0700).
    pub state_dir: PathBuf,
    /// Number of the router's subnets; without a free one, a task that needs one has to wait.
    pub subnets: u32,
    /// Commits of history a sandbox gets with its base: 1 = the base alone.
    pub history_depth: u32,
    /// User of every container; `None` = one per repository.
    pub user: Option<u32>,
    /// Hardening profile of the containers (`sealed` or `debug`).
    pub profile: String,
    /// Least bytes to send for which a repository gets a mirror; 0 = always.
    pub mirror_from_bytes: u64,
    /// Bytes that have to stay free on the engine's disk for a mirror to be begun.
    pub disk_floor_bytes: u64,
    /// Image of the quarantine containers, with git and sh.
    pub quarantine_image: String,
    /// Largest pack that is sent into a container, in bytes.
    pub base_pack_bytes: u64,
    /// Largest pack that is taken out of one, in bytes.
    pub tree_pack_bytes: u64,
    /// The most bytes of a checkpoint's diff that are kept.
    pub diff_bytes: usize,
    /// Name and mail address of the commits' author.
    pub author: (String, String),
    /// Limits on the content of a checkpoint.
    pub policy: policy::Limits,
    /// Largest archive of a setup result, in bytes.
    pub setup_bytes: u64,
    /// Largest size of all kept archives together, in bytes.
    pub setup_total_bytes: u64,
    /// How long the runner of a task's container may take to answer its greeting.
    pub hello: Duration,
}

impl Settings {
    /// Defaults for a workstation; `image` is used for quarantine.
    pub fn new(state_dir: impl Into<PathBuf>, image: impl Into<String>) -> Self {
        Self {
            state_dir: state_dir.into(),
            subnets: 8,
            history_depth: 50,
            user: None,
            profile: "sealed".to_owned(),
            mirror_from_bytes: 4 << 20,
            disk_floor_bytes: 0,
            quarantine_image: image.into(),
            base_pack_bytes: 1 << 30,
            tree_pack_bytes: 64 << 20,
            diff_bytes: 200_000,
            author: ("Caisson".to_owned(), "caisson@localhost".to_owned()),
            policy: policy::Limits::default(),
            setup_bytes: 1 << 30,
            setup_total_bytes: 8 << 30,
            hello: HELLO,
        }
    }
}

/// A sandbox to be made.
#[derive(Debug, Clone)]
pub struct PrepareSpec {
    /// The task's number; part of the container's name.
    pub task: i64,
    /// Number in the container's name; a sandbox with another one is not reused.
    pub attempt: u32,
    /// The repository's key in the configuration.
    pub repo_key: String,
    /// The commit that the work starts from; later, the last captured one.
    pub base: Commit,
    /// Present commit of the default branch, which the repository's mirror contains; `None` = no mirror.
    pub trunk: Option<Commit>,
    /// Reference of the image that the sandbox is made from.
    pub image: String,
    /// Limits of the sandbox.
    pub limits: ContainerLimits,
    /// Whether it gets a network.
    pub network: bool,
    /// Rules in addition to the operator's.
    pub egress: Vec<Rule>,
    /// Setup to be run before the agent enters.
    pub setup: Option<SetupSpec>,
    /// The lost sandbox that this one replaces.
    pub anew: Option<Replacement>,
    /// Work on an earlier base that is merged into the checked-out files.
    pub merge: Option<Merge>,
    /// Whether nothing of the sandbox before is brought over, because it stood on another base.
    pub afresh: bool,
}

/// A prepared sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// The runner's boot id; another one later means that the container was restarted.
    pub boot: String,
    /// Files that could not be merged by themselves, as the sandbox named them; at most 200. Untrusted.
    pub conflicts: Vec<String>,
}

/// Result of an action.
#[derive(Debug, Clone)]
pub struct Acted {
    /// Status and output.
    pub outcome: Outcome,
    /// Bytes of the picture that it read. Untrusted.
    pub picture: Option<Vec<u8>>,
    /// The loss of a container that went away or was restarted meanwhile: the action may have run, wholly or in part.
    pub lost: Option<Loss>,
}

/// The actions between two checkpoints, identified by the commits they start from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The task's number.
    pub task: i64,
    /// Number of the checkpoint that will end it.
    pub n: u32,
    /// The repository's key in the configuration.
    pub repo_key: String,
    /// The last published commit, the parent of the next one.
    pub parent: Commit,
    /// The commit the sandbox was prepared with.
    pub base: Commit,
}

/// A checkpoint to be captured.
#[derive(Debug, Clone)]
pub struct CaptureSpec {
    /// What the commit covers: the actions since the last published commit.
    pub segment: Segment,
    /// The commit's whole message, written by the bot.
    pub message: String,
    /// Author and committer date, in Unix milliseconds.
    pub date_ms: i64,
    /// Patterns of protected paths, in addition to the defaults.
    pub protected: Vec<String>,
}

/// Result of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Captured {
    /// The tree became a commit in the bot's repository, which is on no branch yet.
    Commit {
        /// The commit, whose parent is [`Segment::parent`].
        commit: Commit,
        /// Changed files since the parent, with their lines.
        files: Vec<FileChange>,
        /// Diff against the parent, cut at a limit.
        diff: String,
        /// Bytes that were cut off the diff's end.
        diff_cut: u64,
        /// Changed files that define or steer tests.
        steering: Vec<String>,
        /// Paths left out as by-products of known tools; a directory ends with `/`. Untrusted.
        left_out: Vec<String>,
    },
    /// The tree equals the parent's, except for what was left out.
    Unchanged {
        /// Paths left out as by-products of known tools; a directory ends with `/`.
        left_out: Vec<String>,
    },
    /// The tree breaks a rule.
    Refused {
        /// What is wrong, one sentence each, for the agent and a person.
        reasons: Vec<String>,
    },
}

impl Captured {
    pub(super) fn leaving_out(mut self, names: Vec<String>) -> Self {
        match &mut self {
            Self::Commit { left_out, .. } | Self::Unchanged { left_out } => *left_out = names,
            Self::Refused { .. } => {}
        }
        self
    }
}

/// A commit whose tests are to be run.
#[derive(Debug, Clone)]
pub struct VerifySpec {
    /// The task's number; part of the container's name.
    pub task: i64,
    /// The commit whose tests are run.
    pub commit: Commit,
    /// The commit that the task began from, whose run is compared.
    pub base: Commit,
    /// Number of the try, part of the container's name.
    pub tries: u32,
    /// The repository's key in the configuration.
    pub repo_key: String,
    /// Reference of the image that the runs' sandboxes are made from.
    pub image: String,
    /// Command of the pinned `.caisson.toml`; `None` = detected from the base.
    pub command: Option<String>,
    /// Name of the toolchain, such as `rust` or `rust@1.95`, if one was asked for: a command is detected for that one.
    pub toolchain: Option<String>,
    /// Limits of each sandbox.
    pub limits: ContainerLimits,
    /// Limit of one run, in milliseconds.
    pub wall_ms: u64,
    /// Whether a test of the base may run under the name of another module: the texts of such tests are compared by themselves.
    pub tests_may_move: bool,
}

impl PrepareSpec {
    /// The record that is written before anything is made.
    pub(super) fn record(&self) -> Record {
        let name = format!("task-{}-{}", self.task, self.attempt);
        let record = Record::new((self.task, name), &self.base, &self.image, self.egress.clone());
        let in_memory = self.limits.workspace_bytes > 0;
        Record { attempt: self.attempt, anew: self.anew.clone(), in_memory, ..record }
    }
}
