//! Sandboxes: repository in, actions, tree out, verification.
//!
//! Owns the life of a task's chamber (`prepare.rs`, `act.rs`, `record.rs`), whose user it runs as (`users.rs`), how its tree becomes one
//! commit of ours (`seal.rs`, `quarantine.rs`, `cell.rs`, `policy/`), the bot's own run of the project's tests (`verify.rs`, `ran.rs`,
//! `base_runs.rs`, `detect.rs`), and a project tried out for a person (`trial.rs`, `commands/`, `checks.rs`, `lacks.rs`).
//! Built on the broker (`broker.rs`: containers), the runner (`link.rs`: one line to one runner), `git` and a [`Gate`].
//! Must not: know Docker, parse git objects that no quarantine chamber has checked, or repeat an action by itself.
//! Whatever a chamber says is untrusted: text is capped, ids are validated, a protocol error ends the chamber.
//! Tests: beside each file and `tests/trees.rs` (real runner as a plain process).

mod act;
mod base_runs;
pub mod broker;
mod by_products;
mod candidate;
mod carry;
mod cell;
pub mod checks;
pub mod commands;
pub mod detect;
pub mod failures;
mod gate;
mod index;
mod issue_check;
pub mod items;
pub mod kept;
pub mod lacks;
pub mod link;
mod loans;
mod look;
mod mirror;
pub mod mistakes;
pub mod need;
pub mod policy;
mod prepare;
mod proven;
pub mod quarantine;
mod ran;
mod record;
mod report;
mod rest;
mod room;
mod seal;
mod setup;
pub mod survey;
mod tree;
mod trial;
mod users;
mod verify;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use domain::{Commit, FileChange, Loss};
use protocol::broker::{ChamberLimits, ImageInfo};
use protocol::router::Rule;
use protocol::runner::Outcome;
use tokio::sync::Mutex;
use tokio_util::task::TaskTracker;

use crate::git::Repos;
use base_runs::BaseRuns;
use broker::Broker;
pub use gate::Gate;
use loans::Loans;
pub use look::Around;
use mirror::Mirrors;
pub use ran::Ran;
pub use record::Anew;
use record::Records;
use room::{Passing, Room};
pub use setup::SetupSpec;
pub use survey::{SurveySpec, Surveyed};
pub use trial::Tried;
use users::Users;
pub use verify::TAIL as VERDICT_TAIL;

/// Why a sandbox did not do what was asked, in words for a person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    /// Engine, broker, router or this machine is busy or away: the same call may be repeated later.
    #[error("{0}")]
    Unavailable(String),
    /// The chamber is gone (removed, restarted, never made): prepare it again.
    #[error("{0}")]
    Gone(Loss),
    /// It will not work as asked; say so to the person.
    #[error("{0}")]
    Refused(String),
    /// Memory, disk, time or size ran out; says which.
    #[error("{0}")]
    Limit(String),
}

/// What a sandbox answers, or why it did not do what was asked.
pub type Result<T> = std::result::Result<T, SandboxError>;

/// What holds for all sandboxes of this bot.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where records of living sandboxes are kept (mode 0700).
    pub state_dir: PathBuf,
    /// How many berths the router holds; with no berth free, a task that needs one is told to wait.
    pub berths: u32,
    /// Commits of history a sandbox gets with its base: 1 = the base alone.
    pub history_depth: u32,
    /// The user of every chamber; `None` = one for each repository.
    pub user: Option<u32>,
    /// Hardening profile of the chambers (`sealed` or `debug`).
    pub profile: String,
    /// A repository of which less than this would be sent has no mirror; 0 = each has one.
    pub mirror_from_bytes: u64,
    /// What is to stay free of the engine's disk: under it no mirror is begun.
    pub disk_floor_bytes: u64,
    /// Image of the quarantine chambers: holds git and sh.
    pub quarantine_image: String,
    /// Largest pack that goes into a chamber.
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
            berths: 8,
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
    /// The task's number; part of the chamber's name.
    pub task: i64,
    /// A number in the chamber's name: a sandbox that stands under another one is not taken up again.
    pub attempt: u32,
    /// The repository's key in the configuration.
    pub repo_key: String,
    /// The commit the work starts from (for a later checkpoint: the last sealed one).
    pub base: Commit,
    /// Where the default branch stands now: what the repository's mirror holds. `None` = the sandbox is made without one.
    pub trunk: Option<Commit>,
    /// Reference of the image that the sandbox is made from.
    pub image: String,
    /// What the sandbox may use.
    pub limits: ChamberLimits,
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
    /// The runner's boot id: another one later means that the chamber was restarted.
    pub boot: String,
}

/// How an action ended.
#[derive(Debug, Clone)]
pub struct Acted {
    /// How it ended, and what it printed.
    pub outcome: Outcome,
    /// The chamber went away or was restarted meanwhile: the action may have run, wholly or in part.
    pub lost: Option<Loss>,
}

