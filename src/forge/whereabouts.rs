//! Where each configured repository is on the forge now. It is known by its id: a name can be given to another repository, and then
//! a push would go there.
//!
//! Nothing is said of a repository before it was looked up once in this life. Tests: below, and `tests/stories/unread.rs`.

use super::{Forge, ForgeError, RepoRef, Result};
use crate::config::process::Repository;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// The present owner and name of each configured repository, as the forge told them in this life of the process.
pub struct Whereabouts {
    forge: Arc<dyn Forge>,
    /// By the repository's key in the configuration, with the id that was looked for: an entry may be changed while the process runs.
    seen: RwLock<HashMap<String, (i64, RepoRef)>>,
}

impl Whereabouts {
    /// Knows no repository yet: each is looked up by [`Whereabouts::look`].
    pub fn new(forge: Arc<dyn Forge>) -> Self {
        Self { forge, seen: RwLock::default() }
    }

    /// The forge that is asked.
    pub fn forge(&self) -> &Arc<dyn Forge> {
        &self.forge
    }

    /// Where it was seen last.
    ///
    /// # Errors
    /// [`ForgeError::Unavailable`] before the first look that was answered.
    pub fn at(&self, entry: &Repository) -> Result<RepoRef> {
        let seen = self.seen.read().unwrap_or_else(PoisonError::into_inner).get(&entry.key).cloned();
        let seen = seen.filter(|(id, _)| *id == entry.id).map(|(_, at)| at);
        seen.ok_or_else(|| ForgeError::Unavailable {
            text: format!("the repository {} was not found by its id yet", entry.key),
            retry_after_ms: None,
        })
    }

    /// Asks the forge where it is now.
    ///
    /// # Errors
    /// The forge's own: [`ForgeError::NotFound`] when there is no such repository for this account. What was seen before stays.
    pub async fn look(&self, entry: &Repository) -> Result<RepoRef> {
        let found = self.forge.locate(entry.id).await?;
        let now = RepoRef::new(found.owner, found.name);
        let mut seen = self.seen.write().unwrap_or_else(PoisonError::into_inner);
        let before = seen.insert(entry.key.clone(), (entry.id, now.clone())).filter(|(id, _)| *id == entry.id);
        if let Some((_, before)) = before.filter(|(_, before)| *before != now) {
            tracing::warn!(key = entry.key, %before, %now, "the repository was renamed; it is followed");
        }
        Ok(now)
    }
}
