//! The store's entries of repositories, for subcommands: read directly, and written by the running bot, or by the subcommand if none is
//! running.

use super::printer::Complaint;
use super::store::{location, mark_key};
use super::{lock, running};
use crate::bot::{self, Entry, host_address, known};
use crate::config::process::Repository;
use crate::config::{Process, Secret};
use crate::secret::SealingKey;
use crate::store::{Store, StoredEntry};
use anyhow::Result;

/// The entries in the store.
#[derive(Default)]
pub struct Entries {
    /// All in order of their keys, including removed and refused ones.
    pub all: Vec<Entry>,
    /// Refused entries: key and reason.
    pub refused: Vec<(String, String)>,
}

impl Entries {
    /// The newest entry of this key, if any.
    pub fn of(&self, key: &str) -> Option<&Entry> {
        self.all.iter().find(|entry| entry.key == key)
    }

    /// The generation of this key's next entry.
    pub fn next(&self, key: &str) -> i64 {
        self.of(key).map_or(0, |entry| entry.generation) + 1
    }

    /// Secrets of a repository's hook, whether its entry is in the file or in the store, the newest first.
    ///
    /// # Errors
    /// When a file with a secret cannot be read.
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
    /// Differences between an entry of the file and the store's of the same key; none if the store has no usable one.
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

/// Reads the entries and adds them to the configuration. Empty without a store.
///
/// # Errors
/// When the store cannot be read, or was made by another version.
pub async fn look(config: &Process) -> Result<Entries> {
    let Some(store) = Store::look(location(config)?).await? else { return Ok(Entries::default()) };
    let (all, refused) = known(config, &store).await?;
    Ok(Entries { all, refused })
}

/// As [`look`], before an entry is written: without a running bot it creates store and key, so that this cannot fail after the forge was
/// changed.
///
/// # Errors
/// When the store cannot be opened, or belongs to another key.
pub async fn ready(config: &Process) -> Result<Entries> {
    let Some(_lock) = lock::unless_in_use(&config.state_dir)? else { return look(config).await };
    let store = Store::open(location(config)?).await?;
    mark_key(&store, config).await?;
    let (all, refused) = known(config, &store).await?;
    Ok(Entries { all, refused })
}

/// Who has accepted an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// The bot that runs with this state directory.
    ByTheBot,
    /// No bot runs here; the entry was written to the store.
    ByTheStore,
}

/// Writes an entry, authenticated with the key of this state directory and this host's name. Another subcommand that works with the state
/// directory is waited for.
///
/// # Errors
/// When it is refused, was changed meanwhile, or the store or the running bot fails to store it.
pub async fn put(
    config: &Process,
    make: impl FnOnce(&SealingKey, &str) -> Result<StoredEntry, String>,
) -> Result<Taken> {
    let by = host_address(config);
    let made = |key: &SealingKey| make(key, &by).map_err(|why| Complaint::new("the entry is not written").because(why));
    if let Some(_lock) = lock::unless_in_use(&config.state_dir)? {
        let store = Store::open(location(config)?).await?;
        let key = SealingKey::of(&mark_key(&store, config).await?);
        store.put_entry(made(&key)?).await?;
        return Ok(Taken::ByTheStore);
    }
    let entry = made(&bot::sealing_key(config).map_err(anyhow::Error::msg)?)?;
    let away = match running::tell(config, "/repositories", &entry).await {
        Ok(reply) => return by_the_bot(reply),
        Err(error) => error,
    };
    // While it can be locked no bot runs here.
    let _lock = lock::wait(&config.state_dir).await.map_err(|_| away)?;
    let store = Store::open(location(config)?).await?;
    mark_key(&store, config).await?;
    store.put_entry(entry).await?;
    Ok(Taken::ByTheStore)
}

/// What the status and the words of a running bot mean.
fn by_the_bot(reply: (u16, String)) -> Result<Taken> {
    match reply {
        (204, _) => Ok(Taken::ByTheBot),
        (404 | 405, _) => {
            Err(Complaint::new("the running bot is of an older version and knows no repositories in the store")
                .hint("restart `caisson serve`, then repeat this")
                .into())
        }
        (status, why) => Err(Complaint::new(format!("the running bot does not take the entry ({status})"))
            .because(why)
            .hint("repeat this")
            .into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bot::sealed;

    #[tokio::test]
    async fn another_subcommand_that_works_with_the_state_directory_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let text = format!("state_dir = \"{}\"\n", dir.path().display());
        let config = Process::from_layers(&dir.path().join("caisson.toml"), &text, &|_| None).unwrap();
        let entries = ready(&config).await.unwrap();
        let document = r#"{"version":1,"owner":"lab","name":"shop","id":7,"default_branch":"main"}"#;
        let shop = Repository::from_document("shop", document).unwrap();
        let lock = lock::take(&config.state_dir).unwrap();
        let (taken, ()) = tokio::join!(
            put(&config, |key, by| sealed(key, &shop, &[Secret::new("a")], (entries.next("shop"), by))),
            // Polled once the first found it locked and nobody who listens.
            async move { drop(lock) }
        );
        assert!(taken.unwrap() == Taken::ByTheStore);
        assert_eq!(look(&config).await.unwrap().of("shop").map(|entry| entry.generation), Some(1));
    }
}
