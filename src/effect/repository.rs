//! A task's repository: its place on the forge, and who else would read a push to it.

use super::{EffectRunner, Trouble};
use crate::forge::{RepoRef, is_accepted};
use crate::git::{Branch, RemoteUrl};
use domain::{Commit, Request, Task};
use std::time::{Duration, Instant};

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
    /// What else may run or read a push: names that the operator accepted, as [`crate::forge::ForgeReads::foreign`] gives
    /// them.
    pub accepted_foreign: Vec<String>,
}

impl EffectRunner {
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

    /// Looks ahead, while the tree is taken: [`EffectRunner::nobody_listens_now`] then takes the answer once. What goes wrong here shows there.
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
