//! Asks the forge again where repositories are, and whether one is archived.

use super::repository::{Repositories, request};
use crate::config::process::Repository;
use crate::trouble::Trouble;
use domain::Task;
use futures_util::{StreamExt, stream};
use std::sync::Arc;
use std::time::Duration;

/// How long the start waits for the forge.
const FIND: Duration = Duration::from_secs(5);
/// Requests at once: each takes a descriptor, of which a process often has only 1,024.
const LOOKS: usize = 32;

impl Repositories {
    /// Asks the forge where a task's repository is now; true if it moved since it was last seen.
    pub async fn find_again(&self, task: &Task) -> Result<bool, Trouble> {
        let key = &request(task)?.repository;
        let Some(entry) = self.config.repository(key) else { return Ok(false) };
        let before = self.addresses.at(&entry).ok();
        let now = self.addresses.look(&entry).await?;
        Ok(before.is_some_and(|before| before != now))
    }

    /// Why something is refused for certain, with what to do: that the repository is archived, where the forge says that it is; otherwise
    /// this sentence, in which git or the forge may not name the reason.
    pub async fn or_archived(&self, task: &Task, sentence: String) -> String {
        let Ok(entry) = self.configured(task) else { return sentence };
        let found = self.addresses.forge().locate(entry.id).await;
        found.ok().filter(|found| found.archived).map_or(sentence, |found| {
            format!("{}/{} is archived on the forge: un-archive it, then say `/resume`", found.owner, found.name)
        })
    }

    /// Looks up every repository by its id before the first round of readings; bounded in time.
    pub async fn find_all(&self) {
        let until = tokio::time::Instant::now() + FIND;
        let look = |entry: Arc<Repository>| async move {
            match tokio::time::timeout_at(until, self.addresses.look(&entry)).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => tracing::warn!(%error, key = entry.key, "the repository was not found by its id"),
                Err(_) => tracing::warn!(key = entry.key, "the forge does not say where the repository is"),
            }
        };
        stream::iter(self.config.repositories().to_vec()).for_each_concurrent(LOOKS, look).await;
    }
}
