//! The store's entries of repositories, followed by a running bot: what is added, changed or taken out anywhere takes effect here while tasks
//! go on.
//!
//! Owns when they are read, and that one that is refused is named and stops no other. What an entry must be is `entries.rs`. Tests: below,
//! `tests/stories/entries.rs`, `tests/two_hosts.rs`.

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

/// Between two looks where other hosts write, too; their word is heard at once.
const EVERY: Duration = Duration::from_millis(2_500);

/// What differs from what was known before.
#[derive(Debug, Default, PartialEq, Eq)]
struct Changes {
    added: Vec<String>,
    /// Whether something else of it than the hook's secrets is another.
    changed: Vec<String>,
    gone: Vec<String>,
}

#[derive(Default)]
struct Seen {
    /// Of each key the highest that this life read, and when that was written: an older entry that comes back is refused, and so is another one
    /// of the same generation.
    generations: HashMap<String, (i64, i64)>,
    /// Everything as it was read last.
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
    seen: Mutex<Seen>,
    /// What the hooks' listener verifies with.
    pub hooks: Arc<HookSecrets>,
    /// Rung when another host has written an entry.
    pub rung: Arc<Notify>,
}

/// What goes on with what is new.
pub struct Followers {
    /// The driver of all tasks.
    pub machine: Arc<Machine>,
    /// Brings sandboxes that stand to what is allowed now.
    pub effects: Arc<EffectRunner>,
    /// Reads what is new.
    pub intake: Arc<Intake>,
    /// Asks for leases; none where nobody shares the store.
    pub hosts: Option<Arc<Hosts>>,
}

impl Registry {
    /// Reads the entries for the first time: from here on the configuration knows them.
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

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows the store for as long as it runs, and writes what this host's operator wishes.
    pub async fn run(
        self: Arc<Self>,
        wishes: Arc<tokio::sync::Mutex<mpsc::Receiver<EntryWish>>>,
        followers: Arc<Followers>,
    ) {
        let mut wishes = wishes.lock().await;
        // Where nobody else writes, a look is needed only after one that failed.
        let mut look = self.store.is_shared();
        loop {
            let mut wish = None;
            tokio::select! {
                wished = wishes.recv() => match wished {
                    Some(it) => wish = Some(it),
                    // Nobody can wish any more: the listener has ended, and so does the bot.
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
            // Known here before whoever asked goes on.
            if let Some(EntryWish { answer, .. }) = wish {
                // Who asked may have gone away.
                let _ = answer.send(kept);
            }
            match changes {
                Ok(changes) => followers.take_up(changes).await,
                Err(error) => tracing::warn!(%error, "whether repositories were added or taken out is not known"),
            }
        }
    }

    /// Writes an entry; one that this host would refuse itself is not written.
    async fn put(&self, entry: StoredEntry) -> Result<(), (StatusCode, String)> {
        if let Content::Refused { why, .. } = entries::opened(Ok(&self.key), &entry).content {
            return Err((StatusCode::UNPROCESSABLE_ENTITY, why));
        }
        // Made from one that was played back: it would give that a new generation.
        if self.seen().generations.get(&entry.key).is_some_and(|(highest, _)| entry.generation <= *highest) {
            let why = "the store's entry of it is older than one that this host has read: was a backup of the database played back? A restart of \
                       `caisson serve` takes it as it is";
            return Err((StatusCode::CONFLICT, why.to_owned()));
        }
        self.store.put_entry(entry).await.map_err(|error| match error {
            StoreError::Changed { .. } | StoreError::Live { .. } => (StatusCode::CONFLICT, error.to_string()),
            other => (StatusCode::SERVICE_UNAVAILABLE, other.to_string()),
        })
    }

    /// Whether an entry that was written is worked with.
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
        // The file's entries win, and their secrets with them.
        secrets.extend(self.of_file.clone());
        self.hooks.set(secrets);
        self.tell(&refused);
        self.seen().newest = Some(stored.into_iter().map(|it| (it.key, it.generation)).collect());
        Ok(changes(&before, &self.config.repositories()))
    }

    /// One that is older than what this life has read was brought back by somebody else than `caisson repo`.
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
        // What may be reached is another thing than before, or nothing: before anything goes on there.
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
        let (old, new) = (written(1), written(3));
        let judge = |stored: &StoredEntry| registry.judged(entries::opened(Ok(&key), stored)).whole().is_some();
        assert!(!judge(&old) && judge(&new) && !judge(&written(2)) && judge(&new));
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
