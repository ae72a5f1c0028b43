//! The mirror of a repository: the history that its tasks may read, in a volume that every sandbox of it mounts read-only.
//!
//! Owns when one is made, what goes in, and when it goes (`docs/decisions/0007-a-mirror-for-each-repository.md`). Only what the default
//! branch reaches is ever in it; objects are added and never taken out, so a branch that was rewritten gets a new generation under
//! another name, and the old one goes with the last container that has it. It only saves time: whatever goes wrong here, a sandbox is
//! made without. What is remembered lies in `mirrors.json` of the state directory. Tests: below and `tests/trees/mirror.rs`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::Commit;
use protocol::broker::{ContainerLimits, ContainerSpec, Purpose};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::record::{Lent, now_ms, write_whole};
use super::session::{Passing, Session, Work, require_git};
use super::{Result, SandboxError, Sandboxes};
use crate::git::{Held, PackFile};

/// A difference of this size or less is sent to each sandbox: sooner done than one more container is made.
const ON_TOP: u64 = 1 << 20;
/// So many packs are looked through quickly; then a new generation is one pack again.
const PACKS: u32 = 40;
/// One that no task asked for during this time goes.
const UNUSED_MS: i64 = 30 * 24 * 3600 * 1000;
const FILL_MS: u64 = 1_800_000;

/// stdin is a pack. Only objects: nobody reads a ref here.
const FILL: &str = r#"
set -eu
[ -d objects ] || git init --bare --quiet --template= .
exec git --git-dir=. index-pack --stdin --fix-thin >/dev/null
"#;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Mirror {
    #[serde(flatten)]
    lent: Lent,
    bytes: u64,
    packs: u32,
    /// Whose it is, in the engine. 0 = of an earlier release, which had one user for all.
    #[serde(default)]
    user: u32,
    /// Whether a tree was made, or is not worth it.
    #[serde(default)]
    looked: bool,
    /// Milliseconds since 1970.
    used_at: i64,
}

