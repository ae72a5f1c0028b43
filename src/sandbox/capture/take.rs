//! Takes a checkpoint's tree out of a sandbox.
//!
//! Owns the order (everything in the sandbox is stopped and its subnet closed *before* the tree is read) and the reading: with the bot's
//! own git directory and index, so that nothing in the agent's `.git` (configuration, hooks, filters, attributes, index flags, replaced or
//! planted objects) has an effect. The result is one pack of limited size, sent straight into the quarantine container. Tests:
//! `tests/trees.rs`.

use std::sync::Arc;

use domain::Commit;
use protocol::broker::RUNNER;
use protocol::runner::{Op, Status};
use tokio::io::AsyncSeekExt;

use super::by_products::ByProducts;
use crate::git::{PackBase, Tree};
use crate::sandbox::core::Core;
use crate::sandbox::index::{Indexes, Kept};
use crate::sandbox::record::Record;
use crate::sandbox::session::{self, NO_PIPES, Session, Work};
use crate::sandbox::{CaptureSpec, Result, SandboxError};

/// How long stopping everything may take, in milliseconds.
pub(super) const QUIESCE_MS: u64 = 10_000;
/// How long reading the tree may take, in milliseconds.
const READ_MS: u64 = 300_000;

/// Makes the bot's git directory in `$dir` on the base `$1`. It may read objects of the mirror and of the agent (unless `$2` says that the
/// base is sent), because everything is hashed again in quarantine.
const OWN: &str = r#"
set -eu
dir=$(mktemp -d)
# Nobody waits for this.
trap 'rm -rf "$dir" </dev/null >/dev/null 2>&1 &' EXIT
export GIT_DIR="$dir"
export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x
mkdir -p "$dir/objects/info" "$dir/refs" "$dir/info"
echo "$1" > "$dir/HEAD"
# By-products of known tools are ignored like what the repository's own .gitignore names, which goes before this.
printf '%s' "$5" > "$dir/info/exclude"
: > "$dir/left-out"
sparse=--sparse
git() { command git --work-tree=. -c core.bigFileThreshold=1 -c core.looseCompression=0 -c pack.compression=1 -c maintenance.auto=false "$@"; }
[ -z "${CAISSON_MIRROR:-}" ] || printf '%s/objects\n' "$CAISSON_MIRROR" >> "$dir/objects/info/alternates"
# A store with a pipe, or a link or another store that may lead to one, is not lent: git would wait for it without end.
others=.git/objects/info/alternates
if [ "$2" = borrow ] && [ -d .git/objects ] && [ ! -L .git ] && [ ! -L .git/objects ] &&
    [ -z "$(find .git/objects ! -type d ! -type f -print 2>/dev/null | head -n 1)" ] &&
    { [ ! -s $others ] || [ "$(head -c 4096 $others)" = "${CAISSON_MIRROR:-}/objects" ]; }; then
    printf '%s\n' "$PWD/.git/objects" >> "$dir/objects/info/alternates"
fi
"#;

/// For a workspace layered over the mirror's tree of the commit `$3`: git makes a commit of what the runner (`$4`) reads from the layer,
/// which contains everything that may have changed. No index or file time is compared, and nothing else is read.
const TAKE_LAYER: &str = r#"
if [ "$3" != "$1" ]; then git diff-tree -r -z --raw --no-renames "$3" "$1"; fi > "$dir/later"
"$4" changed "$CAISSON_LAYER" "$CAISSON_MIRROR/tree" . "$1" < "$dir/later" |
    git -c fastimport.unpackLimit=0 fast-import --quiet --done --depth=0 >&2
commit=$(git rev-parse --verify refs/heads/taken)
"#;

/// The index begins as the base's, so that a file both tracked and ignored stays; `-A` adds, changes, removes. stdin is `$3` bytes of a
/// pack of the base, or `$4` bytes of an index kept on the host after a line with its time (`tree`: the mirror's tree has it, and stdin is
/// empty); with it only changed files are read. An agent cannot reset a file's change time (`ctime`), which git compares too.
const TAKE_INDEX: &str = r#"
if [ "$2" = copy ]; then
    sparse=--no-sparse
    [ "$3" = 0 ] || git index-pack --stdin --fix-thin >/dev/null