/// The actions between two checkpoints, by what they started from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
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
pub struct SealSpec {
    /// What the commit covers: the actions since the last published commit.
    pub stretch: Stretch,
    /// The commit's whole message, ours.
    pub message: String,
    /// Author and committer date.
    pub date_ms: i64,
    /// Patterns of protected paths, on top of the defaults.
    pub protected: Vec<String>,
}

/// What came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sealed {
    /// The tree was taken into a commit, which lies in the bot's repository and on no branch yet.
    Commit {
        /// The commit, whose parent is [`Stretch::parent`].
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

impl Sealed {
    fn leaving_out(mut self, names: Vec<String>) -> Self {
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
    /// The task's number; part of the chamber's name.
    pub task: i64,
    /// The commit whose tests are run.
    pub commit: Commit,
    /// The commit that the task began from: its run is what the commit's run is held against.
    pub base: Commit,
    /// Which try it is: part of the chamber's name.
    pub tries: u32,
    /// The repository's key in the configuration.
    pub repo_key: String,
    /// Reference of the image that the runs' sandboxes are made from.
    pub image: String,
    /// From the pinned `.caisson.toml`; `None` = detect from the base commit.
    pub command: Option<String>,
    /// What each of these sandboxes may use.
    pub limits: ChamberLimits,
    /// Wall clock of one run.
    pub wall_ms: u64,
}

/// All sandboxes of this process.
pub struct Sandboxes {
    broker: Arc<dyn Broker>,
    gate: Option<Arc<dyn Gate>>,
    repos: Repos,
    settings: Settings,
    epoch: u64,
    records: Records,
    loans: Loans,
    users: Users,
    mirrors: Mirrors,
    base_runs: BaseRuns,
    /// Attached chambers, by task.
    rooms: Mutex<HashMap<i64, Arc<Room>>>,
    /// The last run of an issue's own check on a base, and what it was of: a round of candidates is held against one.
    example_base: Mutex<Option<(String, protocol::runner::Outcome)>>,
    /// Names of chambers that a call of this process is using: reaping leaves them alone.
    busy: Arc<std::sync::Mutex<HashSet<String>>>,
    /// Berths that this process has opened (true) or closed (false). Held while the router is told anything, so that new rules
    /// never open what a checkpoint has just closed.
    doors: Mutex<HashMap<u32, bool>>,
    ids: Arc<AtomicU64>,
    proven: proven::Proven,
    ahead: quarantine::Ahead,
    by_products: by_products::Lines,
    /// Removals that nobody waits for.
    leaving: TaskTracker,
    /// Held while setup commands run.
    setting_up: Mutex<()>,
    /// Rung when every berth is taken and another is wanted.
    crowded: tokio::sync::Notify,
}

impl Sandboxes {
    /// `epoch` is this process's life: a runner obeys the highest it has seen. Without a gate no chamber gets a network.
    ///
    /// # Errors
    /// When the state directory cannot be read or written, or does not say which repository has which user.
    pub fn new(
        broker: Arc<dyn Broker>,
        gate: Option<Arc<dyn Gate>>,
        repos: Repos,
        settings: Settings,
        epoch: u64,
    ) -> Result<Self> {
        let records = Records::load(&settings.state_dir.join("sandboxes"), settings.berths)?;
        let loans = Loans::load(&settings.state_dir, &records.all());
        let users = Users::load(&settings.state_dir, settings.user)?;
        let mirrors = Mirrors::load(&settings.state_dir, |key| users.known(key));
        let base_runs = BaseRuns::new(settings.state_dir.join("base-runs"));
        // The host's own requests live above every id that a task gives to an action.
        let ids = Arc::new(AtomicU64::new(room::HOST_IDS | (epoch & 0xFFFF_FFFF) << 28));
        let (rooms, busy, doors) = (Mutex::default(), Arc::default(), Mutex::default());
        let (proven, ahead, by_products, leaving, setting_up, crowded) = Default::default();
        Ok(Self {
            broker,
            gate,
            repos,
            settings,
            epoch,
            records,
            loans,
            users,
            mirrors,
            base_runs,
            rooms,
            example_base: Mutex::default(),
            busy,
            doors,
            ids,
            proven,
            ahead,
            by_products,
            leaving,
            setting_up,
            crowded,
        })
    }

    /// The image the engine has under this reference; one that the broker's operator did not list is refused.
    ///
    /// # Errors
    /// [`SandboxError::Refused`], or [`SandboxError::Unavailable`] when the engine is away.
    pub async fn image(&self, reference: &str) -> Result<Option<ImageInfo>> {
        self.broker.image(reference).await.map_err(room::from_broker)
    }

    /// A router that greets a new process closes every berth: what was at work then gets its way out back. One that this
    /// process has closed stays closed.
    async fn go_on(&self, task: i64) -> Result<()> {
        match self.berth(task) {
            Some(berth) if !self.doors.lock().await.contains_key(&berth) => self.open(task).await.map(drop),
            _ => Ok(()),
        }
    }

    /// Replaces the rules of a task (`/allow`, `/deny`). An open berth has them when this returns; a closed one when it is
    /// opened.
    ///
    /// # Errors
    /// [`SandboxError::Gone`] without a sandbox, [`SandboxError::Unavailable`] when the router is away.
    pub async fn allow(&self, task: i64, rules: Vec<Rule>) -> Result<()> {
        let doors = self.doors.lock().await;
        self.records.change(task, |record| record.egress.clone_from(&rules))?;
        let open = self.berth(task).filter(|berth| doors.get(berth) == Some(&true));
        match (open, &self.gate) {
            (Some(berth), Some(gate)) => gate.open(berth, &rules).await.map_err(SandboxError::Unavailable),
            _ => Ok(()),
        }
    }

    /// Reaping leaves chambers of these names alone, as long as this process lives: somebody else looks after them.
    pub fn spare(&self, names: &[&str]) {
        if let Ok(mut busy) = self.busy.lock() {
            busy.extend(names.iter().map(|&name| name.to_owned()));
        }
    }

    /// Waits until a router took the place of another while ways out stood open: its life, and the tasks whose ways those are.
    pub async fn router_replaced(&self) -> (String, Vec<i64>) {
        let Some(gate) = &self.gate else { return std::future::pending().await };
        let (boot, berths) = gate.replaced().await;
        let cut = |record: &record::Record| record.berth.is_some_and(|berth| berths.contains(&berth));
        (boot, self.records.all().into_iter().filter(cut).map(|record| record.task).collect())
    }

    /// The berth a task holds: for questions to the router about it.
    pub fn berth(&self, task: i64) -> Option<u32> {
        self.records.get(task).and_then(|record| record.berth)
    }

    /// Removes a task's chamber and gives its berth back. Gone already is fine.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] when router or engine is away: the berth stays taken until a repeat succeeds.
    pub async fn remove(&self, task: i64) -> Result<()> {
        self.ahead.forget(task);
        self.rooms.lock().await.remove(&task);
        let Some(record) = self.records.get(task) else { return Ok(()) };
        self.close_berth(record.berth).await?;
        self.broker.remove(&record.name).await.map_err(room::from_broker)?;
        self.forget_carried(task);
        self.records.forget(task)?;
        self.forget_index(&task.to_string());
        self.remove_retired().await;
        Ok(())
    }

    /// Lets go of what was made ahead, and waits until everything that was let go is removed.
    pub async fn leave(&self) {
        self.ahead.forget_all();
        self.leaving.close();
        self.leaving.wait().await;
        self.leaving.reopen();
    }

    fn passing(&self, name: &str) -> Passing {
        Passing::new(Arc::clone(&self.broker), Arc::clone(&self.busy), self.leaving.clone(), name)
    }

    /// Removes every chamber of this installation that belongs to no live task: names of those removed.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] when the engine is away.
    pub async fn reap(&self, live: &[i64]) -> Result<Vec<String>> {
        let mut keep: Vec<String> = self.busy.lock().map(|busy| busy.iter().cloned().collect()).unwrap_or_default();
        for record in self.records.all() {
            if live.contains(&record.task) {
                keep.push(record.name);
            } else {
                self.close_berth(record.berth).await?;
                self.forget_carried(record.task);
                self.records.forget(record.task)?;
                self.forget_index(&record.task.to_string());
                self.rooms.lock().await.remove(&record.task);
            }
        }
        // One that is being made now is looked after by whoever makes it.
        if let Ok(_none) = self.setting_up.try_lock() {
            self.forget_setups("").await?;
        }
        self.sweep_indexes();
        let mirrors = self.mirrors.names();
        self.broker.reap(&keep, &mirrors).await.map_err(room::from_broker)
    }

    /// Fails closed: a berth counts as open until the router has confirmed that it is not.
    async fn close_berth(&self, berth: Option<u32>) -> Result<()> {
        match (berth, &self.gate) {
            (Some(berth), Some(gate)) => {
                let mut doors = self.doors.lock().await;
                doors.insert(berth, false);
                gate.close(berth).await.map_err(SandboxError::Unavailable)
            }
            (Some(_), None) => {
                Err(SandboxError::Unavailable("the router is not attached, so the berth cannot be closed".to_owned()))
            }
            (None, _) => Ok(()),
        }
    }
}

impl From<crate::git::GitError> for SandboxError {
    fn from(e: crate::git::GitError) -> Self {
        use crate::git::GitError as G;
        match e {
            G::TooLarge { .. } => Self::Limit(e.to_string()),
            G::TimedOut { .. } | G::Io(_) => Self::Unavailable(e.to_string()),
            G::Missing | G::Invalid(_) | G::Failed { .. } | G::NotFound(_) => Self::Refused(e.to_string()),
        }
    }
}
