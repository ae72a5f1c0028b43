//! The tree in a mirror: the files of a large repository, checked out once, as the lower layer of workspaces on disk.
//!
//! Owns its creation and its index, which a checkpoint needs if the sandbox began with exactly these files and its layer does not show all
//! changes (`capture/take.rs`). A generation's tree never changes, because running sandboxes are layered over it; a sandbox for a later
//! commit updates its own layer. It only saves time: without it everything is checked out. Tests: `tests/trees/layers.rs`,
//! `broker/tests/docker/layers.rs`.

use super::mirror::Mirrors;
use crate::sandbox::index::LATER;
use crate::sandbox::record::MirrorGeneration;
use crate::sandbox::session::Work;
use crate::sandbox::{Result, SandboxError};

/// Fewer files are checked out as fast.
const FILES: &str = "2000";
const MAKE_MS: u64 = 1_800_000;

/// Checks out the commit `$1` if it has at least `$2` files. The index gets a time of a second that none of its files has (`index.rs`), so
/// that no checkpoint has to read a file because it was written in the same second.
const MAKE: &str = r#"
set -eu
[ "$(git --git-dir=. ls-tree -r --name-only "$1" | head -n "$2" | wc -l)" -ge "$2" ] || exit 0
rm -rf tree
git init --quiet --template= --initial-branch=work tree
export GIT_DIR=. GIT_WORK_TREE=tree GIT_INDEX_FILE="$PWD/tree/.git/index"
git -c checkout.workers=0 -c checkout.thresholdForParallelism=5000 read-tree -u --reset "$1"
later
touch "$GIT_INDEX_FILE"
echo made
"#;

impl Mirrors {
    /// The generation with its tree, which is made if that was not decided yet.
    pub(in crate::sandbox) async fn with_tree(
        &self,
        key: &str,
        generation: MirrorGeneration,
    ) -> Result<MirrorGeneration> {
        if self.known.looked(key, &generation.name) {
            return Ok(generation);
        }
        let tree = match self.make_tree(&generation, self.core.users.of(key)?).await {
            Ok(made) => made.then(|| generation.base.head.clone()),
            Err(error) => {
                tracing::warn!(key, %error, "the files were not checked out in advance; each sandbox does it for itself");
                if let SandboxError::Unavailable(_) = error {
                    return Ok(generation);
                }
                None
            }
        };
        self.known.set_tree(key, &generation.name, tree.as_ref())?;
        Ok(MirrorGeneration { tree, ..generation })
    }

    async fn make_tree(&self, generation: &MirrorGeneration, user: u32) -> Result<bool> {
        let (session, _passing) = self.mirror_session("tree", &generation.name, user).await?;
        let words = ["sh", "-c", &format!("{LATER}{MAKE}"), "make", generation.base.head.as_str(), FILES];
        let made = session.read(Work::new(words).wall(MAKE_MS), 1 << 10, "checking out the repository's files").await?;
        Ok(!made.is_empty())
    }

    /// Drops the tree of a mirror, because a sandbox failed with it and succeeded without it.
    pub(in crate::sandbox) fn blame_tree(
        &self,
        key: &str,
        generation: &MirrorGeneration,
        why: &SandboxError,
    ) -> Result<()> {
        tracing::warn!(key, mirror = generation.name, %why, "workspaces cannot lie over the mirror's tree; each checks out its own");
        self.known.set_tree(key, &generation.name, None)
    }
}
