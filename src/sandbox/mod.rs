//! Sandboxes: a repository in, actions, a tree out, and verification.
//!
//! Parts with one job each, created together by [`Sandboxes::new`] on shared state (`core.rs`): a task's sandbox from creation to removal
//! and the actions in it (`life/`), caches that speed up creation (`cache/`), making a commit of its tree (`capture/`, with the rules of
//! `policy/`), runs of the project's own commands (`verification/`, with `detect.rs`, `project_files.rs`, `commands/`, `checks.rs`, `lacks.rs`), egress
//! (`egress.rs`), and inspection (`look.rs`, `survey.rs`). Which changed files are risky: `risks/`, `asserts/`. Users of containers: `users.rs`; records: `record.rs`. Built on the broker
//! (`broker.rs`: containers), the runner (`link.rs`: one connection to one runner), `git` and an [`EgressControl`]. Must not know Docker,
//! parse git objects that no quarantine container has checked, or repeat an action. Containers are untrusted: text is limited, ids are
//! validated, a protocol error ends the container. Tests: beside each file and `tests/trees.rs` (real runner as a plain process).

mod allocations;
pub mod asserts;
pub mod broker;
mod cache;
mod capture;
pub mod checks;
pub mod commands;
mod container_end;
mod core;
pub mod detect;
mod egress;
mod egress_control;
pub mod failures;
mod index;
pub mod items;
pub mod kept;
pub mod lacks;
mod life;
pub mod link;
mod look;
pub mod mistakes;
pub mod need;
pub mod policy;
pub mod project_files;
mod proven;
mod record;
pub mod risks;
mod session;
mod sessions;
mod spec;
mod subnets;
pub mod survey;
pub mod test_counts;
mod test_names;
mod users;
mod verification;
mod writes;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use domain::Loss;
use protocol::broker::ImageInfo;

use self::core::Core;
use crate::git::Repos;
use allocations::SubnetAllocations;
use broker::Broker;
pub use cache::loader::RepositoryLoader;
pub use cache::mirror::Mirrors;
use cache::setup::Setups;
pub use cache::setup::{SetupSpec, Tried};
pub use capture::Captures;
pub use capture::FoundArtifacts;
pub use capture::quarantine::{Quarantine, Quarantines};
use capture::take::Trees;
pub use egress::SandboxEgress;
pub use egress_control::EgressControl;
use index::Indexes;
pub use life::TaskSandboxes;
pub use life::act::Actions;
use life::carry::Carried;
pub use look::{Looks, SandboxAddresses};
pub use proven::ProvenImages;
use record::Records;
pub(crate) use record::write_whole;
pub use record::{Merge, Replacement};
use sessions::Sessions;
pub use spec::{Acted, CaptureSpec, Captured, PrepareSpec, Prepared, Segment, Settings, VerifySpec};
use subnets::Subnets;
pub use survey::{SurveySpec, Surveyed};
use users::Users;
pub use verification::against::failing_on_base;
pub use verification::asked::{AskedRun, LaidOver, RunOptions};
pub use verification::base_runs::BaseRuns;
pub use verification::candidate::Candidates;
pub use verification::output::{TAIL as VERDICT_TAIL, shown_tail};
pub use verification::ran::Ran;
pub use verification::runs::Runs;
pub use verification::trial::Trials;
pub use verification::verify::Verification;

/// Why a sandbox failed, in words for a person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    /// Engine, broker, router or this machine is busy or unreachable: the same call may be repeated later.
    #[error("{0}")]
    Unavailable(String),
    /// The container is gone (removed, restarted, never made): prepare it again.
    #[error("{0}")]
    Gone(Loss),
    /// It cannot work as requested; the person has to be told.
    #[error("{0}")]
    Refused(String),
    /// Memory, disk, time or size was exceeded; says which.
    #[error("{0}")]
    Limit(String),
}

/// Result of an operation on a sandbox.
pub type Result<T> = std::result::Result<T, SandboxError>;

/// Whether an existing sandbox has a network, whatever is configured now, because without the router nobody could close it.
///
/// # Errors
/// When the records of the state directory cannot be read.
pub fn any_networked(state_dir: &Path) -> Result<bool> {
    Ok(Records::load(&state_dir.join("sandboxes"), 0)?.all().iter().any(|record| record.subnet.is_some()))
}

