//! Follows the store's entries of repositories in a running bot: additions, changes and removals anywhere take effect here while tasks
//! continue.
//!
//! Owns when they are read, and that a refused one is reported and affects no other. `entries.rs` validates them. Tests: below,

use super::Parts;
use super::entries::{self, Content, Entry, Learned};
use super::hosts::Hosts;
use crate::config::process::Repository;
use crate::config::{Process, Secret};
use crate::effect::EffectRunner;
use crate::handler::Intake;
use crate::secret::SealingKey;
use crate::server::{EntryWish, HookSecrets};
use crate::store::{Store, StoreError, StoredEntry};
use crate::supervise::Works;
use crate::task::Machine;
use axum::http::StatusCode;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, mpsc};

/// Time between two reads where other hosts write too; their notifications are handled at once.
const EVERY: Duration = Duration::from_millis(2_500);

/// Differences to the entries known before.
#[derive(Debug, Default, PartialEq, Eq)]
struct Changes {
    added: Vec<String>,
    /// Changed in more than the hook's secrets.
    changed: Vec<String>,
    gone: Vec<String>,
}

#[derive(Default)]
struct EntryGenerations {
    /// The highest generation of each key that this life read, with its time: an older entry that reappears is refused, and so is another
    /// one of the same generation.
    generations: HashMap<String, (i64, i64)>,
    /// Generations as last read.
    newest: Option<Vec<(String, i64)>>,
    refused: BTreeSet<String>,
}

/// The store's entries as this process knows them.
pub struct Registry {
    config: Arc<Process>,
    store: Store,
    key: SealingKey,
    of_file: HashMap<String, Vec<Secret>>,
    works: Works,
    seen: Mutex<EntryGenerations>,
    /// Secrets with which the hooks' listener verifies.
    pub hooks: Arc<HookSecrets>,
    /// Notified when another host has written an entry.
    pub rung: Arc<Notify>,
}

/// Parts that react to changes.
pub struct Followers {
    /// The driver of all tasks.
    pub machine: Arc<Machine>,
    /// Updates the rules of existing sandboxes.
    pub effects: Arc<EffectRunner>,
    /// Reads new repositories.
    pub intake: Arc<Intake>,
    /// Requests leases; none where the store is not shared.
    pub hosts: Option<Arc<Hosts>>,
}

