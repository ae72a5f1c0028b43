//! Sandboxes: repository in, actions, tree out, verification.
//!
//! Owns the life of a task's container (`prepare.rs`, `act.rs`, `record.rs`), whose user it runs as (`users.rs`), how its tree becomes one
//! commit of ours (`capture.rs`, `quarantine.rs`, `inspection.rs`, `policy/`), the bot's own run of the project's tests (`verify.rs`, `ran.rs`,
//! `base_runs.rs`, `detect.rs`), and a project tried out for a person (`trial.rs`, `commands/`, `checks.rs`, `lacks.rs`).
//! Built on the broker (`broker.rs`: containers), the runner (`link.rs`: one line to one runner), `git` and an [`EgressControl`].
//! Must not: know Docker, parse git objects that no quarantine container has checked, or repeat an action by itself.
//! Whatever a container says is untrusted: text is capped, ids are validated, a protocol error ends the container.
//! Tests: beside each file and `tests/trees.rs` (real runner as a plain process).

mod act;
mod against;
mod allocations;
mod base_runs;
pub mod broker;
mod by_products;
mod candidate;
mod capture;
mod carry;
pub mod checks;
pub mod commands;
pub mod detect;
mod egress_control;
pub mod failures;
mod index;
mod inspection;
mod issue_check;
pub mod items;
pub mod kept;
pub mod lacks;
pub mod link;
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
mod session;
mod setup;
mod spec;
mod subnets;
pub mod survey;
mod tree;
mod trial;
mod users;
mod verify;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use domain::Loss;
use protocol::broker::ImageInfo;
use protocol::router::Rule;
use tokio::sync::Mutex;
use tokio_util::task::TaskTracker;

use crate::git::Repos;
use allocations::SubnetAllocations;
use base_runs::BaseRuns;
use broker::Broker;
pub use egress_control::EgressControl;
pub use look::Around;
use mirror::Mirrors;
pub use ran::Ran;
pub use record::Anew;
use record::Records;
use session::{Passing, Session};
pub use setup::SetupSpec;
pub use spec::{Acted, CaptureSpec, Captured, PrepareSpec, Prepared, Segment, Settings, VerifySpec};
use subnets::Subnets;
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
    /// The container is gone (removed, restarted, never made): prepare it again.
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

/// Whether a sandbox that stands has a network, whatever is configured now: without the router nobody could close it.
///
/// # Errors
/// When the records of the state directory cannot be read.
pub fn any_networked(state_dir: &Path) -> Result<bool> {
    Ok(Records::load(&state_dir.join("sandboxes"), 0)?.all().iter().any(|record| record.subnet.is_some()))
}

/// All sandboxes of this process.
pub struct Sandboxes {
    broker: Arc<dyn Broker>,
    repos: Repos,
    settings: Settings,
    epoch: u64,
    records: Records,
    subnets: Subnets,
    users: Users,
    mirrors: Mirrors,
    base_runs: BaseRuns,
    /// Attached containers, by task.
    sessions: Mutex<HashMap<i64, Arc<Session>>>,
    /// The last run of an issue's own check on a base, and what it was of: a round of candidates is held against one.
    example_base: Mutex<Option<(String, protocol::runner::Outcome)>>,
    /// Names of containers that a call of this process is using: reaping leaves them alone.
    busy: Arc<std::sync::Mutex<HashSet<String>>>,
    ids: Arc<AtomicU64>,
    proven: proven::Proven,
    standby: quarantine::Standby,
    by_products: by_products::Lines,
    /// Removals that nobody waits for.
    leaving: TaskTracker,
    /// Held while setup commands run.
    setting_up: Mutex<()>,
}

impl Sandboxes {
    /// `epoch` is this process's life: a runner obeys the highest it has seen. Without egress control no container gets a network.
    ///
    /// # Errors
    /// When the state directory cannot be read or written, or does not say which repository has which user.
    pub fn new(
        broker: Arc<dyn Broker>,
        control: Option<Arc<dyn EgressControl>>,
        repos: Repos,
        settings: Settings,
        epoch: u64,
    ) -> Result<Self> {
        let records = Records::load(&settings.state_dir.join("sandboxes"), settings.subnets)?;
        let subnets = Subnets::new(control, SubnetAllocations::load(&settings.state_dir, &records.all()));
        let users = Users::load(&settings.state_dir, settings.user)?;
        let mirrors = Mirrors::load(&settings.state_dir, |key| users.known(key));
        let base_runs = BaseRuns::new(settings.state_dir.join("base-runs"));
        // The host's own requests live above every id that a task gives to an action.
        let ids = Arc::new(AtomicU64::new(session::HOST_IDS | (epoch & 0xFFFF_FFFF) << 28));
        let (sessions, busy) = (Mutex::default(), Arc::default());
        let (proven, standby, by_products, leaving, setting_up) = Default::default();
        Ok(Self {
            broker,
            repos,
            settings,
            epoch,
            records,
            subnets,
            users,
            mirrors,
            base_runs,
            sessions,
            example_base: Mutex::default(),
            busy,
            ids,
            proven,
            standby,
            by_products,
            leaving,
            setting_up,
        })
    }

    /// The image the engine has under this reference; one that the broker's operator did not list is refused.
    ///
    /// # Errors
    /// [`SandboxError::Refused`], or [`SandboxError::Unavailable`] when the engine is away.
    pub async fn image(&self, reference: &str) -> Result<Option<ImageInfo>> {
        self.broker.image(reference).await.map_err(session::from_broker)
    }

