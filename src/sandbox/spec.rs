//! What sandboxes are asked for, and what comes back: settings of all, and the words of each step.

use super::record::{Record, now_ms};
use super::{Anew, SetupSpec, policy};
use domain::{Commit, FileChange, Loss};
use protocol::broker::ContainerLimits;
use protocol::router::Rule;
use protocol::runner::{Outcome, VERSION};
use std::path::PathBuf;

/// What holds for all sandboxes of this bot.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where records of living sandboxes are kept (mode 0700).
    pub state_dir: PathBuf,
    /// How many subnets the router holds; with no subnet free, a task that needs one is told to wait.
    pub subnets: u32,
    /// Commits of history a sandbox gets with its base: 1 = the base alone.
    pub history_depth: u32,
    /// The user of every container; `None` = one for each repository.
    pub user: Option<u32>,
    /// Hardening profile of the containers (`sealed` or `debug`).
    pub profile: String,
    /// A repository of which less than this would be sent has no mirror; 0 = each has one.
    pub mirror_from_bytes: u64,
    /// What is to stay free of the engine's disk: under it no mirror is begun.
    pub disk_floor_bytes: u64,
    /// Image of the quarantine containers: holds git and sh.
    pub quarantine_image: String,
    /// Largest pack that goes into a container.
    pub base_pack_bytes: u64,
    /// Largest pack that is taken out of one.
    pub tree_pack_bytes: u64,
    /// Bytes of a checkpoint's diff that are kept.
    pub diff_bytes: usize,
    /// Name and mail address of the commits' author.
    pub author: (String, String),
    /// Bounds on what a checkpoint may contain.
    pub policy: policy::Limits,
    /// Wall clock of one setup command.
    pub setup_wall_ms: u64,
    /// Largest archive that setup may leave, and all of them together.
    pub setup_bytes: u64,
    /// Largest size of all kept archives together, in bytes.
    pub setup_total_bytes: u64,
}

impl Settings {
    /// Defaults that suit a workstation; `image` is used for quarantine.
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
            setup_wall_ms: 900_000,
            setup_bytes: 1 << 30,
            setup_total_bytes: 8 << 30,
        }
    }
}

/// A sandbox to be made.
#[derive(Debug, Clone)]
pub struct PrepareSpec {
    /// The task's number; part of the container's name.
    pub task: i64,
    /// A number in the container's name: a sandbox that stands under another one is not taken up again.
    pub attempt: u32,
    /// The repository's key in the configuration.
    pub repo_key: String,
    /// The commit the work starts from (for a later checkpoint: the last captured one).
    pub base: Commit,
    /// Where the default branch stands now: what the repository's mirror holds. `None` = the sandbox is made without one.
    pub trunk: Option<Commit>,
    /// Reference of the image that the sandbox is made from.
    pub image: String,
    /// What the sandbox may use.
    pub limits: ContainerLimits,
    /// `false` = no network at all.
    pub network: bool,
    /// Rules beyond the operator's own.
    pub egress: Vec<Rule>,
    /// What is to be there before the agent enters.
    pub setup: Option<SetupSpec>,
    /// The one before was lost.
    pub anew: Option<Anew>,
}

/// A sandbox that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// The runner's boot id: another one later means that the container was restarted.
    pub boot: String,
}

/// How an action ended.
#[derive(Debug, Clone)]
pub struct Acted {
    /// How it ended, and what it printed.
    pub outcome: Outcome,
    /// Bytes of the picture that it read: of a sandbox.
    pub picture: Option<Vec<u8>>,
    /// The container went away or was restarted meanwhile: the action may have run, wholly or in part.
    pub lost: Option<Loss>,
}

/// The actions between two checkpoints, by what they started from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The task's number.
    pub task: i64,
    /// The checkpoint that will end it.
    pub n: u32,
    /// The repository's key in the configuration.
    pub repo_key: String,
    /// The last published commit, which becomes the parent.
    pub parent: Commit,
    /// The commit the sandbox was prepared with.
    pub base: Commit,
}

/// A checkpoint to be taken.
#[derive(Debug, Clone)]
pub struct CaptureSpec {
    /// What the commit covers: the actions since the last published commit.
    pub segment: Segment,
    /// The commit's whole message, ours.
    pub message: String,
    /// Author and committer date.
    pub date_ms: i64,
    /// Patterns of protected paths, on top of the defaults.
    pub protected: Vec<String>,
}

/// What came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Captured {
    /// The tree was taken into a commit, which lies in the bot's repository and on no branch yet.
    Commit {
        /// The commit, whose parent is [`Segment::parent`].
        commit: Commit,
        /// Changed files since the parent, with their lines.
        files: Vec<FileChange>,
        /// Since the parent, capped.
        diff: String,
        /// Bytes that were cut off the diff's end.
        diff_cut: u64,
        /// Changed files that define or steer tests.
        steering: Vec<String>,
        /// Paths that stayed out as by-products of known tools; a directory ends with `/`. The sandbox's own word.
        left_out: Vec<String>,
    },
    /// The tree is the parent's, but for what stayed out.
    Unchanged {
        /// Paths that stayed out as by-products of known tools; a directory ends with `/`.
        left_out: Vec<String>,
    },
    /// The tree breaks a rule; each reason is a sentence that the agent and the person can act on.
    Refused {
        /// Each reason is a sentence.
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
    /// The commit that the task began from: its run is what the commit's run is held against.
    pub base: Commit,
    /// Which try it is: part of the container's name.
    pub tries: u32,
    /// The repository's key in the configuration.
    pub repo_key: String,
    /// Reference of the image that the runs' sandboxes are made from.
    pub image: String,
    /// From the pinned `.caisson.toml`; `None` = detect from the base commit.
    pub command: Option<String>,
    /// What each of these sandboxes may use.
    pub limits: ContainerLimits,
    /// Wall clock of one run.
    pub wall_ms: u64,
}

impl PrepareSpec {
    /// What is remembered of it before anything is made.
    pub(super) fn record(&self) -> Record {
        Record {
            task: self.task,
            attempt: self.attempt,
            name: format!("task-{}-{}", self.task, self.attempt),
            base: self.base.to_string(),
            image: self.image.clone(),
            subnet: None,
            egress: self.egress.clone(),
            cut_off: false,
            setup: None,
            mirror: None,
            boot: None,
            lost: None,
            anew: self.anew.clone(),
            stopped: false,
            made_at: now_ms(),
            runner: VERSION,
        }
    }
}
