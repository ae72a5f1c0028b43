//! The quarantine container, in which objects made by an agent are read for the first time.
//!
//! Owns the container: new, without a network, with the objects that the new tree is compared with, made in advance while the agent still
//! works ([`Quarantines::warm`]), never reused, and removed in every case. `inspection.rs` has the git commands. Must not let git on the
//! host read anything before the container has. Tests: `tests/trees.rs`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use domain::Commit;
use protocol::broker::{ContainerLimits, ContainerSpec, Purpose};
use tokio::io::AsyncReadExt;
use tokio::task::JoinHandle;

use super::inspection::{self, DIR, Step, Stop};
use crate::git::{PackFile, Tree};
use crate::sandbox::cache::mirror::{self, Mirrors};
use crate::sandbox::core::Core;
use crate::sandbox::record::MirrorGeneration;
use crate::sandbox::session::{Passing, Session, Work, git_or};
use crate::sandbox::{CaptureSpec, Captured, Result, SandboxError, Segment};

/// Makes the repository `$1`: stdin is `$2` bytes of the file `shallow`, then a pack of `$3` bytes with what the mirror lacks.
const TAKE_BASE: &str = r#"
set -eu
git init --bare --quiet --template= "$1"
[ -z "${CAISSON_MIRROR:-}" ] || printf '%s/objects\n' "$CAISSON_MIRROR" > "$1/objects/info/alternates"
[ "$2" = 0 ] || dd bs=1 count="$2" of="$1/shallow" 2>/dev/null
[ "$3" = 0 ] || git --git-dir="$1" index-pack --stdin --fix-thin >/dev/null
for id in $4; do git --git-dir="$1" cat-file -e "$id^{tree}"; done
"#;

/// A quarantine container with the objects for comparison, but nothing untrusted yet.
pub struct Quarantine {
    session: Session,
    passing: Passing,
    base_bytes: u64,
    /// The mirror it reads from.
    generation: Option<MirrorGeneration>,
}

impl Quarantine {
    /// Whether the container still runs; one made in advance may have gone with its engine.
    async fn stands(&self) -> bool {
        self.session.must(Work::new(["true"]).wall(10_000), "asking the quarantine").await.is_ok()
    }
}

/// A quarantine that is being made, and for which segment.
type Making = (Segment, JoinHandle<Result<Quarantine>>);

/// Containers made in advance, by task.
#[derive(Default)]
struct Standby {
    making: Mutex<HashMap<i64, Making>>,
    serial: AtomicU32,
}

impl Standby {
    fn take(&self, task: i64) -> Option<Making> {
        self.making.lock().unwrap_or_else(PoisonError::into_inner).remove(&task)
    }
}

/// Makes quarantines, and has trees judged in them.
pub struct Quarantines {
    core: Arc<Core>,
    mirrors: Arc<Mirrors>,
    standby: Standby,
}

impl Quarantines {
    pub(in crate::sandbox) fn new(core: Arc<Core>, mirrors: Arc<Mirrors>) -> Self {
        Self { core, mirrors, standby: Standby::default() }
    }

    /// Drops the quarantine made in advance for a task; its container is removed with the last handle, even while it is being made.
    pub(in crate::sandbox) fn forget(&self, task: i64) {
        drop(self.standby.take(task));
    }

