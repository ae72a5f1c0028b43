//! The mirror of a repository: the history its tasks may read, in a volume that each of its sandboxes mounts read-only.
//!
//! Owns creation, content and removal of mirrors (`docs/decisions/0007-a-mirror-for-each-repository.md`). A mirror contains only what the
//! default branch reaches; objects are added and never removed, so a rewritten branch gets a new generation under another name, and the old
//! one is removed after its last container. It only saves time: on any failure the sandbox is made without it. Known mirrors: `known.rs`.
//! Tests: below and `tests/trees/mirror.rs`.

use std::sync::Arc;

use domain::Commit;
use protocol::broker::{ContainerLimits, ContainerSpec, Purpose};
use sha2::{Digest, Sha256};

use super::known::{Mirror, MirrorIndex, whole};
use crate::git::{PackBase, PackFile};
use crate::sandbox::core::Core;
use crate::sandbox::record::{MirrorGeneration, now_ms};
use crate::sandbox::session::{Passing, Session, Work, require_git};
use crate::sandbox::{Result, SandboxError};

/// A difference up to this size is sent to each sandbox, because that is faster than starting a container to add it to the mirror.
const ON_TOP: u64 = 1 << 20;
/// Number of packs that are searched quickly; beyond it a new generation with one pack is made.
const PACKS: u32 = 40;
const FILL_MS: u64 = 1_800_000;

/// stdin is a pack. Only objects, because nobody reads a ref here.
const FILL: &str = r#"
set -eu
[ -d objects ] || git init --bare --quiet --template= .
exec git --git-dir=. index-pack --stdin --fix-thin >/dev/null
"#;

/// Whether a mirror may have caused this error, so that the step is repeated without it.
pub(in crate::sandbox) fn may_be_why(e: &SandboxError) -> bool {
    matches!(e, SandboxError::Refused(_) | SandboxError::Gone(_))
}

/// Makes, fills and hands out mirrors.
pub struct Mirrors {
    pub(super) core: Arc<Core>,
    pub(super) known: MirrorIndex,
}

impl Mirrors {
    pub(in crate::sandbox) fn new(core: Arc<Core>) -> Self {
        let known = MirrorIndex::load(&core.settings.state_dir, |key| core.users.known(key));
        Self { core, known }
    }

    /// The present mirror, for a container that makes nothing new.
    pub(in crate::sandbox) fn current(&self, key: &str) -> Option<MirrorGeneration> {
        self.known.current(key)
    }

    /// Names of all present generations.
    pub(in crate::sandbox) fn names(&self) -> Vec<String> {
        self.known.names()
    }

    /// The repository's mirror with most of what `trunk` reaches; the rest is sent to the sandbox. `None` where the repository is too small
    /// for one or making it failed, so that everything is sent.
    ///
    /// `on_disk`: for a workspace that may be a layer over a tree, which is made if the repository has many files.
    pub(in crate::sandbox) async fn mirror(
        &self,
        key: &str,
        trunk: Option<&Commit>,
        on_disk: bool,
    ) -> Option<MirrorGeneration> {
        let made = self.brought_up(key, trunk?, on_disk).await;
        self.remove_retired().await;
        made.unwrap_or_else(|error| {
            tracing::warn!(key, %error, "no mirror; the repository is sent instead");
            None
        })
    }

    /// The name of a mirror for the barrier's own sandbox, which [`Mirrors::drop_mirror`] removes.
    ///
    /// # Errors
    /// Why there is none, because the barrier's test is incomplete without it.
    pub async fn mirror_for_probe(&self, key: &str, trunk: &Commit) -> Result<Option<String>> {
        let made = self.brought_up(key, trunk, false).await;
        self.remove_retired().await;
        Ok(made?.map(|generation| generation.name))
    }

    /// Removes a repository's mirror as soon as no container uses it.
    pub async fn drop_mirror(&self, key: &str) -> Result<()> {
        self.known.put(key, None)?;
        self.core.leave().await;
        self.remove_retired().await;
        Ok(())
    }

    async fn brought_up(&self, key: &str, trunk: &Commit, on_disk: bool) -> Result<Option<MirrorGeneration>> {
        let lock = self.known.lock_of(key);
        let _one = lock.lock().await;
        let known = self.known.get(key);
        let made = self.made(key, known.clone(), trunk).await;
        if let (Err(why), Some(known)) = (&made, known)
            && may_be_why(why)
        {
            self.blame_mirror(key, &known.generation, why)?;
        }
        match made {
            Ok(Some(generation)) if on_disk => self.with_tree(key, generation).await.map(Some),
            made => made,
        }
    }