    /// A router that greets a new process closes every subnet: what was at work then gets its way out back. One that this
    /// process has closed stays closed.
    async fn go_on(&self, task: i64) -> Result<()> {
        match self.subnet(task) {
            Some(subnet) if self.subnets.untouched(subnet).await => self.open(task).await.map(drop),
            _ => Ok(()),
        }
    }

    /// Replaces the rules of a task (`/allow`, `/deny`). An open subnet has them when this returns; a closed one when it is
    /// opened.
    ///
    /// # Errors
    /// [`SandboxError::Gone`] without a sandbox, [`SandboxError::Unavailable`] when the router is away.
    pub async fn allow(&self, task: i64, rules: Vec<Rule>) -> Result<()> {
        let change = || {
            self.records.change(task, |record| (record.egress, record.cut_off) = (rules.clone(), false))?;
            Ok((self.subnet(task), rules))
        };
        self.subnets.replace(change).await
    }

    /// Closes the subnet of a task, and keeps it closed until [`Sandboxes::allow`]: its repository has no network any more.
    ///
    /// # Errors
    /// As [`Sandboxes::allow`].
    pub async fn cut_off(&self, task: i64) -> Result<()> {
        if !self.records.get(task).is_some_and(|record| record.cut_off) {
            self.records.change(task, |record| (record.egress, record.cut_off) = (Vec::new(), true))?;
        }
        self.subnets.close(self.subnet(task)).await
    }

    /// Whether a task's sandbox reaches nothing until [`Sandboxes::allow`].
    pub fn is_cut_off(&self, task: i64) -> bool {
        self.records.get(task).is_some_and(|record| record.cut_off)
    }

    /// Reaping leaves containers of these names alone, as long as this process lives: somebody else looks after them.
    pub fn spare(&self, names: &[&str]) {
        if let Ok(mut busy) = self.busy.lock() {
            busy.extend(names.iter().map(|&name| name.to_owned()));
        }
    }

    /// Waits until a router took the place of another while ways out stood open: its life, and the tasks whose ways those are.
    pub async fn router_replaced(&self) -> (String, Vec<i64>) {
        let (boot, subnets) = self.subnets.replaced().await;
        let cut = |record: &record::Record| record.subnet.is_some_and(|subnet| subnets.contains(&subnet));
        (boot, self.records.all().into_iter().filter(cut).map(|record| record.task).collect())
    }

    /// Whether the engine can be asked.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] when broker or engine is away.
    pub async fn hello(&self) -> Result<()> {
        self.broker.hello().await.map(drop).map_err(session::from_broker)
    }

    /// Another host has moved the task on: whatever stands here of it is older than its log, and goes.
    ///
    /// # Errors
    /// As [`Sandboxes::remove`].
    pub async fn moved_here(&self, task: i64) -> Result<()> {
        self.remove(task).await?;
        self.records.came(task);
        Ok(())
    }

    /// The tasks whose sandboxes stand, or were being made.
    pub fn tasks(&self) -> Vec<i64> {
        self.records.all().into_iter().map(|record| record.task).collect()
    }

    /// Whether a task's sandbox is there with the repository in it, as far as is known.
    pub fn is_whole(&self, task: i64) -> bool {
        self.records.ready(task).is_ok()
    }

    /// The subnet a task holds: for questions to the router about it.
    pub fn subnet(&self, task: i64) -> Option<u32> {
        self.records.get(task).and_then(|record| record.subnet)
    }

    /// Removes a task's container and gives its subnet back. Gone already is fine.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] when router or engine is away: the subnet stays taken until a repeat succeeds.
    pub async fn remove(&self, task: i64) -> Result<()> {
        self.standby.forget(task);
        self.sessions.lock().await.remove(&task);
        let Some(record) = self.records.get(task) else { return Ok(()) };
        self.subnets.close(record.subnet).await?;
        self.broker.remove(&record.name).await.map_err(session::from_broker)?;
        self.forget_carried(task);
        self.records.forget(task)?;
        self.forget_index(&task.to_string());
        self.remove_retired().await;
        Ok(())
    }

    /// Lets go of what was made in advance, and waits until everything that was let go is removed.
    pub async fn leave(&self) {
        self.standby.forget_all();
        self.leaving.close();
        self.leaving.wait().await;
        self.leaving.reopen();
    }

    fn passing(&self, name: &str) -> Passing {
        Passing::new(Arc::clone(&self.broker), Arc::clone(&self.busy), self.leaving.clone(), name)
    }

    /// Removes every container of this installation that belongs to no live task: names of those removed.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] when the engine is away.
    pub async fn reap(&self, live: &[i64]) -> Result<Vec<String>> {
        let mut keep: Vec<String> = self.busy.lock().map(|busy| busy.iter().cloned().collect()).unwrap_or_default();
        for record in self.records.all() {
            if live.contains(&record.task) {
                keep.push(record.name);
            } else {
                self.subnets.close(record.subnet).await?;
                self.forget_carried(record.task);
                self.records.forget(record.task)?;
                self.forget_index(&record.task.to_string());
                self.sessions.lock().await.remove(&record.task);
            }
        }
        // One that is being made now is looked after by whoever makes it.
        if let Ok(_none) = self.setting_up.try_lock() {
            self.forget_setups("").await?;
        }
        self.sweep_indexes();
        let mirrors = self.mirrors.names();
        self.broker.reap(&keep, &mirrors).await.map_err(session::from_broker)
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
