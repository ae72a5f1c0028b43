//! A sandbox is made: container, repository in, check-out.
//!
//! Owns the order in which that happens, so that a half-prepared container is never used: the record gets its boot id last,
//! and whatever is found without one is removed and made anew. Tests: `tests/trees.rs`.

use std::sync::Arc;

use domain::Commit;
use protocol::broker::{ContainerSpec, ContainerState, Purpose};
use protocol::runner::VERSION;
use tokio::io::AsyncReadExt;

use super::link::Link;
use super::mirror;
use super::record::{Lent, Record, now_ms};
use super::session::{self, Session, Work, require_git};
use super::{PrepareSpec, Prepared, Result, SandboxError, Sandboxes};
use crate::git::{Held, PackFile};

/// Makes the repository in the workspace: stdin is `$2` bytes of the file `shallow`, then a pack of `$3` bytes with what the mirror
/// lacks; `$1` is the commit, `$4` the one whose files lie there already. An agent that commits finds a branch and a name of its own; what it commits is never looked at.
const FURNISH: &str = r#"
set -eu
git init --quiet --template= --initial-branch=work .
[ -z "${CAISSON_MIRROR:-}" ] || printf '%s/objects\n' "$CAISSON_MIRROR" > .git/objects/info/alternates
[ "$2" = 0 ] || dd bs=1 count="$2" of=.git/shallow 2>/dev/null
[ "$3" = 0 ] || git --git-dir=.git index-pack --stdin --fix-thin >/dev/null
git --git-dir=.git update-ref refs/heads/work "$1"
out() { git --git-dir=.git --work-tree=. -c checkout.workers=0 -c checkout.thresholdForParallelism=5000 "$@"; }
case "$4" in
    '') out reset --quiet --hard ;;
    "$1") ;;
    *) out read-tree -u --reset "$4^{tree}" "$1^{tree}" ;;
esac
printf '[user]\n\tname = agent\n\temail = agent@sandbox.invalid\n[gc]\n\tauto = 0\n' >> .git/config
"#;