fi
case "$4" in
    0)
        git read-tree "$1^{tree}"
        # Compared, not written: git cannot touch a pack that is read-only, and would write every object that is in one once more. What has
        # the base's very bytes is unchanged, also where attributes would store it with other ends of lines than the base does.
        printf '* -text !eol !ident !working-tree-encoding !filter\n' > "$dir/info/attributes"
        git update-index -q --refresh >/dev/null || :
        rm "$dir/info/attributes"
        # Nothing runs that could write a file in the second in which it was compared.
        touch -d "@$(($(date +%s) + 2))" "$dir/index" 2>/dev/null || :
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
# Of what stands in the place of a submodule only the commit is compared: for more, `add` would start what that repository's configuration
# names. Without a commit it is nothing, and what lies there would be lost. A line feed of a path is listed as another sign.
git ls-files -s -z | tr '\n\0' '\002\n' | sed -n 's/^160000 [0-9a-f]* 0.//p' > "$dir/submodules"
feed=$(printf '\002')
while IFS= read -r sub; do
    case "$sub" in
        *"$feed"*)
            echo "the base has a submodule whose path holds a line feed, so that what lies there cannot be judged" >&2
            exit 1
            ;;
    esac
    { [ -d "$sub" ] && [ ! -L "$sub" ] && [ -n "$(ls -A "./$sub")" ]; } || continue
    if [ ! -e "$sub/.git" ] || ! git --literal-pathspecs diff-files --quiet --ignore-submodules=dirty -- "$sub"; then
        printf '%s is a submodule: only the commit that the base names, or nothing, may be there; move what you made in it, and leave it empty\n' "$sub" >&2
        exit 1
    fi
    git update-index --skip-worktree -- "$sub"
done < "$dir/submodules"
git add -A .
# What is neither taken now nor ignored by the repository itself.
git -c core.quotePath=false ls-files -o --directory --no-empty-directory --exclude-per-directory=.gitignore > "$dir/left-out"
# Whether all of it is there is found out in quarantine.
tree=$(git write-tree --missing-ok)
commit=$(git commit-tree -p "$1" -m x "$tree")
"#;

/// stdout is the pack of `$commit` without the base's objects; stderr names by-products left out ([`LEFT_OUT`]), and in its last line the
/// tree. Between two commits git packs the difference without marking all of the base, as in a push, so moved files are included; if that
/// is too large, the last attempts (`copy`) mark everything.
const HAND_OUT: &str = r#"
git rev-parse --verify "$commit^{tree}" > "$dir/tree" &
printf '%s\n^%s\n' "$commit" "$1" | git pack-objects --revs "$sparse" --stdout -q
wait $!
most=100
while [ "$most" -gt 0 ] && IFS= read -r name; do
    printf 'left out: %s\n' "$name" >&2
    most=$((most - 1))
done < "$dir/left-out"
read -r tree < "$dir/tree"
printf '\n%s\n' "$tree" >&2
"#;

/// Prefix of a by-product's path.
const LEFT_OUT: &str = "left out: ";

/// The tree and pack that a sandbox returned.
pub(in crate::sandbox) struct Taken {
    pub tree: Tree,
    pub pack: tokio::fs::File,
    pub left_out: Vec<String>,
}

/// Source of the changes and of the base's objects.
enum ObjectSource {
    /// The layer over the mirror's tree of this commit.
    Layer(Commit),
    /// The agent's own object store and the mirror, with the kept index if there is one.
    Borrow(Kept),
    /// Sent by the host; with a mirror only what that lacks.
    Copy(Option<PackBase>),
}

/// Takes trees out of sandboxes.
pub(in crate::sandbox) struct Trees {
    core: Arc<Core>,
    indexes: Arc<Indexes>,
    by_products: ByProducts,
}

impl Trees {
    pub fn new(core: Arc<Core>, indexes: Arc<Indexes>) -> Self {
        Self { by_products: ByProducts::new(Arc::clone(&core)), core, indexes }
    }

    /// Kills every process but the runner and closes the subnet before the tree is read.
    pub async fn stop_and_take(&self, session: &Session, record: Record, spec: &CaptureSpec) -> Result<Taken> {
        let stopped = session.run(Op::Quiesce, QUIESCE_MS).await;
        // Closed even if some process could not be killed, so that at least one of the two barriers holds.
        self.core.subnets.close(record.subnet).await?;
        let stopped = session::succeeded(&stopped?, "stopping everything in the sandbox");
        stopped.map_err(|e| SandboxError::Unavailable(e.to_string()))?;
        self.take(session, &record, spec).await
    }