/// All mirrors, by the key of their repository.
pub(super) struct Mirrors {
    path: PathBuf,
    all: Mutex<HashMap<String, Mirror>>,
    /// Generations that nobody gets any more, and that may still be in use.
    retired: Mutex<Vec<String>>,
    /// Whoever makes or fills one of a repository; the others wait.
    locks: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

fn whole<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic between two lines of bookkeeping leaves the map whole.
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Mirrors {
    /// A file that is half written or unreadable counts as no mirror: what nobody remembers is reaped. Nor does one that is not its
    /// repository's user's, as `user_of` says: it is made anew.
    pub(super) fn load(state_dir: &Path, user_of: impl Fn(&str) -> Option<u32>) -> Self {
        let path = state_dir.join("mirrors.json");
        let read = std::fs::read(&path).ok().map(|text| serde_json::from_slice(&text));
        let mut all: HashMap<String, Mirror> = read.unwrap_or_else(|| Ok(HashMap::new())).unwrap_or_else(|error| {
            tracing::warn!(path = %path.display(), %error, "not a list of mirrors; they are made anew");
            HashMap::new()
        });
        let others = all.extract_if(|key, mirror| user_of(key) != Some(mirror.user));
        let retired = others.map(|(_, mirror)| mirror.lent.name).collect();
        Self { path, all: Mutex::new(all), retired: Mutex::new(retired), locks: Mutex::default() }
    }

    fn lock_of(&self, key: &str) -> Arc<tokio::sync::Mutex<()>> {
        Arc::clone(whole(&self.locks).entry(key.to_owned()).or_default())
    }

    fn get(&self, key: &str) -> Option<Mirror> {
        whole(&self.all).get(key).cloned()
    }

    /// What there is now, for a container that makes nothing new.
    pub(super) fn current(&self, key: &str) -> Option<Lent> {
        self.get(key).map(|mirror| mirror.lent)
    }

    /// Replaces what is remembered of a repository; another generation that it had is retired.
    fn put(&self, key: &str, mirror: Option<Mirror>) -> Result<()> {
        let mut all = whole(&self.all);
        let name = mirror.as_ref().map(|it| it.lent.name.clone());
        let old = match mirror {
            Some(mirror) => all.insert(key.to_owned(), mirror),
            None => all.remove(key),
        };
        if let Some(old) = old.filter(|old| Some(&old.lent.name) != name.as_ref()) {
            whole(&self.retired).push(old.lent.name);
        }
        self.write(&all)
    }

    fn write(&self, all: &HashMap<String, Mirror>) -> Result<()> {
        let text = serde_json::to_vec(all).map_err(|e| SandboxError::Refused(e.to_string()))?;
        write_whole(&self.path, &text)
    }

    /// Keeps those of these repositories that were used of late.
    pub(super) fn forget_but(&self, keys: &[String], now: i64) -> Result<()> {
        let old = |mirror: &Mirror| now.saturating_sub(mirror.used_at) > UNUSED_MS;
        let gone: Vec<String> = whole(&self.all)
            .iter()
            .filter(|(key, it)| !keys.contains(key) || old(it))
            .map(|(key, _)| key.clone())
            .collect();
        gone.iter().try_for_each(|key| self.put(key, None))
    }

    /// Remembers what became of a generation's tree.
    pub(super) fn set_tree(&self, key: &str, generation: &str, tree: Option<&Commit>) -> Result<()> {
        let mut all = whole(&self.all);
        if let Some(mirror) = all.get_mut(key).filter(|it| it.lent.name == generation) {
            (mirror.lent.tree, mirror.looked) = (tree.cloned(), true);
        }
        self.write(&all)
    }

    /// Whether it is known if this generation has a tree.
    pub(super) fn looked(&self, key: &str, generation: &str) -> bool {
        self.get(key).is_some_and(|it| it.looked && it.lent.name == generation)
    }

    /// Names of all that are lent.
    pub(super) fn names(&self) -> Vec<String> {
        whole(&self.all).values().map(|mirror| mirror.lent.name.clone()).collect()
    }
}

/// Whether a mirror may be why something could not be made: it is tried again without.
pub(super) fn may_be_why(e: &SandboxError) -> bool {
    matches!(e, SandboxError::Refused(_) | SandboxError::Gone(_))
}

impl Sandboxes {
    /// The repository's mirror with what `trunk` reaches in it, or nearly: what it lacks is sent on top. `None` where the repository
    /// is too small for one, or where it can't be made: then everything is sent.
    ///
    /// `on_disk`: for a workspace that may be a layer over a tree; where the repository has many files, one is made.
    pub(super) async fn mirror(&self, key: &str, trunk: Option<&Commit>, on_disk: bool) -> Option<Lent> {
        let made = self.brought_up(key, trunk?, on_disk).await;
        self.remove_retired().await;
        made.unwrap_or_else(|error| {
            tracing::warn!(key, %error, "no mirror; the repository is sent instead");
            None
        })
    }

    /// The same for the barrier's own sandbox, by name; and what was made for it goes with [`Sandboxes::drop_mirror`].
    ///
    /// # Errors
    /// Why there is none: without it the barrier is not tried whole.
    pub async fn mirror_for_probe(&self, key: &str, trunk: &Commit) -> Result<Option<String>> {
        let made = self.brought_up(key, trunk, false).await;
        self.remove_retired().await;
        Ok(made?.map(|lent| lent.name))
    }

    /// Removes a repository's mirror once no container has it.
    pub async fn drop_mirror(&self, key: &str) -> Result<()> {
        self.mirrors.put(key, None)?;
        self.leave().await;
        self.remove_retired().await;
        Ok(())
    }

    async fn brought_up(&self, key: &str, trunk: &Commit, on_disk: bool) -> Result<Option<Lent>> {
        let lock = self.mirrors.lock_of(key);
        let _one = lock.lock().await;
        let known = self.mirrors.get(key);
        let made = self.made(key, known.clone(), trunk).await;
        if let (Err(why), Some(known)) = (&made, known)
            && may_be_why(why)
        {
            self.blame_mirror(key, &known.lent, why)?;
        }
        match made {
            Ok(Some(lent)) if on_disk => self.with_tree(key, lent).await.map(Some),
            made => made,
        }
    }