impl Registry {
    /// Reads the entries for the first time and adds them to the configuration.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn begin(parts: &Parts) -> Result<Arc<Self>, StoreError> {
        let registry = Self {
            config: parts.config.clone(),
            store: parts.store.clone(),
            key: SealingKey::of(&parts.mark_key),
            of_file: parts.hook_secrets.clone(),
            works: parts.works.clone(),
            seen: Mutex::default(),
            hooks: Arc::default(),
            rung: Arc::default(),
        };
        registry.refresh().await?;
        Ok(Arc::new(registry))
    }

    fn seen(&self) -> MutexGuard<'_, EntryGenerations> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows the store as long as it runs, and writes entries that this host's operator sends.
    pub async fn run(
        self: Arc<Self>,
        wishes: Arc<tokio::sync::Mutex<mpsc::Receiver<EntryWish>>>,
        followers: Arc<Followers>,
    ) {
        let mut wishes = wishes.lock().await;
        // Without other writers reading is only necessary after a failure.
        let mut look = self.store.is_shared();
        loop {
            let mut wish = None;
            tokio::select! {
                wished = wishes.recv() => match wished {
                    Some(it) => wish = Some(it),
                    // The listener has ended, and so does the bot.
                    None => return,
                },
                () = self.rung.notified() => {}
                () = tokio::time::sleep(EVERY), if look => {}
            }
            let mut kept = match &wish {
                Some(EntryWish { entry, .. }) => self.put(entry.clone()).await,
                None => Ok(()),
            };
            let changes = self.refresh().await;
            look = self.store.is_shared() || changes.is_err();
            if let (Some(EntryWish { entry, .. }), Ok(())) = (&wish, &kept) {
                kept = self.taken_up(&entry.key, changes.as_ref().err());
            }
            // Used here before the caller continues.
            if let Some(EntryWish { answer, .. }) = wish {
                // The caller may have gone away.
                let _ = answer.send(kept);
            }
            match changes {
                Ok(changes) => followers.take_up(changes).await,
                Err(error) => tracing::warn!(%error, "whether repositories were added or taken out is not known"),
            }
        }
    }

    /// Writes an entry, unless this host would refuse it.
    async fn put(&self, entry: StoredEntry) -> Result<(), (StatusCode, String)> {
        if let Content::Refused { why, .. } = entries::opened(Ok(&self.key), &entry).content {
            return Err((StatusCode::UNPROCESSABLE_ENTITY, why));
        }
        // It is based on a restored old entry and would give that a new generation. Where the store's own is not older, another writer was
        // first, which storing it says.
        let highest = self.seen().generations.get(&entry.key).map_or(0, |(highest, _)| *highest);
        if entry.generation <= highest && self.stored_generation(&entry.key).await.map_err(refusal)? < highest {
            let why = "the store's entry of it is older than one that this host has read: was a backup of the database played back? A restart of \
                       `caisson serve` takes it as it is";
            return Err((StatusCode::CONFLICT, why.to_owned()));
        }
        self.store.put_entry(entry).await.map_err(refusal)
    }

    /// The generation of the store's entry of this key; 0 where it has none.
    async fn stored_generation(&self, key: &str) -> Result<i64, StoreError> {
        let all = self.store.generations().await?;
        Ok(all.into_iter().find(|(stored, _)| stored == key).map_or(0, |(_, generation)| generation))
    }

    /// Whether a written entry is used.
    fn taken_up(&self, key: &str, failed: Option<&StoreError>) -> Result<(), (StatusCode, String)> {
        if let Some(error) = failed {
            let why = format!("it is written, and will be taken up as soon as the store can be read again ({error})");
            return Err((StatusCode::SERVICE_UNAVAILABLE, why));
        }
        match self.seen().refused.contains(key) {
            true => Err((
                StatusCode::UNPROCESSABLE_ENTITY,
                "it is written, and refused: `caisson repo list` says why".to_owned(),
            )),
            false => Ok(()),
        }
    }

    async fn refresh(&self) -> Result<Changes, StoreError> {
        let generations = self.store.generations().await?;
        if self.seen().newest.as_ref() == Some(&generations) {
            return Ok(Changes::default());
        }
        let stored = self.store.entries().await?;
        let all: Vec<Entry> = stored.iter().map(|it| self.judged(entries::opened(Ok(&self.key), it))).collect();
        let before = self.config.repositories();
        let Learned { mut secrets, refused } = entries::learn(&self.config, &all);
        // The file's entries, with their secrets, take precedence.
        secrets.extend(self.of_file.clone());
        self.hooks.set(secrets);
        self.tell(&refused);
        self.seen().newest = Some(stored.into_iter().map(|it| (it.key, it.generation)).collect());
        Ok(changes(&before, &self.config.repositories()))
    }

    /// Refuses an entry older than what this life has read, which `caisson repo` cannot have written.
    fn judged(&self, entry: Entry) -> Entry {
        let mut seen = self.seen();
        let here = (entry.generation, entry.written_at);
        let highest = seen.generations.entry(entry.key.clone()).or_insert(here);
        if entry.generation > highest.0 || here == *highest {
            *highest = here;
            return entry;
        }
        let highest = highest.0;
        let why = format!(
            "the store has an older entry of it (generation {}) than this host has read ({highest}): was a backup of the database played back? \
             Look at it with `caisson repo list`; a restart of `caisson serve` takes it as it is",
            entry.generation
        );
        Entry { content: Content::Refused { why, claims: None }, ..entry }
    }

    fn tell(&self, refused: &[(String, String)]) {
        let mut seen = self.seen();
        let work = |key: &str| format!("the repository {key} of the store");
        for (key, why) in refused {
            tracing::error!(key, why, "an entry of the store is refused: this repository is not worked for");
            self.works.set_wrong(&work(key), why.clone());
        }
        let now: BTreeSet<String> = refused.iter().map(|(key, _)| key.clone()).collect();
        seen.refused.difference(&now).for_each(|key| self.works.well(&work(key)));
        seen.refused = now;
    }
}

fn refusal(error: StoreError) -> (StatusCode, String) {
    match error {
        StoreError::Changed { .. } | StoreError::Live { .. } => (StatusCode::CONFLICT, error.to_string()),
        other => (StatusCode::SERVICE_UNAVAILABLE, other.to_string()),
    }
}

