//! Looks for others that would run or read a push to a repository, before a task begins and before each push.

use super::repository::Repository;
use crate::config::Process;
use crate::forge::{Forge, is_accepted};
use crate::trouble::Trouble;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Maximum age of a look that a push relies on.
const A_MOMENT: Duration = Duration::from_secs(10);

/// Looks for hooks, runners and keys of others.
pub struct Listeners {
    config: Arc<Process>,
    forge: Arc<dyn Forge>,
    /// When each repository was last found to have none.
    seen: Mutex<HashMap<String, Instant>>,
}

impl Listeners {
    /// Starts without any look.
    pub fn new(config: Arc<Process>, forge: Arc<dyn Forge>) -> Self {
        Self { config, forge, seen: Mutex::default() }
    }

    /// Looks ahead, while the tree is captured; [`Listeners::nobody_now`] then uses the result once. Errors show there.
    pub(super) async fn look_ahead(&self, repository: &Repository) {
        if self.nobody(repository).await.is_ok()
            && let Ok(mut seen) = self.seen.lock()
        {
            seen.insert(repository.key.clone(), Instant::now());
        }
    }

    /// Before a push: looks now, unless it was done a moment ago.
    pub(super) async fn nobody_now(&self, repository: &Repository) -> Result<(), Trouble> {
        let seen = self.seen.lock().ok().and_then(|mut seen| seen.remove(&repository.key));
        match seen {
            Some(at) if at.elapsed() < A_MOMENT => Ok(()),
            _ => self.nobody(repository).await,
        }
    }

    /// Refuses the repository if anything else would run or read a push, until the operator accepts that by name.
    pub(super) async fn nobody(&self, repository: &Repository) -> Result<(), Trouble> {
        let mut foreign = self.forge.foreign(&repository.at, &self.config.hook_url(&repository.key)).await?;
        foreign.retain(|name| !is_accepted(name, &repository.accepted_foreign));
        if foreign.is_empty() {
            return Ok(());
        }
        Err(Trouble::blocked(format!(
            "a push to {} would also reach: {}. Remove it on the forge, or accept it by name with `caisson repo add --accept-foreign`",
            repository.at,
            foreign.join(", ")
        )))
    }
}
