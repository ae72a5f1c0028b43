//! A task's repository: its place on the forge now.

use super::EffectRunner;
use crate::config::process::Repository as Entry;
use crate::forge::RepoRef;
use crate::git::{Branch, RemoteUrl};
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

impl EffectRunner {
    pub(super) fn request<'a>(&self, task: &'a Task) -> Result<&'a Request, Trouble> {
        task.request.as_ref().ok_or_else(|| Trouble::blocked("the task has no request in its log"))
    }

    /// What is configured for a task's repository; nothing goes on where that was taken out.
    pub(super) fn configured(&self, task: &Task) -> Result<Arc<Entry>, Trouble> {
        let key = &self.request(task)?.repository;
        self.config.repository(key).ok_or_else(|| {
            Trouble::blocked(format!("the repository {key} is not configured any more; add it with `caisson repo add`"))
        })
    }

    pub(super) fn repository(&self, task: &Task) -> Result<Repository, Trouble> {
        let entry = self.configured(task)?;
        let at = self.whereabouts.at(&entry)?;
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

    pub(super) fn branch(&self, task: &Task) -> Result<Branch, Trouble> {
        Ok(Branch::parse(&self.request(task)?.branch)?)
    }

    pub(super) fn base(&self, task: &Task) -> Result<Commit, Trouble> {
        task.base.clone().ok_or_else(|| Trouble::blocked("the task has no base yet"))
    }
}