impl Sandboxes {
    /// Makes the sandbox, or finds the one that an earlier try has finished. May be repeated after any failure. Its subnet stays closed
    /// until [`Sandboxes::open`].
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] (engine, router or subnets), [`SandboxError::Refused`] (image without git or sh, a
    /// network without a router, an unknown commit), [`SandboxError::Limit`] (repository larger than the container).
    pub async fn prepare(&self, spec: &PrepareSpec) -> Result<Prepared> {
        if spec.network && !self.subnets.routed() {
            return Err(SandboxError::Refused(
                "a sandbox with a network needs the router, and none is attached".to_owned(),
            ));
        }
        if let Some(boot) = self.standing(spec).await? {
            return Ok(Prepared { boot });
        }
        self.must_be_proven(&spec.image).await?;
        self.take_out(spec).await?;
        if let Some(old) = self.records.get(spec.task) {
            self.sessions.lock().await.remove(&spec.task);
            self.subnets.close(old.subnet).await?;
            self.broker.remove(&old.name).await.map_err(session::from_broker)?;
        }
        let on_disk = spec.limits.workspace_bytes == 0;
        let lent = self.mirror(&spec.repo_key, spec.trunk.as_ref(), on_disk).await;
        let setup = self.set_up(spec, &mut Vec::new()).await?;
        let record = self.begin(Record { setup, ..spec.record() }, spec.network).await?;
        let (session, mirror) = self.furnished(spec, &record, lent).await?;
        let boot = session.boot.clone();
        self.sessions.lock().await.insert(spec.task, Arc::new(session));
        self.records.change(spec.task, |record| {
            // It stands: how the one before was lost is no word on this one.
            (record.boot, record.lost, record.mirror) = (Some(boot.clone()), None, mirror);
        })?;
        Ok(Prepared { boot })
    }

    /// The boot id of a sandbox that fits `spec` and still runs.
    async fn standing(&self, spec: &PrepareSpec) -> Result<Option<String>> {
        let Ok(record) = self.records.ready(spec.task) else { return Ok(None) };
        let fits = record.attempt == spec.attempt && record.base == spec.base.as_str() && record.image == spec.image;
        if !fits || record.runner != VERSION || record.subnet.is_some() != spec.network {
            return Ok(None);
        }
        let found = self.broker.inspect(&record.name).await.map_err(session::from_broker)?;
        if !matches!(found.map(|c| c.state), Some(ContainerState::Running | ContainerState::Paused)) {
            return Ok(None);
        }
        match self.session(spec.task).await {
            Ok(session) => Ok(Some(session.boot.clone())),
            Err(SandboxError::Gone(_)) => Ok(None),
            Err(e) => Err(e),
        }
    }

    async fn furnished(
        &self,
        spec: &PrepareSpec,
        record: &Record,
        lent: Option<Lent>,
    ) -> Result<(Session, Option<Lent>)> {
        let container = ContainerSpec {
            name: record.name.clone(),
            task: Some(spec.task),
            purpose: Purpose::Task,
            user: self.users.of(&spec.repo_key)?,
            image: spec.image.clone(),
            subnet: record.subnet,
            limits: spec.limits,
            env: Vec::new(),
            profile: self.settings.profile.clone(),
            mirror: None,
            layered: false,
        };
        let (session, lent) =
            self.stocked(&container, &spec.repo_key, &spec.base, self.settings.history_depth, lent).await?;
        let lent = lent.map(|lent| Lent { tree: laid_over(&container, &lent).cloned(), ..lent });
        self.forget_index(&spec.task.to_string());
        // A layer tells what changed in it.
        if lent.as_ref().is_none_or(|lent| lent.tree.is_none()) {
            match self.keep_index(&session, spec.task).await {
                Err(error @ (SandboxError::Limit(_) | SandboxError::Refused(_))) => {
                    tracing::warn!(task = spec.task, %error, "the index was not kept; checkpoints read every file");
                }
                done => done?,
            }
        }
        self.bring_setup(&session, record.setup.as_deref()).await?;
        self.bring_back(&session, spec.task, &spec.base).await?;
        Ok((session, lent))
    }

    /// A fresh container with one commit (and `depth` of its history) checked out, and the mirror it reads from.
    pub(super) async fn stocked(
        &self,
        container: &ContainerSpec,
        key: &str,
        commit: &Commit,
        depth: u32,
        lent: Option<Lent>,
    ) -> Result<(Session, Option<Lent>)> {
        let made = self.stock(container, key, commit, depth, lent.as_ref()).await;
        match (made, lent) {
            (Err(why), Some(lent)) if mirror::may_be_why(&why) => {
                if laid_over(container, &lent).is_some() {
                    let plain = Lent { tree: None, ..lent.clone() };
                    if let Ok(session) = self.stock(container, key, commit, depth, Some(&plain)).await {
                        self.blame_tree(key, &lent, &why)?;
                        return Ok((session, Some(plain)));
                    }
                }
                let session = self.stock(container, key, commit, depth, None).await?;
                self.blame_mirror(key, &lent, &why)?;
                Ok((session, None))
            }
            (made, lent) => made.map(|session| (session, lent)),
        }
    }

    /// Brings a commit into the barrier's own sandbox, which has the repository's mirror already, as into a task's. `false` where
    /// git is missing: no task begins there either.
    pub async fn furnish_probe(&self, link: Link, key: &str, commit: &Commit) -> (Link, Result<bool>) {
        let session = Session::over(link, Arc::clone(&self.ids));
        let held = self.mirrors.current(key).map(|lent| lent.held);
        let done = match require_git(&session, "").await {
            Err(SandboxError::Refused(_)) => Ok(false),
            Err(other) => Err(other),
            Ok(()) => match self.packed(key, commit, self.settings.history_depth, held.as_ref()).await {
                Ok(pack) => furnish(&session, commit, pack, None).await.map(|()| true),
                Err(error) => Err(error),
            },
        };
        (session.link, done)
    }

    async fn stock(
        &self,
        container: &ContainerSpec,
        key: &str,
        commit: &Commit,
        depth: u32,
        lent: Option<&Lent>,
    ) -> Result<Session> {
        let tree = lent.and_then(|lent| laid_over(container, lent));
        let mirror = lent.map(|lent| lent.name.clone());
        let container = ContainerSpec { mirror, layered: tree.is_some(), ..container.clone() };
        // The repository is packed while the container comes up.
        let (session, pack) = tokio::join!(
            Session::make(self.broker.as_ref(), &container, self.epoch, Arc::clone(&self.ids)),
            self.packed(key, commit, depth, lent.map(|lent| &lent.held))
        );
        let session = session?;
        let furnished = furnish(&session, commit, pack?, tree).await;
        git_or(&session, &container.image, furnished).await?;
        Ok(session)
    }

    async fn packed(&self, key: &str, commit: &Commit, depth: u32, held: Option<&Held>) -> Result<PackFile> {
        let most = self.settings.base_pack_bytes;
        Ok(self.repos.pack(key, std::slice::from_ref(commit), depth, held, most).await?)
    }
}

/// `tree`: the commit whose files lie there already.
async fn furnish(session: &Session, commit: &Commit, mut pack: PackFile, tree: Option<&Commit>) -> Result<()> {
    let (shallow, bytes) = (pack.shallow_lines(), pack.bytes.to_string());
    let tree = tree.map_or("", Commit::as_str);
    let words = ["sh", "-c", FURNISH, "furnish", commit.as_str(), &shallow.len().to_string(), &bytes, tree];
    let mut input = shallow.as_bytes().chain(pack.reader().await?);
    let work = Work::new(words).wall(1_200_000).input(&mut input);
    session.must(work, "bringing the repository into the sandbox").await
}

impl PrepareSpec {
    /// What is remembered of it before anything is made.
    pub(super) fn record(&self) -> Record {
        Record {
            task: self.task,
            attempt: self.attempt,
            name: format!("task-{}-{}", self.task, self.attempt),
            base: self.base.to_string(),
            image: self.image.clone(),
            subnet: None,
            egress: self.egress.clone(),
            cut_off: false,
            setup: None,
            mirror: None,
            boot: None,
            lost: None,
            anew: self.anew.clone(),
            stopped: false,
            made_at: now_ms(),
            runner: VERSION,
        }
    }
}

/// The commit of the tree that such a container's workspace lies over: only a task's on disk does.
fn laid_over<'a>(container: &ContainerSpec, lent: &'a Lent) -> Option<&'a Commit> {
    let fits = container.purpose == Purpose::Task && container.limits.workspace_bytes == 0;
    lent.tree.as_ref().filter(|_| fits)
}

/// What the first step in a container came to: one that failed in an image without git or sh failed for that.
pub(super) async fn git_or<T>(session: &Session, image: &str, done: Result<T>) -> Result<T> {
    if let Err(SandboxError::Refused(_)) = &done {
        require_git(session, image).await?;
    }
    done
}