fn changes(before: &[Arc<Repository>], after: &[Arc<Repository>]) -> Changes {
    let find = |all: &[Arc<Repository>], key: &str| all.iter().find(|it| it.key == key).cloned();
    let mut changes = Changes::default();
    for entry in after {
        match find(before, &entry.key) {
            None => changes.added.push(entry.key.clone()),
            Some(old) if old != *entry => changes.changed.push(entry.key.clone()),
            Some(_) => {}
        }
    }
    changes.gone.extend(before.iter().filter(|it| find(after, &it.key).is_none()).map(|it| it.key.clone()));
    changes
}

impl Followers {
    async fn take_up(&self, Changes { added, changed, gone }: Changes) {
        if added.is_empty() && changed.is_empty() && gone.is_empty() {
            return;
        }
        tracing::info!(?added, ?changed, ?gone, "the store's repositories are others now");
        let held = changed.iter().filter(|key| self.machine.leases().holds(key));
        // What may be reached changed, so rules are updated before anything continues.
        for key in held.chain(&gone) {
            if let Err(trouble) = self.effects.egress.reach_standing(Some(key)).await {
                tracing::warn!(
                    ?trouble,
                    key,
                    "the rules of a sandbox could not be made anew: it reaches nothing until they can"
                );
            }
        }
        if let Some(hosts) = &self.hosts {
            hosts.ask();
        }
        if !(added.is_empty() && changed.is_empty()) {
            self.intake.read_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(key: &str, id: i64) -> Arc<Repository> {
        Arc::new(Repository { key: key.into(), id, ..Repository::default() })
    }

    #[tokio::test]
    async fn an_older_entry_that_comes_back_is_refused_and_named_until_a_newer_one_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let key = SealingKey::of(&Secret::new("mark"));
        let file = std::path::Path::new("/x/caisson.toml");
        let registry = Registry {
            config: Arc::new(Process::from_layers(file, "", &|_| None).unwrap()),
            store: Store::open(dir.path()).await.unwrap(),
            key: key.clone(),
            of_file: HashMap::new(),
            works: Works::default(),
            seen: Mutex::default(),
            hooks: Arc::default(),
            rung: Arc::default(),
        };
        let document = r#"{"version":1,"owner":"lab","name":"shop","id":7,"default_branch":"main"}"#;
        let shop = Repository::from_document("shop", document).unwrap();
        let written = |generation| entries::sealed(&key, &shop, &[Secret::new("a")], (generation, "one")).unwrap();
        registry.put(written(1)).await.unwrap();
        assert_eq!(registry.refresh().await.unwrap().added, ["shop"]);
        registry.put(written(2)).await.unwrap();
        assert_eq!(registry.refresh().await.unwrap(), Changes::default(), "it says the same");
        let (status, why) = registry.put(written(2)).await.unwrap_err();
        assert!(status == StatusCode::CONFLICT && why.contains("was changed meanwhile"), "another was first: {why}");
        let (old, new) = (written(1), written(3));
        let judge = |stored: &StoredEntry| registry.judged(entries::opened(Ok(&key), stored)).whole().is_some();
        assert!(!judge(&old) && judge(&new) && !judge(&written(2)) && judge(&new));
        let (_, why) = registry.put(written(3)).await.unwrap_err();
        assert!(why.contains("was a backup of the database played back?"), "the store is at the second: {why}");
        registry.tell(&[("shop".to_owned(), "why".to_owned())]);
        assert!(registry.works.wrong().iter().any(|line| line.contains("the repository shop of the store")));
        registry.tell(&[]);
        assert!(registry.works.wrong().is_empty());
    }

    #[test]
    fn what_is_new_another_or_gone_is_told_apart() {
        let before = [entry("a", 1), entry("b", 2), entry("c", 3)];
        let after = [entry("b", 2), entry("c", 4), entry("d", 5)];
        let named = |key: &str| vec![key.to_owned()];
        let expected = Changes { added: named("d"), changed: named("c"), gone: named("a") };
        assert_eq!(changes(&before, &after), expected);
        assert_eq!(changes(&after, &after), Changes::default());
    }
}
