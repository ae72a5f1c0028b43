//! A checkpoint's tree is taken out of a sandbox.
//!
//! Owns the order (everything in the sandbox is stopped and its berth closed *before* the tree is read) and how the tree
//! is read: with a git directory and an index of our own, so that nothing the agent put into its `.git` (configuration,
//! hooks, filters, attributes, index flags, replaced or planted objects) takes part. What comes out is one pack, capped,
//! straight into the quarantine chamber. Tests: `tests/trees.rs`.

use protocol::broker::RUNNER;
use protocol::runner::Op;
use tokio::io::AsyncSeekExt;

use super::index::Kept;
use super::record::Record;
use super::room::{Room, Work};
use super::{Result, SandboxError, Sandboxes, SealSpec, Sealed};
use crate::git::{Held, Tree};

/// How long stopping everything may take, in milliseconds.
const QUIESCE_MS: u64 = 10_000;
/// How long reading the tree may take, in milliseconds.
const READ_MS: u64 = 300_000;

/// Reads the tree through a git directory of our own: stdout is its pack, less what the base `$2` holds, and the last line
/// of stderr names it. The directory may borrow the mirror's objects and the agent's, but only as bytes: what it borrows is hashed
/// again in quarantine. The index starts as the base's, so a file that is both tracked and ignored stays; `-A` adds, changes, removes. On stdin
/// are `$3` bytes of a pack of the base, or `$4` bytes of an index that the host kept from the check-out, after a line with its time
/// (`tree`: it lies with the mirror's tree, and stdin is empty): with it only what changed since is read. No agent can set a file's time of
/// change back (`ctime`), and git compares that too. Where the workspace is a layer, the kernel has kept apart whatever may have
/// changed (`$5`, the runner, names it), and git looks at nothing else; it looks for untracked files only if the layer has any.
///
/// The commit is of this pack alone: between two commits git packs what differs without marking all of the base first, as in every push;
/// what was moved is then in it, too. If that made it too large, the next way (`copy`) marks all.
const TAKE: &str = r#"
set -eu
dir=$(mktemp -d)
# Nobody waits for this.
trap 'rm -rf "$dir" </dev/null >/dev/null 2>&1 &' EXIT
export GIT_DIR="$dir"
export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x
mkdir -p "$dir/objects/info" "$dir/refs"
echo "$2" > "$dir/HEAD"
git() { command git --work-tree=. -c core.bigFileThreshold=1 -c core.looseCompression=0 -c pack.compression=1 -c maintenance.auto=false "$@"; }
[ -z "${CAISSON_MIRROR:-}" ] || printf '%s/objects\n' "$CAISSON_MIRROR" >> "$dir/objects/info/alternates"
sparse=--sparse
if [ "$1" = copy ]; then
    sparse=--no-sparse
    [ "$3" = 0 ] || git index-pack --stdin --fix-thin >/dev/null
elif [ -d .git/objects ] && [ ! -L .git ] && [ ! -L .git/objects ]; then
    printf '%s\n' "$PWD/.git/objects" >> "$dir/objects/info/alternates"
fi
names=
if [ "$4" != 0 ] && [ -n "${CAISSON_LAYER:-}" ]; then
    "$5" changed "$CAISSON_LAYER" "$CAISSON_MIRROR/tree" . > "$dir/changed" &
    names=$!
fi
case "$4" in
    0)
        git read-tree "$2^{tree}"
        # Compared, not written: git cannot touch a pack that is read-only, and would write every object that is in one once more.
        git update-index -q --refresh >/dev/null || :
        ;;
    # With its time: by that git knows which entries it must not trust.
    tree)
        cat "$CAISSON_MIRROR/tree/.git/index" > "$dir/index"
        touch -r "$CAISSON_MIRROR/tree/.git/index" "$dir/index"
        ;;
    *)
        read -r second
        cat > "$dir/index"
        touch -d "@$second" "$dir/index"
        ;;
esac
said=none watch=false
if [ "$names" ]; then
    wait "$names" && said=0 || said=$?
    case $said in 0 | 10) watch="cat '$dir/changed' #" ;; esac
fi
if [ "$said" = 0 ]; then
    git -c core.fsmonitor="$watch" commit -q -a --allow-empty --no-verify --no-status --no-gpg-sign -m x >&2
