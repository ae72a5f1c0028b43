//! A task's repository: its place on the forge now, and what is known of its commits.

use super::here::Here;
use crate::config::process::Repository as Entry;
use crate::config::{Process, Secret};
use crate::forge::{RepoRef, Whereabouts};
use crate::git::{Auth, Branch, RemoteUrl, Repos};
use crate::store::Store;
use crate::trouble::Trouble;
use domain::{Commit, Request, Task};
use std::sync::Arc;

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

/// The configured repositories: where each is on the forge, its commits on this host, and what holds for work in it.
pub struct Repositories {
    /// The configuration of this process.
    pub config: Arc<Process>,
    /// Where grants, and commits that wait for another host, are kept.
    pub store: Store,
    /// Where each configured repository is on the forge now.
    pub whereabouts: Arc<Whereabouts>,
    /// The bot's bare repositories in the state directory.
    pub repos: Repos,
    /// The credential with which git fetches from and pushes to the forge.
    pub auth: Auth,
    /// Tags commits that wait in the store for another host; the key of marks, which all hosts share.
    pub pack_key: Secret,
    /// Which commits are known to be in `repos`.
    pub here: Here,
}

impl Repositories {
    /// What is configured for a task's repository; nothing goes on where that was taken out.
    pub(super) fn configured(&self, task: &Task) -> Result<Arc<Entry>, Trouble> {
        let key = &request(task)?.repository;
        self.config.repository(key).ok_or_else(|| {
            Trouble::blocked(format!("the repository {key} is not configured any more; add it with `caisson repo add`"))
        })
    }

    /// The task's repository as it is now.
    pub(super) fn of(&self, task: &Task) -> Result<Repository, Trouble> {
        self.entry(&*self.configured(task)?)
    }

    /// A configured repository as it is now.
    pub(super) fn entry(&self, entry: &Entry) -> Result<Repository, Trouble> {
        let at = self.whereabouts.at(entry)?;
        let base = self.config.forge.url.as_ref().ok_or_else(|| Trouble::blocked("forge.url is not configured"))?;
        let url = format!("{}/{at}.git", base.as_str().trim_end_matches('/'));
        Ok(Repository {
            key: entry.key.clone(),
            at,
            url: RemoteUrl::parse(&url)?,
            accepted: Some(entry.accepted.clone()).filter(|hash| !hash.is_empty()),
            accepted_foreign: entry.accepted_foreign.clone(),
        })
    }
}

/// What was asked for.
pub(super) fn request(task: &Task) -> Result<&Request, Trouble> {
    task.request.as_ref().ok_or_else(|| Trouble::blocked("the task has no request in its log"))
}

/// The agent's branch.
pub(super) fn branch(task: &Task) -> Result<Branch, Trouble> {
    Ok(Branch::parse(&request(task)?.branch)?)
}

/// The commit that the work began from.
pub(super) fn base(task: &Task) -> Result<Commit, Trouble> {
    task.base.clone().ok_or_else(|| Trouble::blocked("the task has no base yet"))
}

/// The newest commit of its work, also one that no branch has; the base before the first.
pub(super) fn head(task: &Task) -> Result<Commit, Trouble> {
    task.kept.clone().or_else(|| task.head.clone()).map_or_else(|| base(task), Ok)
}
