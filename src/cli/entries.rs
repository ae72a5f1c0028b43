//! The store's entries of repositories, for subcommands: read beside a running bot, and written by it; where none runs, by the subcommand.

use super::printer::Complaint;
use super::store::{location, mark_key};
use super::{lock, running};
use crate::bot::{self, Entry, host_address, known};
use crate::config::process::Repository;
use crate::config::{Process, Secret};
use crate::secret::SealingKey;
use crate::store::{Store, StoredEntry};
use anyhow::Result;

/// What the store holds.
#[derive(Default)]
pub struct Entries {
    /// In order of their keys; those that were taken out, and those that are refused, among them.
    pub all: Vec<Entry>,
    /// Those that are not worked with: the key, and why.
    pub refused: Vec<(String, String)>,
}

impl Entries {
    /// The newest entry of this key, if there ever was one.
    pub fn of(&self, key: &str) -> Option<&Entry> {
        self.all.iter().find(|entry| entry.key == key)
    }

    /// The generation that the next entry of this key has.
    pub fn next(&self, key: &str) -> i64 {
        self.of(key).map_or(0, |entry| entry.generation) + 1
    }

    /// Secrets of a repository's hook, wherever its entry stands, the newest first.
    ///
    /// # Errors
    /// When a file with one cannot be read.
    pub fn secrets(&self, entry: &Repository) -> Result<Vec<Secret>> {
        if entry.from_store {
            return Ok(self
                .of(&entry.key)
                .and_then(Entry::whole)
                .map(|(_, secrets)| secrets.to_vec())
                .unwrap_or_default());
        }
        Ok(entry.secret_files.iter().map(|path| Secret::read(path)).collect::<Result<_, _>>()?)
    }
}

impl Entries {
    /// What differs between an entry of the file and the store's of the same key; none where the store has none to work with.
    ///
    /// # Errors
    /// When a file with a secret cannot be read.
    pub fn differences(&self, own: &Repository) -> Result<Option<Vec<String>>> {
        let Some((stored, known)) = self.of(&own.key).and_then(Entry::whole) else { return Ok(None) };
        let mut differs: Vec<String> = own.differs_from(stored).into_iter().map(str::to_owned).collect();
        if self.secrets(own)? != known {
            differs.push("the hook's secret".to_owned());
        }
        Ok(Some(differs))
    }
}

/// Reads them, and has the configuration know them. None where there is no store yet.
///
/// # Errors
/// When the store cannot be read, or another version has made it.
pub async fn look(config: &Process) -> Result<Entries> {
    let Some(store) = Store::look(location(config)?).await? else { return Ok(Entries::default()) };
    let (all, refused) = known(config, &store).await?;
    Ok(Entries { all, refused })
}

/// As [`look`], for who is going to write one: makes the store and the key where none runs yet, so that nothing of it fails when the forge is
/// changed already.
///
/// # Errors
/// When the store cannot be opened, or belongs to another key.
pub async fn ready(config: &Process) -> Result<Entries> {
    let Ok(_lock) = lock::take(&config.state_dir) else { return look(config).await };
    let store = Store::open(location(config)?).await?;
    mark_key(&store, config).await?;
    let (all, refused) = known(config, &store).await?;
    Ok(Entries { all, refused })
}

/// Who has taken an entry up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// The bot that runs in this state directory works with it.
    ByTheBot,
    /// None runs here; it stands in the store.
    ByTheStore,
}

/// Writes an entry, which is made with the key of this state directory and this host's name.
///
/// # Errors
/// When it is refused, was changed meanwhile, or the store or the running bot does not take it.
pub async fn put(
    config: &Process,
    make: impl FnOnce(&SealingKey, &str) -> Result<StoredEntry, String>,
) -> Result<Taken> {
    let by = host_address(config);
    let made = |key: &SealingKey| make(key, &by).map_err(|why| Complaint::new("the entry is not written").because(why));
    if let Ok(_lock) = lock::take(&config.state_dir) {
        let store = Store::open(location(config)?).await?;
        let key = SealingKey::of(&mark_key(&store, config).await?);
        store.put_entry(made(&key)?).await?;
        return Ok(Taken::ByTheStore);
    }
    let key = bot::sealing_key(config).map_err(anyhow::Error::msg)?;
    match running::tell(config, "/repositories", &made(&key)?).await? {
        (204, _) => Ok(Taken::ByTheBot),
        (404 | 405, _) => {
            Err(Complaint::new("the running bot is of an older version and knows no repositories in the store")
                .attempt("restart `caisson serve`, then repeat this")
                .into())
        }
        (status, why) => Err(Complaint::new(format!("the running bot does not take the entry ({status})"))
            .because(why)
            .attempt("repeat this")
            .into()),
    }
}
