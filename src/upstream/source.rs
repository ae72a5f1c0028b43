//! Whether an upstream on GitHub is still the repository that was added: GitHub's number of it stays when it is renamed, while its name may
//! come to mean another one. Asked only where something would be brought, or where git is sent elsewhere, so that an upstream in which
//! nothing happens costs no request. Tests: `tests/setup/upstream.rs`.

use super::answers::Answers;
use super::github::{GitHub, GitHubError, OnGitHub, name_in};
use super::source_now::SourceNow;
use super::sync::{Copy, ListingPair, SyncError};
use crate::config::process::{Repository, Upstream};
use crate::git::{GitError, Meaning, RemoteUrl, Repos};

/// Both sides of a comparison.
pub struct Looked {
    /// The address at which the upstream is now.
    pub from: RemoteUrl,
    /// What each side has.
    pub seen: ListingPair,
    /// What GitHub said, where it was asked.
    pub source: Option<SourceNow>,
}

/// Looks at both sides, and asks GitHub where that is necessary.
///
/// # Errors
/// As [`Copy::look`]; [`SyncError::Another`] or [`SyncError::Unsure`] where the upstream is not, or may not be, the repository that was added.
pub async fn look(
    (config, answers): (&Upstream, &Answers),
    repos: &Repos,
    copy: &Copy<'_>,
    entry: &Repository,
) -> Result<Looked, SyncError> {
    let before = copy.look(repos).await;
    let asked = match &before {
        // An entry from before the number was kept learns it.
        Ok(seen) => !seen.is_in_step(copy.branches) || (entry.from_store && entry.upstream_id == 0),
        Err(SyncError::Upstream(error)) => match error.meaning() {
            Meaning::Moved | Meaning::Missing | Meaning::Forbidden => true,
            Meaning::Away | Meaning::Lasting => false,
        },
        Err(_) => false,
    };
    let source = match asked {
        true => confirmed(config, answers, entry).await,
        false => Ok(None),
    };
    match source {
        Err(another @ SyncError::Another { .. }) => Err(another),
        // What git said comes first.
        Err(error) => Err(before.err().unwrap_or(error)),
        Ok(Some(source)) if source.renamed => {
            let there = Copy { from: (&source.address, copy.from.1), ..*copy };
            let seen = there.look(repos).await?;
            Ok(Looked { from: source.address.clone(), seen, source: Some(source) })
        }
        Ok(source) => Ok(Looked { from: copy.from.0.clone(), seen: before?, source }),
    }
}

/// What GitHub says of an entry's upstream; none where that is not on a server with GitHub's API, or where neither its number is known nor
/// GitHub tells it: then git alone decides, as it does for every other server.
///
/// # Errors
/// [`SyncError::Another`] and [`SyncError::Unsure`].
pub async fn confirmed(
    config: &Upstream,
    answers: &Answers,
    entry: &Repository,
) -> Result<Option<SourceNow>, SyncError> {
    let Some((host, name)) = config.github_of(&entry.upstream).zip(name_in(&entry.upstream)) else { return Ok(None) };
    let github = GitHub::open(&host, answers).map_err(|why| SyncError::Setup(GitError::Invalid(why)))?;
    let known = entry.upstream_id;
    match github.source_now(&name, known).await {
        // Nobody said which of the two was meant.
        Ok(source) if known == 0 && source.renamed => Ok(None),
        Ok(source) => Ok(Some(source)),
        Err(Unconfirmed::GitHub(_) | Unconfirmed::Address(_)) if known == 0 => Ok(None),
        Err(Unconfirmed::GitHub(error)) => Err(unsure(&error)),
        Err(Unconfirmed::Address(error)) => Err(SyncError::Setup(error)),
        Err(Unconfirmed::Another { found }) => Err(SyncError::Another { key: entry.key.clone(), name, known, found }),
    }
}

/// Why an upstream on GitHub is not known to be the repository that was added.
#[derive(Debug, thiserror::Error)]
pub enum Unconfirmed {
    /// GitHub does not say.
    #[error(transparent)]
    GitHub(GitHubError),
    /// Its present name makes no address.
    #[error(transparent)]
    Address(GitError),
    /// Its name means another repository now.
    #[error("the name means another repository now (number {found})")]
    Another {
        /// GitHub's number of the one that has the name now.
        found: u64,
    },
}

impl GitHub {
    /// Where the repository `name` is now, whose number is `known`, if it is not 0.
    ///
    /// # Errors
    /// [`Unconfirmed`].
    pub async fn source_now(&self, name: &str, known: u64) -> Result<SourceNow, Unconfirmed> {
        let found = self.repository(name).await.map_err(Unconfirmed::GitHub)?;
        self.source_in(&found, name, known)
    }

    /// As [`GitHub::source_now`], of what GitHub said of the repository `name`.
    ///
    /// # Errors
    /// [`Unconfirmed`], but not that GitHub does not say.
    pub fn source_in(&self, found: &OnGitHub, name: &str, known: u64) -> Result<SourceNow, Unconfirmed> {
        if known != 0 && known != found.id {
            return Err(Unconfirmed::Another { found: found.id });
        }
        let address = self.address(&found.full_name).map_err(Unconfirmed::Address)?;
        let renamed = !found.full_name.eq_ignore_ascii_case(name);
        Ok(SourceNow { id: found.id, name: found.full_name.clone(), address, renamed })
    }
}

fn unsure(error: &GitHubError) -> SyncError {
    SyncError::Unsure { gone: matches!(error, GitHubError::NotFound { .. }), why: error.to_string() }
}