else
    git -c core.fsmonitor="$watch" add -A .
    # Whether all of it is there is found out in quarantine.
    tree=$(git write-tree --missing-ok)
    commit=$(git commit-tree -p "$2" -m x "$tree")
    echo "$commit" > "$dir/HEAD"
fi
git rev-parse --verify 'HEAD^{tree}' > "$dir/tree" &
printf 'HEAD\n^%s\n' "$2" | git pack-objects --revs "$sparse" --stdout -q
wait $!
read -r tree < "$dir/tree"
printf '\n%s\n' "$tree" >&2
"#;

/// Where the base's objects come from.
enum Way {
    /// From the agent's own store, and the mirror; with the index that was kept, if one was.
    Borrow(Kept),
    /// Sent; with a mirror, what that lacks.
    Copy(Option<Held>),
}

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
        let room = self.room(task).await?;
        // The chamber that will judge the tree comes up while the tree is read, if not before.
        let (quarantine, taken) =
            tokio::join!(self.quarantine_of(&spec.stretch), self.stop_and_take(&room, record, spec));
        let (tree, mut pack) = match taken {
            Ok(taken) => taken,
            Err(SandboxError::Refused(why) | SandboxError::Limit(why)) => {
                return Ok(Sealed::Refused { reasons: vec![why] });
            }
            Err(e) => {
                self.drop_room(task, &room).await;
                return Err(self.unless_trusted(task, e).await);
            }
        };
        self.examine(quarantine?, spec, &tree, &mut pack).await
    }

    /// Every process but the runner dies and the berth is closed, and only then is the tree read.
    async fn stop_and_take(&self, room: &Room, record: Record, spec: &SealSpec) -> Result<(Tree, tokio::fs::File)> {
        let stopped = room.run(Op::Quiesce, QUIESCE_MS).await;
        // Closed whether or not everything has died: both walls, not one.
        self.close_berth(record.berth).await?;
        let stopped = super::room::succeeded(&stopped?, "stopping everything in the sandbox");
        stopped.map_err(|e| SandboxError::Unavailable(e.to_string()))?;
        self.take(room, &record, spec).await
    }

    /// The tree and its pack. First with the agent's own objects at hand (fast); if that fails in any way, with the base brought in
    /// afresh, so that an agent that broke its `.git` has still done its work: from the mirror, or else whole.
    async fn take(&self, room: &Room, record: &Record, spec: &SealSpec) -> Result<(Tree, tokio::fs::File)> {
        let mut ways = vec![Way::Borrow(self.kept_index(record))];
        ways.extend(record.mirror.as_ref().map(|lent| Way::Copy(Some(lent.held.clone()))));
        for way in ways {
            match self.take_with(room, spec, &way).await {
                Err(SandboxError::Refused(_) | SandboxError::Limit(_)) => {}
                ended => return ended,
            }
        }
        self.take_with(room, spec, &Way::Copy(None)).await
    }

    async fn take_with(&self, room: &Room, spec: &SealSpec, way: &Way) -> Result<(Tree, tokio::fs::File)> {
        let mut base = match way {
            Way::Borrow(_) => None,
            Way::Copy(held) => {
                let (base, most) = (std::slice::from_ref(&spec.stretch.base), self.settings.base_pack_bytes);
                Some(self.repos.pack(&spec.stretch.repo_key, base, 1, held.as_ref(), most).await?)
            }
        };
        let how = if base.is_none() { "borrow" } else { "copy" };
        let pack = base.as_ref().map_or(0, |base| base.bytes).to_string();
        let (mut index, kept): (&[u8], _) = match way {
            Way::Borrow(Kept::Here(index)) => (index, index.len().to_string()),
            Way::Borrow(Kept::WithTree) => (&[], "tree".to_owned()),
            Way::Borrow(Kept::Nothing) | Way::Copy(_) => (&[], "0".to_owned()),
        };
        let words = ["sh", "-c", TAKE, "take", how, spec.stretch.base.as_str(), &pack, &kept, RUNNER];
        let mut work = Work::new(words).wall(READ_MS);
        if let Some(base) = &mut base {
            work = work.input(base.reader().await?);
        } else if !index.is_empty() {
            work = work.input(&mut index);
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
