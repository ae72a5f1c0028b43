//! Follows a repository by its id after a change of name or owner, and tells people with a task there.

use super::Feed;
use crate::config::process::Repository;
use crate::forge::{RepoRef, RepositoryAddresses};
use crate::store::{Address, Store, unless_unreadable};
use crate::trouble::Trouble;
use domain::{Input, Notice, TaskId};
use std::sync::Arc;

/// Follows repositories that were renamed or given away.
pub struct Moves {
    pub(super) store: Store,
    pub(super) addresses: Arc<RepositoryAddresses>,
}

impl Moves {
    /// Asks the forge where the repository is now, and tells its live tasks of a new name once. Of another repository that had this key before,
    /// by an entry of the file, nothing counts for this one.
    pub async fn find(&self, entry: &Repository, feed: &dyn Feed) -> Result<RepoRef, Trouble> {
        let now = self.addresses.look(entry).await?;
        let known = self.store.address(&entry.key).await?;
        if known.as_ref().is_some_and(|known| known.forge_id != entry.id) {
            tracing::warn!(
                key = entry.key,
                id = entry.id,
                "another repository has this key now: the one before is forgotten"
            );
            self.store.forget_repository(&entry.key).await?;
        }
        let kept = known.filter(|kept| kept.forge_id == entry.id);
        let (owner, name) = kept.as_ref().map_or((&entry.owner, &entry.name), |kept| (&kept.owner, &kept.name));
        let before = RepoRef::new(owner, name);
        if kept.is_some() && before == now {
            return Ok(now);
        }
        let same = before.to_string().eq_ignore_ascii_case(&now.to_string());
        for row in self.store.live_tasks().await?.iter().filter(|row| row.repository == entry.key && !same) {
            let (id, notice) = (TaskId(row.id), Notice::Moved { from: before.to_string(), to: now.to_string() });
            let taken = feed.feed(id, &format!("moved:{id}:{now}"), Input::Noticed { notice }).await;
            unless_unreadable(id, taken)?;
        }
        let (owner, name) = (now.owner.clone(), now.name.clone());
        let seen = Address { repository: entry.key.clone(), forge_id: entry.id, owner, name };
        self.store.keep_address(seen).await?;
        Ok(now)
    }

    /// Checks that what was just read at this name was this repository's. Another one may have taken the name since it was looked up, and
    /// what is said or closed there must not count here.
    ///
    /// # Errors
    /// [`Trouble::Moved`] if it was not; it is then read again at the new place.
    pub async fn was_at(&self, entry: &Repository, at: &RepoRef, feed: &dyn Feed) -> Result<(), Trouble> {
        let now = self.find(entry, feed).await?;
        if now == *at {
            return Ok(());
        }
        Err(Trouble::Moved { sentence: format!("{at} is not the repository {}, which is {now} now", entry.key) })
    }
}
