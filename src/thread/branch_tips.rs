//! The commits at which branches end on the forge now, and the bot's own repositories, into which they are fetched.

use crate::config::Process;
use crate::config::process::Repository;
use crate::forge::{Forge, IssueLocks, RepositoryAddresses};
use crate::git::{Auth, GitError, Meaning, RemoteUrl, Repos};
use crate::trouble::Trouble;
use crate::upstream::on_forge;
use domain::{Commit, Task};
use std::sync::Arc;

/// Reads where branches end, and fetches what is missing here.
pub(super) struct BranchTips {
    pub config: Arc<Process>,
    pub forge: Arc<dyn Forge>,
    pub addresses: Arc<RepositoryAddresses>,
    /// The bot's own repositories.
    pub repos: Repos,
    /// What they are fetched with.
    pub auth: Auth,
    /// One reading with its fetch at a time of each repository.
    pub reading: IssueLocks,
}

impl BranchTips {
    /// Fetches a commit of the forge's that is not here yet.
    pub async fn bring(&self, entry: &Repository, commit: &Commit) -> Result<(), Trouble> {
        // An error: nothing was ever fetched of this repository.
        if !matches!(self.repos.has(&entry.key, commit).await, Ok(true)) {
            self.repos.fetch(&entry.key, &self.url(entry)?, Some(&self.auth)).await?;
        }
        Ok(())
    }

    /// Where the repository is on the forge now.
    fn url(&self, entry: &Repository) -> Result<RemoteUrl, Trouble> {
        Ok(on_forge(&self.config, &self.addresses.at(entry)?)?)
    }

    /// Whether a commit is here or on the forge, from which it is then fetched.
    pub async fn is_there(&self, entry: &Repository, commit: &Commit) -> Result<bool, Trouble> {
        if matches!(self.repos.has(&entry.key, commit).await, Ok(true)) {
            return Ok(true);
        }
        match self.repos.fetch_commit(&entry.key, &self.url(entry)?, Some(&self.auth), commit).await {
            Ok(()) => Ok(true),
            Err(error @ GitError::Failed { .. }) if error.meaning() == Meaning::Lasting => Ok(false),
            Err(other) => Err(other.into()),
        }
    }

    /// Sees to it that a commit of the forge's is here. One that its branches do not bring is asked for again later.
    pub async fn here(&self, entry: &Repository, commit: &Commit) -> Result<(), Trouble> {
        self.bring(entry, commit).await?;
        match self.repos.has(&entry.key, commit).await {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(Trouble::later(format!("the commit {} is not here", commit.short()))),
        }
    }

    /// The newest commit of the default branch, which is here then; none where there is no such branch yet.
    pub async fn fetched_tip(&self, entry: &Repository) -> Result<Option<Commit>, Trouble> {
        let _one = self.reading.enter(&entry.key, 0).await;
        let Some(commit) = self.tip_of_default(entry).await.map_err(not_now)? else { return Ok(None) };
        self.bring(entry, &commit).await.map_err(not_now)?;
        Ok(Some(commit))
    }

    /// The newest commit of the default branch; none where there is no such branch yet.
    pub async fn tip_of_default(&self, entry: &Repository) -> Result<Option<Commit>, Trouble> {
        let Some(tip) = self.forge.branch(&self.addresses.at(entry)?, &entry.default_branch).await? else {
            return Ok(None);
        };
        let commit = Commit::parse(&tip);
        Ok(Some(commit.map_err(|_| Trouble::later("the forge names no commit for the default branch"))?))
    }

    /// The commit at which the task's base branch ends now; none where there is no such branch.
    pub async fn tip_of_base(&self, entry: &Repository, task: &Task) -> Result<Option<Commit>, Trouble> {
        let Some(request) = &task.request else { return Ok(None) };
        let tip = self.forge.branch(&self.addresses.at(entry)?, &request.base_branch).await?;
        Ok(tip.and_then(|commit| Commit::parse(&commit).ok()))
    }
}

/// A default branch that cannot be read is no verdict about the issue that is being read.
pub(super) fn not_now(trouble: Trouble) -> Trouble {
    match trouble {
        Trouble::Moved { .. } | Trouble::Later { .. } => trouble,
        Trouble::Doubtful { sentence, .. } => Trouble::later(sentence),
        Trouble::Failed(_) => Trouble::later(trouble.to_string()),
    }
}