    /// The tree and its pack: first from a layer or with the agent's own objects (fast); if that fails, with the base sent from the mirror
    /// or completely, so that an agent that broke its `.git` does not lose its work.
    async fn take(&self, session: &Session, record: &Record, spec: &CaptureSpec) -> Result<Taken> {
        without_pipes(session).await?;
        let mut ways: Vec<ObjectSource> = record.tree().cloned().map(ObjectSource::Layer).into_iter().collect();
        ways.push(ObjectSource::Borrow(self.indexes.kept(record)));
        ways.extend(record.mirror.as_ref().map(|generation| ObjectSource::Copy(Some(generation.base.clone()))));
        for way in ways {
            match self.take_with(session, spec, &way).await {
                Err(SandboxError::Refused(why) | SandboxError::Limit(why)) => {
                    tracing::info!(task = spec.segment.task, why, "a tree could not be taken the fast way");
                }
                ended => return ended,
            }
        }
        self.take_with(session, spec, &ObjectSource::Copy(None)).await
    }

    async fn take_with(&self, session: &Session, spec: &CaptureSpec, way: &ObjectSource) -> Result<Taken> {
        let (segment, most) = (&spec.segment, self.core.settings.tree_pack_bytes);
        let by_products = self.by_products.of(&segment.repo_key, &segment.base).await?;
        let mut base = match way {
            ObjectSource::Layer(_) | ObjectSource::Borrow(_) => None,
            ObjectSource::Copy(held) => {
                let base = std::slice::from_ref(&segment.base);
                Some(
                    self.core
                        .repos
                        .pack(&segment.repo_key, base, 1, held.as_ref(), self.core.settings.base_pack_bytes)
                        .await?,
                )
            }
        };
        let (script, words) = way.script(base.as_ref().map_or(0, |base| base.bytes));
        let script = format!("{OWN}{script}{HAND_OUT}");
        let words = words.iter().map(String::as_str).chain([&*by_products]);
        let mut work = Work::new(["sh", "-c", &script, "take", segment.base.as_str()].into_iter().chain(words));
        let mut index: &[u8] = way.index();
        if let Some(base) = &mut base {
            work = work.input(base.reader().await?);
        } else if !index.is_empty() {
            work = work.input(&mut index);
        }
        let mut pack = crate::git::temporary()?;
        let done = session.spool(work.wall(READ_MS), &mut pack, most).await;
        let done = done.map_err(|e| match e {
            SandboxError::Limit(_) => SandboxError::Limit(format!(
                "what changed since the base is more than {} MB packed; ignore or remove large files",
                most >> 20
            )),
            other => other,
        })?;
        session::succeeded(&done, "reading the files of the sandbox")?;
        let rewound = pack.rewind().await;
        rewound.map_err(|e| SandboxError::Unavailable(format!("the temporary pack: {e}")))?;
        let left_out = done.text.lines().filter_map(|line| line.strip_prefix(LEFT_OUT)).map(str::to_owned).collect();
        Ok(Taken { tree: Tree::parse(done.text.trim_end().lines().last().unwrap_or_default())?, pack, left_out })
    }
}

/// Refuses a tree in which git would wait for a pipe, or where that cannot be known in time.
async fn without_pipes(session: &Session) -> Result<()> {
    let script = format!("set -eu{NO_PIPES}");
    let done = session.outcome(Work::new(["sh", "-c", &script]).wall(READ_MS)).await?;
    if done.status == Status::TimedOut {
        let seconds = READ_MS / 1000;
        return Err(SandboxError::Limit(format!(
            "the search for pipes that git would wait for did not end within {seconds} s: the workspace has too many files"
        )));
    }
    session::succeeded(&done, "reading the files of the sandbox")
}

impl ObjectSource {
    /// The script and its arguments from `$2` on; `pack`: bytes of the base that are sent.
    fn script(&self, pack: u64) -> (&'static str, [String; 3]) {
        let own = |how: &str, kept: &str| [how.to_owned(), pack.to_string(), kept.to_owned()];
        match self {
            ObjectSource::Layer(tree) => (TAKE_LAYER, ["borrow".to_owned(), tree.to_string(), RUNNER.to_owned()]),
            ObjectSource::Borrow(Kept::WithTree) => (TAKE_INDEX, own("borrow", "tree")),
            ObjectSource::Borrow(_) => (TAKE_INDEX, own("borrow", &self.index().len().to_string())),
            ObjectSource::Copy(_) => (TAKE_INDEX, own("copy", "0")),
        }
    }

    /// The index that is sent; empty for none.
    fn index(&self) -> &[u8] {
        match self {
            ObjectSource::Borrow(Kept::Here(index)) => index,
            _ => &[],
        }
    }
}