    async fn made(&self, key: &str, known: Option<Mirror>, trunk: &Commit) -> Result<Option<Lent>> {
        if let Some(known) = known
            && self.repos.is_ancestor(key, &known.lent.held.head, trunk).await?
        {
            let (depth, most) = (self.settings.history_depth, self.settings.base_pack_bytes);
            let held = &known.lent.held;
            let mut pack = self.repos.pack(key, std::slice::from_ref(trunk), depth, Some(held), most).await?;
            if pack.bytes <= ON_TOP {
                let used = Mirror { used_at: now_ms(), ..known };
                self.mirrors.put(key, Some(used.clone()))?;
                return Ok(Some(used.lent));
            }
            if known.packs < PACKS && known.bytes + pack.bytes <= 2 * most {
                return self.fill(key, Some(known), trunk, &mut pack).await.map(Some);
            }
        }
        // None yet, a branch that was rewritten, or one that has grown by too many pieces.
        let least = self.settings.mirror_from_bytes;
        if self.repos.bytes(key).await? < least {
            self.mirrors.put(key, None)?;
            return Ok(None);
        }
        let (depth, most) = (self.settings.history_depth, self.settings.base_pack_bytes);
        let mut pack = self.repos.pack(key, std::slice::from_ref(trunk), depth, None, most).await?;
        if pack.bytes < least {
            self.mirrors.put(key, None)?;
            return Ok(None);
        }
        self.fill(key, None, trunk, &mut pack).await.map(Some)
    }

    /// Adds a pack to a generation, or begins one with it. Remembered afterwards: what is cut before is added again, or reaped.
    async fn fill(&self, key: &str, old: Option<Mirror>, trunk: &Commit, pack: &mut PackFile) -> Result<Lent> {
        let (name, tree, bytes, packs, looked) = match old {
            Some(old) => (old.lent.name, old.lent.tree, old.bytes, old.packs, old.looked),
            None => (name(key)?, None, 0, 0, false),
        };
        let user = self.users.of(key)?;
        let (session, _passing) = self.mirror_session("mirror", &name, user).await?;
        let fill = Work::new(["sh", "-c", FILL]).wall(FILL_MS);
        session.must(fill.input(pack.reader().await?), "filling the repository's mirror").await?;
        let held = Held { head: trunk.clone(), shallow: pack.shallow.clone() };
        let lent = Lent { name, held, tree };
        let (bytes, packs) = (bytes + pack.bytes, packs + 1);
        let made = Mirror { lent: lent.clone(), bytes, packs, user, looked, used_at: now_ms() };
        self.mirrors.put(key, Some(made))?;
        Ok(lent)
    }

    /// A container that may write to a mirror; `what` it does there begins its name, for the one before may be on its way out.
    pub(super) async fn mirror_session(&self, what: &str, name: &str, user: u32) -> Result<(Session, Passing)> {
        let disk_floor_bytes = self.settings.disk_floor_bytes;
        let container = ContainerSpec {
            name: format!("{what}-{name}"),
            task: None,
            purpose: Purpose::Mirror,
            user,
            image: self.settings.quarantine_image.clone(),
            subnet: None,
            limits: ContainerLimits { workspace_bytes: 0, disk_floor_bytes, ..ContainerLimits::default() },
            env: Vec::new(),
            profile: "sealed".to_owned(),
            mirror: Some(name.to_owned()),
            layered: false,
        };
        let passing = self.passing(&container.name);
        let session = Session::make(self.broker.as_ref(), &container, self.epoch, Arc::clone(&self.ids)).await?;
        require_git(&session, &container.image).await?;
        Ok((session, passing))
    }

    /// What failed with a mirror could be made without it: it was at fault, and the next task makes it anew.
    pub(super) fn blame_mirror(&self, key: &str, lent: &Lent, why: &SandboxError) -> Result<()> {
        tracing::warn!(key, mirror = lent.name, %why, "the mirror is of no use and will be made anew");
        match self.mirrors.current(key) {
            Some(now) if now.name == lent.name => self.mirrors.put(key, None),
            _ => Ok(()),
        }
    }