    /// Drops all quarantines made in advance.
    pub(in crate::sandbox) fn forget_all(&self) {
        self.standby.making.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Makes the quarantine container of a segment while its actions still run. A repeated call does nothing; errors show when the
    /// container is needed.
    pub fn warm(self: &Arc<Self>, segment: &Segment) {
        let mut making = self.standby.making.lock().unwrap_or_else(PoisonError::into_inner);
        if making.get(&segment.task).is_some_and(|(made_for, _)| made_for == segment) {
            return;
        }
        let (this, of) = (Arc::clone(self), segment.clone());
        let work = tokio::spawn(async move { this.quarantine(&of).await });
        making.insert(segment.task, (segment.clone(), work));
    }

    /// The container made in advance for this segment, otherwise a new one.
    pub(in crate::sandbox) async fn quarantine_of(&self, segment: &Segment) -> Result<Quarantine> {
        if let Some((made_for, making)) = self.standby.take(segment.task)
            && made_for == *segment
            && let Ok(Ok(ready)) = making.await
            && ready.stands().await
        {
            return Ok(ready);
        }
        self.quarantine(segment).await
    }

    /// Makes a quarantine container with the parent's and the base's objects, which may happen while the tree is still being read.
    ///
    /// # Errors
    /// `Unavailable` when engine or disk are unreachable, `Refused` for an image without git or sh.
    pub async fn quarantine(&self, segment: &Segment) -> Result<Quarantine> {
        let generation = self.mirrors.current(&segment.repo_key);
        match (self.quarantine_on(segment, generation.as_ref()).await, generation) {
            (Err(why), Some(generation)) if mirror::may_be_why(&why) => {
                let made = self.quarantine_on(segment, None).await?;
                self.mirrors.blame_mirror(&segment.repo_key, &generation, &why)?;
                Ok(made)
            }
            (made, _) => made,
        }
    }

    async fn quarantine_on(&self, segment: &Segment, generation: Option<&MirrorGeneration>) -> Result<Quarantine> {
        let mut known = vec![segment.parent.clone()];
        if segment.base != segment.parent {
            known.push(segment.base.clone());
        }
        let mut base = self
            .core
            .repos
            .pack(
                &segment.repo_key,
                &known,
                1,
                generation.map(|generation| &generation.base),
                self.core.settings.base_pack_bytes,
            )
            .await?;
        let room_for = 4 * (base.bytes + self.core.settings.tree_pack_bytes) + (64 << 20);
        // A unique name, because an unused one may still be being removed.
        let serial = self.standby.serial.fetch_add(1, Ordering::Relaxed);
        let container = ContainerSpec {
            name: format!("quarantine-{}-{}-{}-{serial}", segment.task, segment.n, self.core.epoch),
            task: Some(segment.task),
            purpose: Purpose::Quarantine,
            user: self.core.users.of(&segment.repo_key)?,
            image: self.core.settings.quarantine_image.clone(),
            subnet: None,
            limits: ContainerLimits {
                memory_bytes: self.core.settings.policy.memory_bytes + room_for,
                workspace_bytes: room_for,
                ..ContainerLimits::default()
            },
            env: Vec::new(),
            profile: "sealed".to_owned(),
            mirror: generation.map(|generation| generation.name.clone()),
            layered: false,
        };
        let passing = self.core.passing(&container.name);
        let session =
            Session::make(self.core.broker.as_ref(), &container, self.core.epoch, Arc::clone(&self.core.ids)).await?;
        let taken = take_base(&session, &known, &mut base).await;
        git_or(&session, &container.image, taken).await?;
        Ok(Quarantine { session, passing, base_bytes: base.bytes, generation: generation.cloned() })
    }

    /// Judges an untrusted pack that claims to contain `tree`, and makes the checkpoint's commit of it. If git cannot read something with a
    /// mirror it is judged again without it, because the mirror may be damaged.
    ///
    /// # Errors
    /// `Unavailable` when engine or disk are unreachable. A tree that breaks a rule is [`Captured::Refused`].
    pub async fn examine(
        &self,
        quarantine: Quarantine,
        spec: &CaptureSpec,
        tree: &Tree,
        pack: &mut tokio::fs::File,
    ) -> Result<Captured> {
        let generation = quarantine.generation.clone();
        let done = self.judged_in(quarantine, spec, tree, pack).await;
        let (Err(stop), Some(generation)) = (&done, generation) else { return as_result(done) };
        let Some(why) = may_be_the_mirror(stop) else { return as_result(done) };
        let whole = self.quarantine_on(&spec.segment, None).await?;
        let again = self.judged_in(whole, spec, tree, pack).await;
        if again.is_ok() {
            self.mirrors.blame_mirror(&spec.segment.repo_key, &generation, &why)?;
        }
        as_result(again)
    }

    /// Judges in a container that is removed afterwards without waiting.
    async fn judged_in(
        &self,
        quarantine: Quarantine,
        spec: &CaptureSpec,
        tree: &Tree,
        pack: &mut tokio::fs::File,
    ) -> Step<Captured> {
        let Quarantine { session, passing: _passing, base_bytes, .. } = quarantine;
        inspection::judged(&self.core, &session, spec, tree, base_bytes, pack).await
    }
}

/// The error, if a mirror may have caused it; a broken rule is always the tree's fault.
fn may_be_the_mirror(stop: &Stop) -> Option<SandboxError> {
    match stop {
        Stop::Unread(why) => Some(SandboxError::Refused(why.clone())),
        Stop::Fail(e) if mirror::may_be_why(e) => Some(e.clone()),
        Stop::Refuse(_) | Stop::Fail(_) => None,
    }
}

fn as_result(done: Step<Captured>) -> Result<Captured> {
    match done {
        Ok(captured) => Ok(captured),
        Err(Stop::Refuse(reasons)) => Ok(Captured::Refused { reasons }),
        Err(Stop::Unread(why)) => Ok(Captured::Refused { reasons: vec![why] }),
        Err(Stop::Fail(e)) => Err(e),
    }
}

async fn take_base(session: &Session, known: &[Commit], base: &mut PackFile) -> Result<()> {
    let (shallow, bytes) = (base.shallow_lines(), base.bytes.to_string());
    let known: Vec<&str> = known.iter().map(Commit::as_str).collect();
    let mut input = shallow.as_bytes().chain(base.reader().await?);
    let words = ["sh", "-c", TAKE_BASE, "base", DIR, &shallow.len().to_string(), &bytes, &known.join(" ")];
    let work = Work::new(words).wall(600_000);
    session.must(work.input(&mut input), "unpacking the base").await
}
