//! Entries of repositories in the store: sealed when they are written, opened and validated when they are read.
//!
//! Owns what is authenticated with an entry: somebody who can write into the database without `mark.key` can remove entries or restore
//! older ones, but not make or change any. Must not decide when they are read (`registry.rs`, `cli/entries.rs`). Tests: below.

use crate::clock::now;
use crate::config::process::Repository;
use crate::config::{Process, Secret};
use crate::secret::SealingKey;
use crate::store::{Store, StoreError, StoredEntry};
use crate::upstream::SourceNow;
use std::collections::HashMap;

/// First part of the authenticated context: the kind of object.
const WHAT: &[u8] = b"repository";

/// An entry of the store as this host reads it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The repository's key.
    pub key: String,
    /// Counted up with each change.
    pub generation: i64,
    /// Unix milliseconds of the change by the writer's clock; authenticated only for [`Content::Whole`].
    pub written_at: i64,
    /// Address of the host that wrote it; authenticated like `written_at`.
    pub written_by: String,
    /// Its content.
    pub content: Content,
}

/// Content of an entry.
#[derive(Debug, Clone)]
pub enum Content {
    /// The repository was removed.
    Gone,
    /// It was written by a holder of the installation's key.
    Whole {
        /// The entry, without the operator's tables.
        entry: Box<Repository>,
        /// Its hook's secrets, the newest first.
        secrets: Vec<Secret>,
    },
    /// It is refused and not used.
    Refused {
        /// Why, and what to do, for a person.
        why: String,
        /// The forge's id of the repository that it claims, which is not authenticated.
        claims: Option<i64>,
    },
}

impl Entry {
    /// The entry and its hook's secrets, if it may be used.
    pub fn whole(&self) -> Option<(&Repository, &[Secret])> {
        match &self.content {
            Content::Whole { entry, secrets } => Some((&**entry, secrets)),
            Content::Gone | Content::Refused { .. } => None,
        }
    }
}

/// Seals an entry for the store; `generation` is 1 more than that of the one before it.
///
/// # Errors
/// Why no host would accept it, or that there are no random bytes.
pub fn sealed(
    key: &SealingKey,
    entry: &Repository,
    secrets: &[Secret],
    (generation, by): (i64, &str),
) -> Result<StoredEntry, String> {
    let document = entry.document()?;
    let mut stored = StoredEntry {
        key: entry.key.clone(),
        document,
        sealed: Vec::new(),
        generation,
        written_at: now(),
        written_by: by.to_owned(),
    };
    let secrets: Vec<&str> = secrets.iter().map(Secret::expose).collect();
    let plain = serde_json::to_vec(&secrets).map_err(|error| error.to_string())?;
    stored.sealed = about(&stored, |about| key.seal(about, &plain))?;
    Ok(stored)
}

/// The store's entry of this repository with where its upstream is now; none where it says so already, is not usable, or names another
/// upstream than the entry that was compared: an operator changed it meanwhile.
///
/// # Errors
/// Why it cannot be read or sealed.
pub async fn with_source(
    store: &Store,
    key: &SealingKey,
    (compared, by): (&Repository, &str),
    source: &SourceNow,
) -> Result<Option<StoredEntry>, String> {
    let stored = store.entries().await.map_err(|error| error.to_string())?;
    let entry = stored.iter().find(|it| it.key == compared.key).map(|it| opened(Ok(key), it));
    let Some(entry) = entry else { return Ok(None) };
    let Some((known, secrets)) = entry.whole() else { return Ok(None) };
    if (&known.upstream, known.upstream_id) != (&compared.upstream, compared.upstream_id) {
        return Ok(None);
    }
    let wanted = source.entry(known);
    wanted.map(|wanted| sealed(key, &wanted, secrets, (entry.generation + 1, by))).transpose()
}

/// The entry of a removed repository.
pub fn gone(repository: &str, (generation, by): (i64, &str)) -> StoredEntry {
    StoredEntry {
        key: repository.to_owned(),
        document: String::new(),
        sealed: Vec::new(),
        generation,
        written_at: now(),
        written_by: by.to_owned(),
    }
}

/// Opens and validates an entry. `key` is this host's, or why it has none.
pub fn opened(key: Result<&SealingKey, &str>, stored: &StoredEntry) -> Entry {
    let content = match (stored.document.is_empty(), key) {
        (true, _) => Content::Gone,
        (false, Err(why)) => refused(stored, why.to_owned()),
        (false, Ok(key)) => match read(key, stored) {
            Ok((entry, secrets)) => Content::Whole { entry: Box::new(entry), secrets },
            Err(why) => refused(stored, why),
        },
    };
    Entry {
        key: stored.key.clone(),
        generation: stored.generation,
        written_at: stored.written_at,
        written_by: stored.written_by.clone(),
        content,
    }
}

