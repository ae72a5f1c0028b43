//! Keeps the forge's copy of a repository in step with what it was copied from: fetched from there, pushed to the protected branches by the
//! account that may. Nothing goes the other way by itself; a person may propose an approved commit there (`pull.rs`, by `fetch`).
//!
//! Owns what is moved (`sync.rs`), what GitHub says about one of its repositories (`github.rs`), and whether an upstream is still the same
//! repository (`source.rs`). A branch is only moved forward, and a tag
//! never, unless an operator names the commit that takes the place of another history. Must not decide when (`bot::upstreams`) or know tasks.
//! Tests: beside each file, and `tests/setup/upstream.rs`.

mod answers;
mod checks;
mod github;
mod issues;
mod pull;
mod source;
mod source_now;
mod sync;
#[cfg(test)]
mod sync_tests;

pub use answers::Answers;
pub use github::{GitHub, GitHubError, OnGitHub, name_in, name_of};
pub use issues::{IssueState, UpstreamIssue};
pub use pull::{NewPull, OpenPull};
pub use source::{Looked, Unconfirmed, confirmed, look};
pub use source_now::SourceNow;
pub use sync::{BranchRelation, Copy, ListingPair, Moved, SyncError, Synced, Tags};

use crate::config::Process;
use crate::config::process::{Repository, Upstream};
use crate::forge::RepoRef;
use crate::git::{Auth, Branch, GitError, RemoteUrl, Repos};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// Branches of agents lie below this name, which no branch of an upstream may have.
const AGENTS: &str = "agent";

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
        if branch.as_str().split('/').next() == Some(AGENTS) {
            return Err(GitError::Invalid(format!(
                "{name} is in the way of agents' branches here, and is not kept in step"
            )));
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

/// What a comparison gives; none where the repository has no upstream.
pub type Outcome = Result<Option<Synced>, SyncError>;

/// A comparison that is under way, for all who wait for it.
type UnderWay = Shared<BoxFuture<'static, Outcome>>;

/// Keeps the configured repositories in step, in the bot's own local repositories; of each, one comparison at a time.
pub struct Upstreams {
    config: Arc<Process>,
    repos: Repos,
    /// Of the account that may push to protected branches.
    auth: Auth,
    /// What GitHub answered before.
    answers: Answers,
    under_way: Mutex<HashMap<String, UnderWay>>,
    /// Keys of repositories for which somebody asked for a further round.
    asked: Mutex<HashSet<String>>,
}

impl Upstreams {
    /// `auth` is the credential of the account that keeps default branches in step.
    pub fn new(config: Arc<Process>, repos: Repos, auth: Auth) -> Arc<Self> {
        let (answers, under_way, asked) = (Answers::default(), Mutex::default(), Mutex::default());
        Arc::new(Self { config, repos, auth, answers, under_way, asked })
    }

    /// Has a round of this repository begin soon, whenever the next one is due.
    pub fn ask_for_round(&self, key: &str) {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned());
    }

    /// Whether somebody asked for a round of this repository that was not taken up yet.
    pub fn is_asked(&self, key: &str) -> bool {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).contains(key)
    }

    /// Whether somebody asked for a round of this repository, which is taken up by that.
    pub fn take_asked(&self, key: &str) -> bool {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).remove(key)
    }

    /// The GitHub server of an entry's upstream, and what the upstream is there now; none as in [`confirmed`].
    ///
    /// # Errors
    /// As [`confirmed`].
    pub async fn on_github(&self, entry: &Repository) -> Result<Option<(GitHub, SourceNow)>, SyncError> {
        let Some(source) = confirmed(&self.config.upstream, &self.answers, entry).await? else { return Ok(None) };
        let Some(host) = self.config.upstream.github_of(&entry.upstream) else { return Ok(None) };
        let github = GitHub::open(&host, &self.answers).map_err(|why| SyncError::Setup(GitError::Invalid(why)))?;
        Ok(Some((github, source)))
    }

    /// Brings over what may be brought; `at` is where the repository is on the forge now. Who asks while it is under way waits for the same. It
    /// goes on when nobody waits any more.
    ///
    /// # Errors
    /// Which side is unreachable or refuses; what was brought until then stays.
    pub async fn sync(self: &Arc<Self>, entry: &Arc<Repository>, at: RepoRef) -> Outcome {
        let run = {
            let mut all = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
            all.retain(|_, run| run.peek().is_none());
            all.entry(entry.key.clone()).or_insert_with(|| self.begin(entry.clone(), at)).clone()
        };
        run.await
    }

    fn begin(self: &Arc<Self>, entry: Arc<Repository>, at: RepoRef) -> UnderWay {
        let own = self.clone();
        let run = tokio::spawn(async move { own.compare(&entry, &at).await });
        let joined = async move {
            run.await
                .unwrap_or_else(|panic| Err(SyncError::Setup(GitError::Io(format!("the bot itself failed: {panic}")))))
        };
        joined.boxed().shared()
    }

    async fn compare(&self, entry: &Repository, at: &RepoRef) -> Outcome {
        if entry.upstream.is_empty() {
            return Ok(None);
        }
        let from = RemoteUrl::parse(&entry.upstream).map_err(SyncError::Setup)?;
        let credential = credential(&self.config.upstream, &from).map_err(SyncError::Setup)?;
        let to = on_forge(&self.config, at).map_err(SyncError::Setup)?;
        let branches = followed(entry).map_err(SyncError::Setup)?;
        let copy = Copy {
            key: &entry.key,
            from: (&from, credential.as_ref()),
            to: (&to, Some(&self.auth)),
            branches: &branches,
        };
        let looked = look((&self.config.upstream, &self.answers), &self.repos, &copy, entry).await?;
        let copy = Copy { from: (&looked.from, copy.from.1), ..copy };
        let synced = copy.sync_seen(&self.repos, &looked.seen, None).await?;
        Ok(Some(Synced { source: looked.source, ..synced }))
    }
}
