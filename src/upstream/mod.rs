//! Keeps the forge's copy of a repository in step with what it was copied from: fetched from there, pushed to the protected branches by the
//! account that may. Nothing goes the other way.
//!
//! Owns what is moved (`sync.rs`) and what GitHub says about one of its repositories (`github.rs`). A branch is only moved forward, and a tag
//! never, unless an operator names the commit that takes the place of another history. Must not decide when (`bot::upstreams`) or know tasks.
//! Tests: beside each file, and `tests/setup/upstream.rs`.

mod github;
mod sync;

pub use github::{GitHub, GitHubError, OnGitHub, name_of};
pub use sync::{Copy, Moved, Standing, SyncError, Synced, Tags};

use crate::config::Process;
use crate::config::process::{Repository, Upstream};
use crate::forge::RepoRef;
use crate::git::{Auth, Branch, GitError, RemoteUrl, Repos};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Branches of agents, which no upstream's branch of the same name may touch.
const AGENTS: &str = "agent/";

/// The credential for an upstream, if the configuration has one for its server; read anew each time, so that a new token needs no restart.
///
/// # Errors
/// When its file cannot be read.
pub fn credential(config: &Upstream, from: &RemoteUrl) -> Result<Option<Auth>, GitError> {
    let Some(host) = config.host_of(from.as_str()) else { return Ok(None) };
    let token = host.token().map_err(GitError::Invalid)?;
    Ok(token.map(|token| Auth::basic(&host.user, token.expose())))
}

/// The branches that are kept in step: the default branch first.
///
/// # Errors
/// When a name is no branch's, or one of an agent's.
pub fn followed(entry: &Repository) -> Result<Vec<Branch>, GitError> {
    let mut all: Vec<Branch> = Vec::new();
    for name in std::iter::once(&entry.default_branch).chain(&entry.branches) {
        let branch = Branch::parse(name)?;
        if branch.as_str().starts_with(AGENTS) {
            return Err(GitError::Invalid(format!("{name} is a branch of an agent's here, and is not kept in step")));
        }
        if !all.contains(&branch) {
            all.push(branch);
        }
    }
    Ok(all)
}

/// The address of a repository on the forge, as git reaches it.
///
/// # Errors
/// When no forge is configured.
pub fn on_forge(config: &Process, at: &RepoRef) -> Result<RemoteUrl, GitError> {
    let base = config.forge.url.as_ref().ok_or_else(|| GitError::Invalid("forge.url is not configured".to_owned()))?;
    RemoteUrl::parse(&format!("{}/{at}.git", base.as_str().trim_end_matches('/')))
}

/// Keeps the configured repositories in step, in the bot's own local repositories; of each, one comparison at a time.
pub struct Upstreams {
    config: Arc<Process>,
    repos: Repos,
    /// Of the account that may push to protected branches.
    auth: Auth,
    busy: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

impl Upstreams {
    /// `auth` is the credential of the account that keeps default branches in step.
    pub fn new(config: Arc<Process>, repos: Repos, auth: Auth) -> Self {
        Self { config, repos, auth, busy: Mutex::default() }
    }

    /// Brings over what may be brought; `at` is where the repository is on the forge now. None where it has no upstream that this host can
    /// read by its address.
    ///
    /// # Errors
    /// Which side is unreachable or refuses; what was brought until then stays.
    pub async fn sync(&self, entry: &Repository, at: &RepoRef) -> Result<Option<Synced>, SyncError> {
        if entry.upstream.is_empty() {
            return Ok(None);
        }
        let one = {
            let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
            busy.entry(entry.key.clone()).or_default().clone()
        };
        let _one = one.lock().await;
        let from = RemoteUrl::parse(&entry.upstream)?;
        let credential = credential(&self.config.upstream, &from)?;
        let to = on_forge(&self.config, at)?;
        let branches = followed(entry)?;
        let copy = Copy {
            key: &entry.key,
            from: (&from, credential.as_ref()),
            to: (&to, Some(&self.auth)),
            branches: &branches,
        };
        copy.sync(&self.repos, None).await.map(Some)
    }
}