fn refused(stored: &StoredEntry, why: String) -> Content {
    let claims = Repository::from_document(&stored.key, &stored.document).ok().map(|entry| entry.id);
    Content::Refused { why, claims }
}

fn read(key: &SealingKey, stored: &StoredEntry) -> Result<(Repository, Vec<Secret>), String> {
    // Authenticated before anything of it is read.
    let plain = about(stored, |about| key.open(about, &stored.sealed)).map_err(|error| error.to_string())?;
    let entry = Repository::from_document(&stored.key, &stored.document)?;
    let secrets: Vec<String> =
        serde_json::from_slice(&plain).map_err(|_| "its hook's secrets cannot be read".to_owned())?;
    if !(1..=2).contains(&secrets.len()) || secrets.iter().any(String::is_empty) {
        return Err("it has no secret for its hook: `caisson repo add` gives it a new one".to_owned());
    }
    Ok((entry, secrets.into_iter().map(|secret| Secret::new(secret).known()).collect()))
}

/// The context of an entry: everything that is not encrypted.
fn about<T>(stored: &StoredEntry, work: impl FnOnce(&[&[u8]]) -> T) -> T {
    let (generation, at) = (stored.generation.to_string(), stored.written_at.to_string());
    let by = stored.written_by.as_bytes();
    work(&[WHAT, stored.key.as_bytes(), generation.as_bytes(), at.as_bytes(), by, stored.document.as_bytes()])
}

/// Result of reading the store's entries.
pub struct Learned {
    /// Secrets of the hooks of usable entries, by key.
    pub secrets: HashMap<String, Vec<Secret>>,
    /// Keys of refused entries, with the reasons.
    pub refused: Vec<(String, String)>,
}

/// Adds these entries to the configuration.
pub fn learn(config: &Process, entries: &[Entry]) -> Learned {
    let whole: Vec<Repository> = entries.iter().filter_map(|it| it.whole().map(|(entry, _)| entry.clone())).collect();
    let mut refused = config.learn(whole);
    for entry in entries {
        if let Content::Refused { why, .. } = &entry.content {
            refused.push((entry.key.clone(), why.clone()));
        }
    }
    let taken = |key: &str| config.repository(key).is_some_and(|entry| entry.from_store);
    let secrets = entries.iter().filter(|it| taken(&it.key));
    let secrets = secrets.filter_map(|it| it.whole().map(|(_, secrets)| (it.key.clone(), secrets.to_vec())));
    Learned { secrets: secrets.collect(), refused }
}

/// The key of this state directory, for a program that does not have it yet.
///
/// # Errors
/// Why there is none, with what to do.
pub fn sealing_key(config: &Process) -> Result<SealingKey, String> {
    let file = config.mark_key_file();
    let none = "the state directory has no mark.key, which opens what the store holds: copy it from a host that works";
    if !file.exists() {
        return Err(none.to_owned());
    }
    Secret::read(&file).map(|mark| SealingKey::of(&mark)).map_err(|error| error.to_string())
}

