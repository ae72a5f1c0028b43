//! The present forge addresses of the configured repositories, found by id, because a name may be reused by another repository, to which a
//! push would then go. No address is given before a repository was looked up in this life. Tests: below, and `tests/stories/unread.rs`.

use super::{Forge, ForgeError, RepoRef, Result};
use crate::config::process::Repository;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// The present owner and name of each configured repository, as looked up in this life of the process.
pub struct RepositoryAddresses {
    forge: Arc<dyn Forge>,
    /// By the repository's key.
    seen: RwLock<HashMap<String, AddressLookup>>,
}

#[derive(Clone)]
struct AddressLookup {
    /// The id that was looked up, because an entry may change while the process runs.
    id: i64,
    at: RepoRef,
    when: Instant,
}

impl RepositoryAddresses {
    /// Knows no repository until [`RepositoryAddresses::look`].
    pub fn new(forge: Arc<dyn Forge>) -> Self {
        Self { forge, seen: RwLock::default() }
    }

    /// The forge that is queried.
    pub fn forge(&self) -> &Arc<dyn Forge> {
        &self.forge
    }

    /// Its last known address.
    ///
    /// # Errors
    /// [`ForgeError::Unavailable`] before the first successful look-up.
    pub fn at(&self, entry: &Repository) -> Result<RepoRef> {
        self.seen(entry).map(|seen| seen.at).ok_or_else(|| ForgeError::Unavailable {
            text: format!("the repository {} was not found by its id yet", entry.key),
            retry_after_ms: None,
        })
    }

    /// Its last known address, if it was looked up within this time.
    pub fn recent(&self, entry: &Repository, within: Duration) -> Option<RepoRef> {
        self.seen(entry).filter(|seen| seen.when.elapsed() < within).map(|seen| seen.at)
    }

    fn seen(&self, entry: &Repository) -> Option<AddressLookup> {
        let seen = self.seen.read().unwrap_or_else(PoisonError::into_inner).get(&entry.key).cloned();
        seen.filter(|seen| seen.id == entry.id)
    }

    /// Looks up its present address on the forge.
    ///
    /// # Errors
    /// The forge's errors: [`ForgeError::NotFound`] when this account sees no such repository. The last known address is kept.
    pub async fn look(&self, entry: &Repository) -> Result<RepoRef> {
        let found = self.forge.locate(entry.id).await?;
        let now = RepoRef::new(found.owner, found.name);
        let mut seen = self.seen.write().unwrap_or_else(PoisonError::into_inner);
        let found = AddressLookup { id: entry.id, at: now.clone(), when: Instant::now() };
        let before = seen.insert(entry.key.clone(), found).filter(|seen| seen.id == entry.id).map(|seen| seen.at);
        if let Some(before) = before.filter(|before| *before != now) {
            tracing::warn!(key = entry.key, %before, %now, "the repository was renamed; it is followed");
        }
        Ok(now)
    }
}
