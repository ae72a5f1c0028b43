//! Looks for others that would run or read a push to a repository, before a task begins and before each push.

use super::repository::Repository;
use crate::config::Process;
use crate::forge::{Forge, is_accepted, named};
use crate::text::{code, shell_word};
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
        Err(Trouble::blocked(refusal(repository, &foreign)))
    }
}

/// What people are told of others that would run or read a push, with what an operator says to accept them: `repo add` takes the names that it is
/// given for all that are accepted, so those of before are among them. With a comma between, because adjacent code is shown as one piece and cut.
fn refusal(repository: &Repository, foreign: &[String]) -> String {
    let each: Vec<String> = foreign.iter().map(|name| code(name)).collect();
    let all = repository.accepted_foreign.iter().map(|name| named(name)).chain(foreign.iter().cloned());
    let accepting: Vec<String> = all.map(|name| code(&format!("--accept-foreign {}", shell_word(&name)))).collect();
    format!(
        "a push to {} would also reach: {}. Remove that on the forge, or accept it: repeat the `caisson repo add` by which the repository was added, with {}, or name it in its `accepted_foreign` where it is in the configuration file",
        repository.at,
        each.join(", "),
        accepting.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forge::RepoRef;
    use crate::git::RemoteUrl;
    use crate::text::prose;

    #[test]
    fn what_is_to_be_typed_is_told_with_what_was_accepted_before() {
        let repository = Repository {
            key: "shop".to_owned(),
            at: RepoRef::new("alice", "shop"),
            url: RemoteUrl::parse("https://forge.test/alice/shop.git").unwrap(),
            accepted: None,
            accepted_foreign: vec!["actions".to_owned()],
        };
        let foreign = ["account hooks of alice: not shown to the bot".to_owned(), "deploy key 7 \"ci\"".to_owned()];
        // As it is shown on the forge.
        let told = prose(&refusal(&repository, &foreign), 1_500);
        let reached = "would also reach: `account hooks of alice: not shown to the bot`, `deploy key 7 \"ci\"`. ";
        assert!(told.contains(reached), "{told}");
        let typed = "with `--accept-foreign actions`, \
                     `--accept-foreign 'account hooks of alice: not shown to the bot'`, \
                     `--accept-foreign 'deploy key 7 \"ci\"'`, or";
        assert!(told.contains(typed), "{told}");
    }
}