/// Reads the store's entries with the key of this state directory and adds them to the configuration. Returns them ordered by key, and the
/// refused ones.
///
/// # Errors
/// When the store cannot be read.
pub async fn known(config: &Process, store: &Store) -> Result<(Vec<Entry>, Vec<(String, String)>), StoreError> {
    let key = sealing_key(config);
    let key = key.as_ref().map_err(String::as_str);
    let entries: Vec<Entry> = store.entries().await?.iter().map(|stored| opened(key, stored)).collect();
    let refused = learn(config, &entries).refused;
    Ok((entries, refused))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shop() -> Repository {
        let text = r#"{"version":1,"owner":"lab","name":"shop","id":7,"default_branch":"main"}"#;
        Repository::from_document("shop", text).unwrap()
    }

    fn why(entry: Entry) -> String {
        match entry.content {
            Content::Refused { why, .. } => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_entry_opens_for_whoever_has_the_key_and_shows_no_secret() {
        let key = SealingKey::of(&Secret::new("mark"));
        let secrets = [Secret::new("hunter2"), Secret::new("hunter1")];
        let stored = sealed(&key, &shop(), &secrets, (3, "one")).unwrap();
        let entry = opened(Ok(&key), &stored);
        assert_eq!(entry.whole().unwrap(), (&shop(), &secrets[..]));
        assert!(!format!("{stored:?} {entry:?}").contains("hunter"));
        assert!(!serde_json::to_string(&stored).unwrap().contains("hunter"));
        assert!(!stored.sealed.windows(6).any(|part| part == b"hunter"));
        let other = why(opened(Ok(&SealingKey::of(&Secret::new("other"))), &stored));
        assert!(
            other.contains("mark.key") && other.contains("caisson repo add") && !other.contains("hunter"),
            "{other}"
        );
        assert_eq!(why(opened(Err("no key"), &stored)), "no key");
    }

    #[tokio::test]
    async fn where_an_upstream_is_now_is_written_into_its_entry_once() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(crate::store::Location::from(dir.path())).await.unwrap();
        let key = SealingKey::of(&Secret::new("mark"));
        let address = |name: &str| crate::git::RemoteUrl::parse(&format!("https://github.com/{name}.git")).unwrap();
        let shop = Repository { upstream: address("lab/shop").as_str().to_owned(), ..shop() };
        store.put_entry(sealed(&key, &shop, &[Secret::new("hunter2")], (1, "one")).unwrap()).await.unwrap();
        let now = |name: &str, renamed| SourceNow { id: 7, name: name.into(), address: address(name), renamed };
        let learn = |compared: Repository, source: SourceNow| {
            let (store, key) = (&store, &key);
            async move { with_source(store, key, (&compared, "two"), &source).await.unwrap() }
        };
        let learned = learn(shop.clone(), now("lab/shop", false)).await.expect("its number was not known");
        store.put_entry(learned.clone()).await.unwrap();
        let entry = opened(Ok(&key), &learned);
        let (known, secrets) = entry.whole().unwrap();
        assert_eq!((known.upstream_id, &known.upstream, secrets[0].expose()), (7, &shop.upstream, "hunter2"));
        let known = known.clone();
        assert_eq!(learn(known.clone(), now("lab/shop", false)).await, None);
        assert_eq!(learn(shop.clone(), now("lab/store", true)).await, None, "compared before it had its number");
        let elsewhere = Repository { upstream: address("lab/other").as_str().to_owned(), ..known.clone() };
        assert_eq!(learn(elsewhere, now("lab/store", true)).await, None, "an operator named another one meanwhile");
        let renamed = learn(known.clone(), now("lab/store", true)).await.expect("it was renamed");
        assert_eq!((renamed.generation, renamed.written_by.as_str()), (3, "two"));
        let entry = opened(Ok(&key), &renamed);
        assert_eq!(entry.whole().unwrap().0.upstream, "https://github.com/lab/store.git");
        let till = Repository { key: "till".into(), ..shop };
        assert_eq!(with_source(&store, &key, (&till, "two"), &now("lab/shop", false)).await, Ok(None));
    }

    #[test]
    fn who_can_write_into_the_database_makes_moves_and_changes_no_entry() {
        let key = SealingKey::of(&Secret::new("mark"));
        let stored = sealed(&key, &shop(), &[Secret::new("hunter2")], (3, "one")).unwrap();
        type Spoil = fn(&mut StoredEntry);
        let spoils: [(&str, Spoil); 7] = [
            ("to another repository", |it| it.key = "till".into()),
            ("an accepted project file", |it| {
                it.document =
                    it.document.replace("\"accepted\":\"\"", &format!("\"accepted\":\"{}\"", "ab".repeat(32)));
            }),
            ("another repository of the forge", |it| it.document = it.document.replace("\"id\":7", "\"id\":8")),
            ("an older one for a newer", |it| it.generation = 4),
            ("another writer", |it| it.written_by = "two".into()),
            ("another time", |it| it.written_at += 1),
            ("no seal", |it| it.sealed.clear()),
        ];
        for (what, spoil) in spoils {
            let mut changed = stored.clone();
            spoil(&mut changed);
            assert_ne!(changed, stored, "{what}");
            why(opened(Ok(&key), &changed));
        }
    }

    #[test]
    fn a_refused_entry_stops_no_other() {
        let key = SealingKey::of(&Secret::new("mark"));
        let config = Process::from_layers(std::path::Path::new("/x/caisson.toml"), "", &|_| None).unwrap();
        let good = sealed(&key, &shop(), &[Secret::new("a")], (1, "one")).unwrap();
        let mut bad =
            sealed(&key, &Repository { key: "till".into(), id: 8, ..shop() }, &[Secret::new("b")], (1, "one")).unwrap();
        bad.document = bad.document.replace("lab", "evil");
        let twin = sealed(&key, &Repository { key: "twin".into(), ..shop() }, &[Secret::new("c")], (1, "one")).unwrap();
        let entries: Vec<Entry> =
            [good, bad, twin, gone("old", (2, "one"))].iter().map(|it| opened(Ok(&key), it)).collect();
        let Learned { secrets, mut refused } = learn(&config, &entries);
        refused.sort();
        assert_eq!(refused.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["till", "twin"], "{refused:?}");
        assert_eq!((config.keys(), secrets.len()), (vec!["shop".to_owned()], 1));
    }
}
