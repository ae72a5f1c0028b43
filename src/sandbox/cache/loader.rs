//! Fills a new container with one commit of a repository, from its mirror and what that lacks.
//!
//! Owns the repetition without a mirror, or without its tree, when that may be at fault. Tests: `tests/trees/mirror.rs`.

use std::sync::Arc;

use domain::Commit;
use protocol::broker::{ContainerSpec, Purpose};
use tokio::io::AsyncReadExt;

use super::mirror::{self, Mirrors};
use crate::git::{PackBase, PackFile};
use crate::sandbox::core::Core;
use crate::sandbox::link::Link;
use crate::sandbox::record::MirrorGeneration;
use crate::sandbox::session::{Session, Work, git_or, require_git};
use crate::sandbox::{Result, SandboxError};

/// Makes the repository in the workspace: stdin is `$2` bytes of the file `shallow`, then a pack of `$3` bytes with what the mirror lacks;
/// `$1` is the commit, `$4` the one whose files are already there. An agent that commits gets a branch and an identity; its commits are
/// never read.
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

/// Fills containers with repositories.
pub struct RepositoryLoader {
    core: Arc<Core>,
    mirrors: Arc<Mirrors>,
}

impl RepositoryLoader {
    pub(in crate::sandbox) fn new(core: Arc<Core>, mirrors: Arc<Mirrors>) -> Self {
        Self { core, mirrors }
    }

    /// A new container with one commit (and `depth` of its history) checked out, and the mirror it reads from.
    pub(in crate::sandbox) async fn loaded(
        &self,
        container: &ContainerSpec,
        key: &str,
        commit: &Commit,
        depth: u32,
        generation: Option<MirrorGeneration>,
    ) -> Result<(Session, Option<MirrorGeneration>)> {
        let made = self.load(container, key, commit, depth, generation.as_ref()).await;
        match (made, generation) {
            (Err(why), Some(generation)) if mirror::may_be_why(&why) => {
                if laid_over(container, &generation).is_some() {
                    let plain = MirrorGeneration { tree: None, ..generation.clone() };
                    if let Ok(session) = self.load(container, key, commit, depth, Some(&plain)).await {
                        self.mirrors.blame_tree(key, &generation, &why)?;
                        return Ok((session, Some(plain)));
                    }
                }
                let session = self.load(container, key, commit, depth, None).await?;
                self.mirrors.blame_mirror(key, &generation, &why)?;
                Ok((session, None))
            }
            (made, generation) => made.map(|session| (session, generation)),
        }
    }

    /// Checks a commit out in the barrier's own sandbox, which already has the repository's mirror. `false` where git is missing, so that
    /// no task could begin there either.
    pub async fn furnish_probe(&self, link: Link, key: &str, commit: &Commit) -> (Link, Result<bool>) {
        let session = Session::over(link, Arc::clone(&self.core.ids));
        let held = self.mirrors.current(key).map(|generation| generation.base);
        let done = match require_git(&session, "").await {
            Err(SandboxError::Refused(_)) => Ok(false),
            Err(other) => Err(other),
            Ok(()) => match self.packed(key, commit, self.core.settings.history_depth, held.as_ref()).await {
                Ok(pack) => furnish(&session, commit, pack, None).await.map(|()| true),
                Err(error) => Err(error),
            },
        };
        (session.link, done)
    }

    async fn load(
        &self,
        container: &ContainerSpec,
        key: &str,
        commit: &Commit,
        depth: u32,
        generation: Option<&MirrorGeneration>,
    ) -> Result<Session> {
        let tree = generation.and_then(|generation| laid_over(container, generation));
        let mirror = generation.map(|generation| generation.name.clone());
        let container = ContainerSpec { mirror, layered: tree.is_some(), ..container.clone() };
        // The repository is packed while the container starts.
        let (session, pack) = tokio::join!(
            Session::make(self.core.broker.as_ref(), &container, self.core.epoch, Arc::clone(&self.core.ids)),
            self.packed(key, commit, depth, generation.map(|generation| &generation.base))
        );
        let session = session?;
        let furnished = furnish(&session, commit, pack?, tree).await;
        git_or(&session, &container.image, furnished).await?;
        Ok(session)
    }

    async fn packed(&self, key: &str, commit: &Commit, depth: u32, held: Option<&PackBase>) -> Result<PackFile> {
        let most = self.core.settings.base_pack_bytes;
        Ok(self.core.repos.pack(key, std::slice::from_ref(commit), depth, held, most).await?)
    }
}

/// Makes the repository; `tree` is the commit whose files are already there.
async fn furnish(session: &Session, commit: &Commit, mut pack: PackFile, tree: Option<&Commit>) -> Result<()> {
    let (shallow, bytes) = (pack.shallow_lines(), pack.bytes.to_string());
    let tree = tree.map_or("", Commit::as_str);
    let words = ["sh", "-c", FURNISH, "furnish", commit.as_str(), &shallow.len().to_string(), &bytes, tree];
    let mut input = shallow.as_bytes().chain(pack.reader().await?);
    let work = Work::new(words).wall(1_200_000).input(&mut input);
    session.must(work, "bringing the repository into the sandbox").await
}

/// The commit of the tree that a container's workspace is layered over; only a task's on disk is.
pub(in crate::sandbox) fn laid_over<'a>(
    container: &ContainerSpec,
    generation: &'a MirrorGeneration,
) -> Option<&'a Commit> {
    let fits = container.purpose == Purpose::Task && container.limits.workspace_bytes == 0;
    generation.tree.as_ref().filter(|_| fits)
}