    async fn made(&self, key: &str, known: Option<Mirror>, trunk: &Commit) -> Result<Option<MirrorGeneration>> {
        if let Some(known) = known
            && self.core.repos.is_ancestor(key, &known.generation.base.head, trunk).await?
        {
            let (depth, most) = (self.core.settings.history_depth, self.core.settings.base_pack_bytes);
            let held = &known.generation.base;
            let mut pack = self.core.repos.pack(key, std::slice::from_ref(trunk), depth, Some(held), most).await?;
            if pack.bytes <= ON_TOP {
                let used = Mirror { used_at: now_ms(), ..known };
                self.known.put(key, Some(used.clone()))?;
                return Ok(Some(used.generation));
            }
            if known.packs < PACKS && known.bytes + pack.bytes <= 2 * most {
                return self.fill(key, Some(known), trunk, &mut pack).await.map(Some);
            }
        }
        // There is none yet, the branch was rewritten, or it has too many packs.
        let least = self.core.settings.mirror_from_bytes;
        if self.core.repos.bytes(key).await? < least {
            self.known.put(key, None)?;
            return Ok(None);
        }
        let (depth, most) = (self.core.settings.history_depth, self.core.settings.base_pack_bytes);
        let mut pack = self.core.repos.pack(key, std::slice::from_ref(trunk), depth, None, most).await?;
        if pack.bytes < least {
            self.known.put(key, None)?;
            return Ok(None);
        }
        self.fill(key, None, trunk, &mut pack).await.map(Some)
    }

    /// Adds a pack to a generation, or begins one with it. Recorded afterwards, so that after an interruption it is added again or reaped.
    async fn fill(
        &self,
        key: &str,
        old: Option<Mirror>,
        trunk: &Commit,
        pack: &mut PackFile,
    ) -> Result<MirrorGeneration> {
        let (name, tree, bytes, packs, looked) = match old {
            Some(old) => (old.generation.name, old.generation.tree, old.bytes, old.packs, old.looked),
            None => (name(key)?, None, 0, 0, false),
        };
        let user = self.core.users.of(key)?;
        let (session, _passing) = self.mirror_session("mirror", &name, user).await?;
        let fill = Work::new(["sh", "-c", FILL]).wall(FILL_MS);
        session.must(fill.input(pack.reader().await?), "filling the repository's mirror").await?;
        let held = PackBase { head: trunk.clone(), shallow: pack.shallow.clone() };
        let generation = MirrorGeneration { name, base: held, tree };
        let (bytes, packs) = (bytes + pack.bytes, packs + 1);
        let made = Mirror { generation: generation.clone(), bytes, packs, user, looked, used_at: now_ms() };
        self.known.put(key, Some(made))?;
        Ok(generation)
    }

    /// A container that may write to a mirror. `what` is the beginning of its name, because the one before may still be being removed.
    pub(in crate::sandbox) async fn mirror_session(
        &self,
        what: &str,
        name: &str,
        user: u32,
    ) -> Result<(Session, Passing)> {
        let disk_floor_bytes = self.core.settings.disk_floor_bytes;
        let container = ContainerSpec {
            name: format!("{what}-{name}"),
            task: None,
            purpose: Purpose::Mirror,
            user,
            image: self.core.settings.quarantine_image.clone(),
            subnet: None,
            limits: ContainerLimits { workspace_bytes: 0, disk_floor_bytes, ..ContainerLimits::default() },
            env: Vec::new(),
            profile: "sealed".to_owned(),
            mirror: Some(name.to_owned()),
            layered: false,
        };
        let passing = self.core.passing(&container.name);
        let session =
            Session::make(self.core.broker.as_ref(), &container, self.core.epoch, Arc::clone(&self.core.ids)).await?;
        require_git(&session, &container.image).await?;
        Ok((session, passing))
    }

    /// Drops a mirror with which a step failed that succeeded without it; the next task makes it anew.
    pub(in crate::sandbox) fn blame_mirror(
        &self,
        key: &str,
        generation: &MirrorGeneration,
        why: &SandboxError,
    ) -> Result<()> {
        tracing::warn!(key, mirror = generation.name, %why, "the mirror is of no use and will be made anew");
        match self.known.current(key) {
            Some(now) if now.name == generation.name => self.known.put(key, None),
            _ => Ok(()),
        }
    }

    /// Removes old generations that no container uses any more.
    pub(in crate::sandbox) async fn remove_retired(&self) {
        let waiting = std::mem::take(&mut *whole(&self.known.retired));
        for name in waiting {
            if !matches!(self.core.broker.remove_mirror(&name).await, Ok(true)) {
                whole(&self.known.retired).push(name);
            }
        }
    }

    /// Drops mirrors of other repositories and those that no task used for a month; they are removed with the next
    /// [`TaskSandboxes::reap`](crate::sandbox::TaskSandboxes::reap).
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] when the list cannot be written.
    pub fn keep_mirrors_of(&self, repositories: &[String]) -> Result<()> {
        self.known.forget_but(repositories, now_ms())
    }
}

/// A new name each time, so that an incomplete mirror of an earlier life is never used.
fn name(key: &str) -> Result<String> {
    let mut random = [0; 6];
    getrandom::fill(&mut random).map_err(|e| SandboxError::Unavailable(format!("no random numbers: {e}")))?;
    Ok(format!("{}-{}", &hex::encode(Sha256::digest(key))[..12], hex::encode(random)))
}

#[cfg(test)]
mod tests {
    use super::*;

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