/// All sandboxes of this process, part by part.
pub struct Sandboxes {
    core: Arc<Core>,
    /// Tasks' own sandboxes, from creation to removal.
    pub of_tasks: Arc<TaskSandboxes>,
    /// Actions in them.
    pub actions: Actions,
    /// Their egress.
    pub egress: Arc<SandboxEgress>,
    /// Inspection of them.
    pub looks: Arc<Looks>,
    /// Commits of their trees.
    pub captures: Captures,
    /// Quarantine containers, in which trees are judged.
    pub quarantines: Arc<Quarantines>,
    /// Runs of a project's commands in sandboxes of their own.
    pub runs: Arc<Runs>,
    /// Stored results of such runs on base commits.
    pub base_runs: Arc<BaseRuns>,
    /// Verdicts about commits.
    pub verification: Verification,
    /// Tries of candidates.
    pub candidates: Candidates,
    /// Tries of projects by a person.
    pub trials: Trials,
    /// Mirrors of repositories.
    pub mirrors: Arc<Mirrors>,
    /// Filling containers with repositories.
    pub loader: Arc<RepositoryLoader>,
    /// Images with which the barrier was proven.
    pub images: Arc<ProvenImages>,
}

impl Sandboxes {
    /// `epoch` is the number of this process's life; a runner obeys the latest connection of the latest life. Without egress control no
    /// container gets a network.
    ///
    /// # Errors
    /// When the state directory cannot be read or written, or its list of users is invalid.
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
        // The host's own request ids are above every id of a task's action.
        let ids = Arc::new(AtomicU64::new(session::HOST_IDS | (epoch & 0xFFFF_FFFF) << session::COUNT_BITS));
        let (busy, left, leaving) = Default::default();
        let core = Core { broker, repos, settings, epoch, records, subnets, users, busy, left, ids, leaving };
        Ok(Self::of(&Arc::new(core)))
    }

    /// Creates each part with the parts that it needs.
    fn of(core: &Arc<Core>) -> Self {
        let own = || Arc::clone(core);
        let sessions = Arc::new(Sessions::new(own()));
        let indexes = Arc::new(Indexes::new(own()));
        let images = Arc::new(ProvenImages::new(own()));
        let mirrors = Arc::new(Mirrors::new(own()));
        let loader = Arc::new(RepositoryLoader::new(own(), mirrors.clone()));
        let setups = Arc::new(Setups::new(own(), mirrors.clone(), loader.clone()));
        let trees = Arc::new(Trees::new(own(), indexes.clone()));
        let quarantines = Arc::new(Quarantines::new(own(), mirrors.clone()));
        let carried = Arc::new(Carried::new(own(), sessions.clone(), trees.clone()));
        let runs = Runs { core: own(), mirrors: mirrors.clone(), loader: loader.clone(), setups: setups.clone() };
        let runs = Arc::new(runs);
        let base_runs = Arc::new(BaseRuns::new(own(), runs.clone()));
        let of_tasks = Arc::new(TaskSandboxes {
            core: own(),
            sessions: sessions.clone(),
            mirrors: mirrors.clone(),
            loader: loader.clone(),
            setups: setups.clone(),
            carried: carried.clone(),
            indexes,
            quarantines: quarantines.clone(),
            images: images.clone(),
        });
        Self {
            core: own(),
            actions: Actions::new(own(), sessions.clone(), of_tasks.clone()),
            of_tasks,
            egress: Arc::new(SandboxEgress { core: own() }),
            looks: Arc::new(Looks { core: own(), sessions: sessions.clone() }),
            captures: Captures { core: own(), sessions, trees, quarantines: quarantines.clone(), carried },
            quarantines,
            verification: Verification { runs: runs.clone(), base_runs: base_runs.clone() },
            candidates: Candidates::new(runs.clone()),
            trials: Trials { core: own(), setups, runs: runs.clone() },
            runs,
            base_runs,
            mirrors,
            loader,
            images,
        }
    }

    /// The engine's image with this reference; refused if the broker's operator did not list it.
    ///
    /// # Errors
    /// [`SandboxError::Refused`], or [`SandboxError::Unavailable`] when the engine is unreachable.
    pub async fn image(&self, reference: &str) -> Result<Option<ImageInfo>> {
        self.core.image(reference).await
    }

    /// Checks that the engine can be reached.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] when broker or engine is unreachable.
    pub async fn hello(&self) -> Result<()> {
        self.core.broker.hello().await.map(drop).map_err(session::from_broker)
    }

    /// Exempts containers of these names from reaping as long as this process lives, because another part manages them.
    pub fn spare(&self, names: &[&str]) {
        if let Ok(mut busy) = self.core.busy.lock() {
            busy.extend(names.iter().map(|&name| (name.to_owned(), 1)));
        }
    }

    /// Drops what was made in advance, and waits until all removals have finished.
    pub async fn leave(&self) {
        self.quarantines.forget_all();
        self.core.leave().await;
    }
}

impl From<crate::git::GitError> for SandboxError {
    fn from(e: crate::git::GitError) -> Self {
        use crate::git::GitError as G;
        match e {
            G::TooLarge { .. } | G::Oversized { .. } => Self::Limit(e.to_string()),
            G::TimedOut { .. } | G::Io(_) => Self::Unavailable(e.to_string()),
            G::Missing | G::Invalid(_) | G::Failed { .. } | G::NotFound(_) => Self::Refused(e.to_string()),
        }
    }
}
