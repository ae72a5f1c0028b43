//! The known mirrors: the present generation of each repository, and retired generations.
//!
//! Owns `mirrors.json` of the state directory. Tests: below.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::Commit;
use serde::{Deserialize, Serialize};

use crate::sandbox::record::{MirrorGeneration, write_whole};
use crate::sandbox::{Result, SandboxError};

/// A mirror that no task used for this long is removed.
const UNUSED_MS: i64 = 30 * 24 * 3600 * 1000;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Mirror {
    #[serde(flatten)]
    pub generation: MirrorGeneration,
    pub bytes: u64,
    pub packs: u32,
    /// The user that it belongs to in the engine; 0 = of an earlier release, which had one user for all.
    #[serde(default)]
    pub user: u32,
    /// Whether it was decided if the mirror gets a tree.
    #[serde(default)]
    pub looked: bool,
    /// Unix milliseconds.
    pub used_at: i64,
}

/// All known mirrors, by the key of their repository.
pub(super) struct MirrorIndex {
    path: PathBuf,
    all: Mutex<HashMap<String, Mirror>>,
    /// Generations that new containers do not get, but that may still be in use.
    pub retired: Mutex<Vec<String>>,
    /// One lock per repository, held while its mirror is made or filled.
    locks: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

pub(super) fn whole<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic while the lock was held leaves the map consistent.
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MirrorIndex {
    /// Loads the file; an unreadable one counts as no mirrors, and unknown mirrors are reaped. A mirror whose user is not the repository's,
    /// as `user_of` says, is dropped too.
    pub fn load(state_dir: &Path, user_of: impl Fn(&str) -> Option<u32>) -> Self {
        let path = state_dir.join("mirrors.json");
        let read = std::fs::read(&path).ok().map(|text| serde_json::from_slice(&text));
        let mut all: HashMap<String, Mirror> = read.unwrap_or_else(|| Ok(HashMap::new())).unwrap_or_else(|error| {
            tracing::warn!(path = %path.display(), %error, "not a list of mirrors; they are made anew");
            HashMap::new()
        });
        let others = all.extract_if(|key, mirror| user_of(key) != Some(mirror.user));
        let retired = others.map(|(_, mirror)| mirror.generation.name).collect();
        Self { path, all: Mutex::new(all), retired: Mutex::new(retired), locks: Mutex::default() }
    }

    pub fn lock_of(&self, key: &str) -> Arc<tokio::sync::Mutex<()>> {
        Arc::clone(whole(&self.locks).entry(key.to_owned()).or_default())
    }

    pub fn get(&self, key: &str) -> Option<Mirror> {
        whole(&self.all).get(key).cloned()
    }

    /// The present mirror, for a container that makes nothing new.
    pub fn current(&self, key: &str) -> Option<MirrorGeneration> {
        self.get(key).map(|mirror| mirror.generation)
    }

    /// Replaces the entry of a repository; another generation that it had is retired.
    pub fn put(&self, key: &str, mirror: Option<Mirror>) -> Result<()> {
        let mut all = whole(&self.all);
        let name = mirror.as_ref().map(|it| it.generation.name.clone());
        let old = match mirror {
            Some(mirror) => all.insert(key.to_owned(), mirror),
            None => all.remove(key),
        };
        if let Some(old) = old.filter(|old| Some(&old.generation.name) != name.as_ref()) {
            whole(&self.retired).push(old.generation.name);
        }
        self.write(&all)
    }

    fn write(&self, all: &HashMap<String, Mirror>) -> Result<()> {
        let text = serde_json::to_vec(all).map_err(|e| SandboxError::Refused(e.to_string()))?;
        write_whole(&self.path, &text)
    }

    /// Keeps mirrors of these repositories that were used recently.
    pub fn forget_but(&self, keys: &[String], now: i64) -> Result<()> {
        let old = |mirror: &Mirror| now.saturating_sub(mirror.used_at) > UNUSED_MS;
        let gone: Vec<String> = whole(&self.all)
            .iter()
            .filter(|(key, it)| !keys.contains(key) || old(it))
            .map(|(key, _)| key.clone())
            .collect();
        gone.iter().try_for_each(|key| self.put(key, None))
    }

    /// Records the tree of a generation, or that it has none.
    pub fn set_tree(&self, key: &str, generation: &str, tree: Option<&Commit>) -> Result<()> {
        let mut all = whole(&self.all);
        if let Some(mirror) = all.get_mut(key).filter(|it| it.generation.name == generation) {
            (mirror.generation.tree, mirror.looked) = (tree.cloned(), true);
        }
        self.write(&all)
    }

    /// Whether it was decided if this generation gets a tree.
    pub fn looked(&self, key: &str, generation: &str) -> bool {
        self.get(key).is_some_and(|it| it.looked && it.generation.name == generation)
    }

    /// Names of all present generations.
    pub fn names(&self) -> Vec<String> {
        whole(&self.all).values().map(|mirror| mirror.generation.name.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::PackBase;

    fn mirror(name: &str, used_at: i64) -> Mirror {
        let held = PackBase { head: Commit::parse(&"a".repeat(40)).unwrap(), shallow: Vec::new() };
        let generation = MirrorGeneration { name: name.to_owned(), base: held, tree: None };
        Mirror { generation, bytes: 1, packs: 1, user: 10_003, looked: false, used_at }
    }

    #[test]
    fn what_is_remembered_survives_and_what_nobody_needs_is_retired() {
        let dir = tempfile::tempdir().unwrap();
        let mirrors = MirrorIndex::load(dir.path(), |_| Some(10_003));
        for (key, name, used_at) in [("a", "a-1", 0), ("a", "a-2", UNUSED_MS), ("b", "b-1", UNUSED_MS), ("c", "c-1", 0)]
        {
            mirrors.put(key, Some(mirror(name, used_at))).unwrap();
        }
        assert_eq!(*whole(&mirrors.retired), ["a-1"]);
        mirrors.forget_but(&["a".to_owned(), "c".to_owned()], UNUSED_MS + 1).unwrap();
        let again = MirrorIndex::load(dir.path(), |_| Some(10_003));
        assert_eq!((again.names(), again.current("a").unwrap().name.as_str()), (vec!["a-2".to_owned()], "a-2"));
        let mut gone = whole(&mirrors.retired).clone();
        gone.sort();
        assert_eq!(gone, ["a-1", "b-1", "c-1"], "another repository, and one unused for long");
        std::fs::write(dir.path().join("mirrors.json"), "{").unwrap();
        assert!(MirrorIndex::load(dir.path(), |_| Some(10_003)).names().is_empty());
    }

    #[test]
    fn one_that_is_not_the_repository_s_user_s_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let mirrors = MirrorIndex::load(dir.path(), |_| None);
        for key in ["own", "other", "nobody", "old"] {
            mirrors.put(key, Some(mirror(&format!("{key}-1"), 0))).unwrap();
        }
        // In the form of an earlier release.
        let path = dir.path().join("mirrors.json");
        let mut all: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        all["old"].as_object_mut().unwrap().remove("user");
        std::fs::write(&path, all.to_string()).unwrap();
        let user_of = |key: &str| match key {
            "other" => Some(10_004),
            "nobody" => None,
            _ => Some(10_003),
        };
        let again = MirrorIndex::load(dir.path(), user_of);
        assert_eq!(again.names(), ["own-1"]);
        let mut gone = whole(&again.retired).clone();
        gone.sort();
        assert_eq!(gone, ["nobody-1", "old-1", "other-1"], "they go when no container has them");
    }
}
