//! Who else would run or read a push to a repository: asked before anything begins, and before each push.

use super::repository::Repository;
use crate::config::Process;
use crate::forge::{Forge, is_accepted};
use crate::trouble::Trouble;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How old a look for listeners may be when a push relies on it.
const A_MOMENT: Duration = Duration::from_secs(10);

/// Looks for foreign listeners.
pub struct Listeners {
    config: Arc<Process>,
    forge: Arc<dyn Forge>,
    /// When each repository was last seen to have none.
    seen: Mutex<HashMap<String, Instant>>,
}

impl Listeners {
    /// Has seen no repository yet.
    pub fn new(config: Arc<Process>, forge: Arc<dyn Forge>) -> Self {
        Self { config, forge, seen: Mutex::default() }
    }

    /// Looks ahead, while the tree is taken: [`Listeners::nobody_now`] then takes the answer once. What goes wrong here shows there.
    pub(super) async fn look_ahead(&self, repository: &Repository) {
        if self.nobody(repository).await.is_ok()
            && let Ok(mut seen) = self.seen.lock()
        {
            seen.insert(repository.key.clone(), Instant::now());
        }
    }

    /// Before a push: asked now, unless it was asked a moment ago.
    pub(super) async fn nobody_now(&self, repository: &Repository) -> Result<(), Trouble> {
        let seen = self.seen.lock().ok().and_then(|mut seen| seen.remove(&repository.key));
        match seen {
            Some(at) if at.elapsed() < A_MOMENT => Ok(()),
            _ => self.nobody(repository).await,
        }
    }

    /// Whatever else would run or read a push refuses the repository until the operator accepts it by name (security 16).
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
