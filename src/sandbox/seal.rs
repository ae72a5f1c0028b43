//! A checkpoint's tree is taken out of a sandbox.
//!
//! Owns the order (everything in the sandbox is stopped and its berth closed *before* the tree is read) and how the tree
//! is read: with a git directory and an index of our own, so that nothing the agent put into its `.git` (configuration,
//! hooks, filters, attributes, index flags, replaced or planted objects) takes part. What comes out is one pack, capped,
//! straight into the quarantine chamber. Tests: `tests/trees.rs`.

use protocol::runner::Op;
use tokio::io::AsyncSeekExt;

use super::room::{Room, Work};
use super::{Result, SandboxError, Sandboxes, SealSpec, Sealed};
use crate::git::Tree;

/// How long stopping everything may take, in milliseconds.
const QUIESCE_MS: u64 = 10_000;
/// How long reading the tree may take, in milliseconds.
const READ_MS: u64 = 300_000;

/// Reads the tree through a git directory of our own: stdout is its pack, less what the base `$2` holds, and the last line
/// of stderr names it. The directory may borrow the agent's objects, but only as bytes: what it borrows is hashed again in
/// quarantine. The index starts as the base's, so a file that is both tracked and ignored stays; `-A` adds, changes, removes.
const TAKE: &str = r#"
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
git init --bare --quiet --template= "$dir" >&2
export GIT_DIR="$dir"
if [ "$1" = copy ]; then
    git index-pack --stdin >/dev/null
elif [ -d .git/objects ] && [ ! -L .git ] && [ ! -L .git/objects ]; then
    mkdir -p "$dir/objects/info"
    printf '%s\n' "$PWD/.git/objects" > "$dir/objects/info/alternates"
fi
base=$(git rev-parse --verify "$2^{tree}")
git read-tree "$base"
git --work-tree=. add -A .
tree=$(git write-tree)
printf '%s\n^%s\n' "$tree" "$base" | git pack-objects --revs --stdout -q
printf '\n%s\n' "$tree" >&2
"#;

impl Sandboxes {
    /// Stops the sandbox, takes its tree, has it checked, and keeps the commit as `refs/caisson/<task>/<n>`.
    ///
    /// Repeatable: a checkpoint that was kept before the caller heard of it is made again from the same tree and is the
    /// same commit (author, date and message are the caller's).
    ///
    /// # Errors
    /// [`SandboxError::Gone`] when the sandbox went away before its tree was taken, [`SandboxError::Unavailable`] for
    /// engine, router or disk. What is wrong with the tree is [`Sealed::Refused`].
    pub async fn seal(&self, spec: &SealSpec) -> Result<Sealed> {
        let task = spec.stretch.task;
        let record = self.records.ready(task)?;
        let room = self.room(task).await.map_err(SandboxError::from)?;
        // The chamber that will judge the tree comes up while the tree is read, if not before.
        let (quarantine, taken) =
            tokio::join!(self.quarantine_of(&spec.stretch), self.stop_and_take(&room, record.berth, spec));
        let (tree, mut pack) = match taken {
            Ok(taken) => taken,
            Err(SandboxError::Refused(why) | SandboxError::Limit(why)) => {
                return Ok(Sealed::Refused { reasons: vec![why] });
            }
            Err(e) => {
                self.drop_room(task, &room).await;
                return Err(e);
            }
        };
        self.examine(quarantine?, spec, &tree, &mut pack).await
    }

    /// Every process but the runner dies and the berth is closed, and only then is the tree read.
    async fn stop_and_take(&self, room: &Room, berth: Option<u32>, spec: &SealSpec) -> Result<(Tree, tokio::fs::File)> {
        let stopped = room.run(Op::Quiesce, QUIESCE_MS).await;
        // Closed whether or not everything has died: both walls, not one.
        self.close_berth(berth).await?;
        let stopped = super::room::succeeded(&stopped?, "stopping everything in the sandbox");
        stopped.map_err(|e| SandboxError::Unavailable(e.to_string()))?;
        self.take(room, spec).await
    }

    /// The tree and its pack. First with the agent's own objects at hand (fast); if that fails in any way, with a fresh
    /// copy of the base, so that an agent that broke its `.git` has still done its work.
    async fn take(&self, room: &Room, spec: &SealSpec) -> Result<(Tree, tokio::fs::File)> {
        let fast = self.take_with(room, spec, true).await;
        match fast {
            Ok(taken) => Ok(taken),
            Err(SandboxError::Unavailable(why)) => Err(SandboxError::Unavailable(why)),
            Err(SandboxError::Gone(why)) => Err(SandboxError::Gone(why)),
            Err(_) => self.take_with(room, spec, false).await,
        }
    }

    async fn take_with(&self, room: &Room, spec: &SealSpec, borrow: bool) -> Result<(Tree, tokio::fs::File)> {
        let mut base = match borrow {
            true => None,
            false => {
                let base = std::slice::from_ref(&spec.stretch.base);
                Some(self.repos.pack(&spec.stretch.repo_key, base, 1, self.settings.base_pack_bytes).await?)
            }
        };
        let how = if borrow { "borrow" } else { "copy" };
        let mut work = Work::new(["sh", "-c", TAKE, "take", how, spec.stretch.base.as_str()]).wall(READ_MS);
        if let Some(base) = &mut base {
            work = work.input(base.reader().await?);
        }
        let mut pack = crate::git::temporary()?;
        let done = room.spool(work, &mut pack, self.settings.tree_pack_bytes).await;
        let done = done.map_err(|e| match e {
            SandboxError::Limit(_) => {
                let most = self.settings.tree_pack_bytes >> 20;
                SandboxError::Limit(format!(
                    "what changed since the base is more than {most} MB packed; ignore or remove large files"
                ))
            }
            other => other,
        })?;
        super::room::succeeded(&done, "reading the files of the sandbox")?;
        let rewound = pack.rewind().await;
        rewound.map_err(|e| SandboxError::Unavailable(format!("the temporary pack: {e}")))?;
        Ok((Tree::parse(done.text.trim_end().lines().last().unwrap_or_default())?, pack))
    }
}
