//! The repository of a task: its place on the forge now, and its commits on this host.

use super::known_commits::KnownCommits;
use crate::config::process::Repository as Entry;
use crate::config::project::Project;
use crate::config::{Process, Secret};
use crate::forge::{RepoRef, RepositoryAddresses};
use crate::git::{Auth, Branch, RemoteUrl, Repos};
use crate::policy::Rules;
use crate::store::Store;
use crate::trouble::Trouble;
use domain::{Commit, Request, Task};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// A configured repository at its present place.
pub struct Repository {
    /// The repository's key in the configuration.
    pub key: String,
    /// Its owner and name on the forge now.
    pub at: RepoRef,
    /// The URL that git fetches from and pushes to.
    pub url: RemoteUrl,
    /// Hash of the project file that the operator accepted; none if none was.
    pub accepted: Option<String>,
    /// Names of hooks, runners and keys that the operator accepted although they may run or read a push, as given by
    /// [`crate::forge::ForgeReads::foreign`].
    pub accepted_foreign: Vec<String>,
}

/// The project file of a commit.
pub(super) struct ProjectWithRules {
    pub project: Project,
    /// The rules about single actions: the operator's and the file's own.
    pub rules: Rules,
    /// Why no work begins on this commit, although work that has begun on it goes on.
    pub mistake: Option<String>,
}

/// The configured repositories: their places on the forge, their commits on this host, and their policies.
pub struct Repositories {
    /// The configuration of this process.
    pub config: Arc<Process>,
    /// Holds grants, and packs for other hosts.
    pub store: Store,
    /// Finds where each configured repository is on the forge now.
    pub addresses: Arc<RepositoryAddresses>,
    /// The bot's bare repositories in the state directory.
    pub repos: Repos,
    /// The credential with which git fetches from and pushes to the forge.
    pub auth: Auth,
    /// Key of the tags of packs in the store; the key of marks, which all hosts share.
    pub pack_key: Secret,
    /// Which commits are known to be in `repos`.
    pub known_commits: KnownCommits,
    /// Cache of project files by the repository's key and the commit, because reading one for each action would cost more than the action.
    pub(super) projects: Mutex<HashMap<(String, Commit), Arc<ProjectWithRules>>>,
}

impl Repositories {
    /// The configuration of a task's repository; an error if it was removed.
    pub(super) fn configured(&self, task: &Task) -> Result<Arc<Entry>, Trouble> {
        let key = &request(task)?.repository;
        self.config.repository(key).ok_or_else(|| {
            Trouble::blocked(format!("the repository {key} is not configured any more; add it with `caisson repo add`"))
        })
    }

    /// The task's repository at its present place.
    pub(super) fn of(&self, task: &Task) -> Result<Repository, Trouble> {
        self.entry(&*self.configured(task)?)
    }

    /// A configured repository at its present place.
    pub(super) fn entry(&self, entry: &Entry) -> Result<Repository, Trouble> {
        let at = self.addresses.at(entry)?;
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

/// The task's request.
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

/// The newest commit of its work, which may not be on any branch; before the first, the base.
pub(super) fn head(task: &Task) -> Result<Commit, Trouble> {
    task.kept.clone().or_else(|| task.head.clone()).map_or_else(|| base(task), Ok)
}
