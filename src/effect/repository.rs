//! What holds for a task's repository: its place on the forge, and the project file pinned at the task's base.

use super::{Performer, Trouble};
use crate::config::Process;
use crate::config::process::Network;
use crate::config::project::{Effective, Granted, Project};
use crate::forge::{RepoRef, is_accepted};
use crate::git::{Branch, RemoteUrl};
use domain::{ACTIONS_PER_CHECKPOINT, Commit, Request, Task};
use protocol::broker::ChamberLimits;
use protocol::router::Rule;
use std::time::{Duration, Instant};

const PROJECT_FILE: &str = ".caisson.toml";
const PROJECT_BYTES: u64 = 64 << 10;
/// How old a look for listeners may be when a push relies on it.
const A_MOMENT: Duration = Duration::from_secs(10);

/// A configured repository, ready to be used.
pub struct Repository {
    /// The repository's key in the configuration.
    pub key: String,
    /// Its owner and name on the forge now.
    pub at: RepoRef,
    /// The address that git fetches from and pushes to.
    pub url: RemoteUrl,
    /// Hash of the project file that the operator accepted; none where none was.
    pub accepted: Option<String>,
    /// What else may run or read a push: names that the operator accepted, as [`crate::forge::Forge::foreign`] gives
    /// them.
    pub accepted_foreign: Vec<String>,
}

/// What an operator grants every task.
pub(crate) fn granted(config: &Process) -> Granted {
    Granted {
        image: config.sandbox.image.clone(),
        images: config.sandbox.images.clone(),
        toolchains: config.sandbox.offered().map(|(name, image)| (name.to_owned(), image.to_owned())).collect(),
        egress: config.egress.allowed(),
        every: ACTIONS_PER_CHECKPOINT,
        budget: config.budget.granted(),
    }
}

impl Performer {
    pub(super) fn request<'a>(&self, task: &'a Task) -> Result<&'a Request, Trouble> {
        task.request.as_ref().ok_or_else(|| Trouble::blocked("the task has no request in its log"))
    }

    pub(super) fn repository(&self, task: &Task) -> Result<Repository, Trouble> {
        let key = &self.request(task)?.repository;
        let entry = self.config.repository(key).ok_or_else(|| {
            Trouble::blocked(format!("the repository {key} is not configured any more; add it with `caisson repo add`"))
        })?;
        let at = self.whereabouts.at(entry)?;
        let base = self.config.forge.url.as_ref().ok_or_else(|| Trouble::blocked("forge.url is not configured"))?;
        let url = format!("{}/{at}.git", base.as_str().trim_end_matches('/'));
        Ok(Repository {
            key: key.clone(),
            at,
            url: RemoteUrl::parse(&url)?,
            accepted: Some(entry.accepted.clone()).filter(|hash| !hash.is_empty()),
            accepted_foreign: entry.accepted_foreign.clone(),
        })
    }

    pub(super) fn branch(&self, task: &Task) -> Result<Branch, Trouble> {
        Ok(Branch::parse(&self.request(task)?.branch)?)
    }

    pub(super) fn base(&self, task: &Task) -> Result<Commit, Trouble> {
        task.base.clone().ok_or_else(|| Trouble::blocked("the task has no base yet"))
    }

    /// The project file as it stands at the task's base, within what the operator granted.
    pub(super) async fn effective(
        &self,
        repository: &Repository,
        base: &Commit,
    ) -> Result<(Project, Effective), Trouble> {
        let file = self.repos.show(&repository.key, base, PROJECT_FILE, PROJECT_BYTES).await?;
        let project = match file {
            Some(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                Project::parse(PROJECT_FILE, &text).map_err(|e| Trouble::blocked(e.to_string()))?
            }
            None => Project::default(),
        };
        let effective = project.within(&granted(&self.config), repository.accepted.as_deref());
        Ok((project, effective))
    }

    /// What a sandbox of this task may reach.
    pub(super) fn rules(&self, effective: &Effective) -> Vec<Rule> {
        let denied = self.denied();
        let mut rules = granted(&self.config).egress;
        rules.extend(effective.egress.iter().cloned());
        rules.retain(|rule| crate::egress::overruled(&denied, rule).is_none());
        rules
    }

    /// What the operator denies, whoever allows it.
    pub(super) fn denied(&self) -> Vec<Rule> {
        self.config.egress.denied()
    }

    pub(super) fn networked(&self) -> bool {
        self.config.sandbox.network == Network::Router
    }

    pub(super) fn chamber_limits(&self) -> ChamberLimits {
        self.config.sandbox.limits()
    }

    /// Looks ahead, while the tree is taken: [`Performer::nobody_listens_now`] then takes the answer once. What goes wrong here shows there.
    pub(super) async fn look_for_listeners(&self, repository: &Repository) {
        if self.nobody_listens(repository).await.is_ok()
            && let Ok(mut listened) = self.listened.lock()
        {
            listened.insert(repository.key.clone(), Instant::now());
        }
    }

    /// Before a push: asked now, unless it was asked a moment ago.
    pub(super) async fn nobody_listens_now(&self, repository: &Repository) -> Result<(), Trouble> {
        let seen = self.listened.lock().ok().and_then(|mut listened| listened.remove(&repository.key));
        match seen {
            Some(at) if at.elapsed() < A_MOMENT => Ok(()),
            _ => self.nobody_listens(repository).await,
        }
    }

    /// Whatever else would run or read a push refuses the repository until the operator accepts it by name (security 16).
    pub(super) async fn nobody_listens(&self, repository: &Repository) -> Result<(), Trouble> {
        let mut foreign = self.forge.foreign(&repository.at, &self.config.hook_url(&repository.key)).await?;
        foreign.retain(|name| !is_accepted(name, &repository.accepted_foreign));
        if foreign.is_empty() {
            return Ok(());
        }
        Err(Trouble::blocked(format!(
            "a push to {} would also reach: {}. Remove it on the forge, or accept it by name with `caisson repo add --accept-foreign`",
            repository.at,
            foreign.join(", ")
        )))
    }
}
