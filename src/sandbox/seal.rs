//! A checkpoint's tree is taken out of a sandbox.
//!
//! Owns the order (everything in the sandbox is stopped and its berth closed *before* the tree is read) and how the tree
//! is read: with a git directory and an index of our own, so that nothing the agent put into its `.git` (configuration,
//! hooks, filters, attributes, index flags, replaced or planted objects) takes part. What comes out is one pack, capped,
//! straight into the quarantine chamber. Tests: `tests/trees.rs`.

use domain::Commit;
use protocol::runner::Op;
use tokio::io::AsyncSeekExt;

use super::room::{Room, Work};
use super::{Result, SandboxError, Sandboxes, SealSpec, Sealed};
use crate::git::Tree;

/// How long stopping everything may take, in milliseconds.
const QUIESCE_MS: u64 = 10_000;
/// How long reading the tree may take, in milliseconds.
const READ_MS: u64 = 300_000;

/// Makes a git directory of our own in the sandbox and prints its path. It may borrow the agent's objects, but only
/// as bytes: what it borrows is hashed again in quarantine.
const OWN_DIR: &str = r#"
set -eu
dir=$(mktemp -d)
git init --bare --quiet --template= "$dir" >&2
if [ "$1" = borrow ] && [ -d .git/objects ] && [ ! -L .git ] && [ ! -L .git/objects ]; then
    mkdir -p "$dir/objects/info"
    printf '%s\n' "$PWD/.git/objects" > "$dir/objects/info/alternates"
fi
printf '%s\n' "$dir"
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
        let record = self.records.ready(spec.task)?;
        let room = self.room(spec.task).await.map_err(SandboxError::from)?;
        // The chamber that will judge the tree comes up while the tree is read.
        let (quarantine, taken) = tokio::join!(self.quarantine(spec), self.stop_and_take(&room, record.berth, spec));
        let (tree, mut pack) = match taken {
            Ok(taken) => taken,
            Err(e) => {
                if let Ok(unused) = quarantine {
                    unused.dismiss().await;
                }
                return match e {
                    SandboxError::Refused(why) | SandboxError::Limit(why) => Ok(Sealed::Refused { reasons: vec![why] }),
                    e => {
                        self.drop_room(spec.task, &room).await;
                        Err(e)
                    }
                };
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
        let how = if borrow { "borrow" } else { "copy" };
        let made = Work::new(["sh", "-c", OWN_DIR, "seal", how]);
        let made = room.read(made, 4096, "making a git directory to read the tree with").await?;
        let dir = String::from_utf8_lossy(&made).trim().to_owned();
        let taken = self.take_from(room, spec, &dir, borrow).await;
        // Best effort: it lies in the sandbox and dies with it at the latest.
        drop(room.outcome(Work::new(["rm", "-rf", "--", &dir])).await);
        taken
    }

    async fn take_from(
        &self,
        room: &Room,
        spec: &SealSpec,
        dir: &str,
        borrowed: bool,
    ) -> Result<(Tree, tokio::fs::File)> {
        if !borrowed {
            let base = std::slice::from_ref(&spec.base);
            let mut pack = self.repos.pack(&spec.repo_key, base, 1, self.settings.base_pack_bytes).await?;
            let unpack = Work::git(dir, ["index-pack", "--stdin"]).wall(READ_MS);
            room.must(unpack.input(pack.reader().await?), "unpacking the base in the sandbox").await?;
        }
        let base_tree = tree_of(room, dir, &spec.base).await?;
        room.must(Work::git(dir, ["read-tree", base_tree.as_str()]), "reading the base's tree").await?;
        // The index starts as the base's, so a file that is both tracked and ignored stays; `-A` adds, changes, removes.
        let add = Work::git(dir, ["--work-tree=.", "add", "-A", "."]).wall(READ_MS);
        room.must(add, "reading the files of the sandbox").await?;
        let tree = room.read(Work::git(dir, ["write-tree"]).wall(READ_MS), 64, "writing the tree").await?;
        let tree = Tree::parse(String::from_utf8_lossy(&tree).trim())?;
        let mut pack = crate::git::temporary()?;
        let revs = format!("{}\n^{}\n", tree.as_str(), base_tree.as_str());
        let mut revs = revs.as_bytes();
        let work = Work::git(dir, ["pack-objects", "--revs", "--stdout", "-q"]).wall(READ_MS).input(&mut revs);
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
        super::room::succeeded(&done, "packing the tree")?;
        let rewound = pack.rewind().await;
        rewound.map_err(|e| SandboxError::Unavailable(format!("the temporary pack: {e}")))?;
        Ok((tree, pack))
    }
}

async fn tree_of(room: &Room, dir: &str, commit: &Commit) -> Result<Tree> {
    let ask = Work::git(dir, ["rev-parse", "--verify", &format!("{commit}^{{tree}}")]);
    let out = room.read(ask, 64, "finding the base in the sandbox").await?;
    Ok(Tree::parse(String::from_utf8_lossy(&out).trim())?)
}