    /// Old generations go with the last container that had them.
    pub(super) async fn remove_retired(&self) {
        let waiting = std::mem::take(&mut *whole(&self.mirrors.retired));
        for name in waiting {
            if !matches!(self.broker.remove_mirror(&name).await, Ok(true)) {
                whole(&self.mirrors.retired).push(name);
            }
        }
    }

    /// Mirrors of repositories that are not among these go, and those that no task asked for during a month: with the next
    /// [`Sandboxes::reap`].
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] when this cannot be written down.
    pub fn keep_mirrors_of(&self, repositories: &[String]) -> Result<()> {
        self.mirrors.forget_but(repositories, now_ms())
    }
}

/// A new one each time: what an earlier life left under a name is never taken for whole.
fn name(key: &str) -> Result<String> {
    let mut random = [0; 6];
    getrandom::fill(&mut random).map_err(|e| SandboxError::Unavailable(format!("no random numbers: {e}")))?;
    Ok(format!("{}-{}", &hex::encode(Sha256::digest(key))[..12], hex::encode(random)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mirror(name: &str, used_at: i64) -> Mirror {
        let held = Held { head: Commit::parse(&"a".repeat(40)).unwrap(), shallow: Vec::new() };
        let lent = Lent { name: name.to_owned(), held, tree: None };
        Mirror { lent, bytes: 1, packs: 1, user: 10_003, looked: false, used_at }
    }

    #[test]
    fn what_is_remembered_survives_and_what_nobody_needs_is_retired() {
        let dir = tempfile::tempdir().unwrap();
        let mirrors = Mirrors::load(dir.path(), |_| Some(10_003));
        for (key, name, used_at) in [("a", "a-1", 0), ("a", "a-2", UNUSED_MS), ("b", "b-1", UNUSED_MS), ("c", "c-1", 0)]
        {
            mirrors.put(key, Some(mirror(name, used_at))).unwrap();
        }
        assert_eq!(*whole(&mirrors.retired), ["a-1"]);
        mirrors.forget_but(&["a".to_owned(), "c".to_owned()], UNUSED_MS + 1).unwrap();
        let again = Mirrors::load(dir.path(), |_| Some(10_003));
        assert_eq!((again.names(), again.current("a").unwrap().name.as_str()), (vec!["a-2".to_owned()], "a-2"));
        let mut gone = whole(&mirrors.retired).clone();
        gone.sort();
        assert_eq!(gone, ["a-1", "b-1", "c-1"], "another repository, and one unused for long");
        std::fs::write(dir.path().join("mirrors.json"), "{").unwrap();
        assert!(Mirrors::load(dir.path(), |_| Some(10_003)).names().is_empty());
    }

    #[test]
    fn one_that_is_not_the_repository_s_user_s_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let mirrors = Mirrors::load(dir.path(), |_| None);
        for key in ["own", "other", "nobody", "old"] {
            mirrors.put(key, Some(mirror(&format!("{key}-1"), 0))).unwrap();
        }
        // As an earlier release wrote it.
        let path = dir.path().join("mirrors.json");
        let mut all: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        all["old"].as_object_mut().unwrap().remove("user");
        std::fs::write(&path, all.to_string()).unwrap();
        let user_of = |key: &str| match key {
            "other" => Some(10_004),
            "nobody" => None,
            _ => Some(10_003),
        };
        let again = Mirrors::load(dir.path(), user_of);
        assert_eq!(again.names(), ["own-1"]);
        let mut gone = whole(&again.retired).clone();
        gone.sort();
        assert_eq!(gone, ["nobody-1", "old-1", "other-1"], "they go when no container has them");
    }

    #[test]
    fn a_name_is_fit_for_the_engine_and_never_the_same() {
        let (one, two) = (name("My_repo.x").unwrap(), name("My_repo.x").unwrap());
        assert_ne!(one, two);
        assert!(
            one.len() < 40 && one.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'),
            "{one}"
        );
    }
}
