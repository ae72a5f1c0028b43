//! Merges a task's work onto a newer base, in its new sandbox.
//!
//! Owns the merge: uncommitted, of the difference between two commits onto the one that is checked out, so that it does not matter what
//! history the three have in common. It is done before the agent enters, in a repository that has no configuration, hooks or drivers of
//! anybody else. What conflicts is the sandbox's word. Tests: `tests/trees/merge.rs`.

use std::sync::Arc;

use crate::git::PackBase;
use crate::sandbox::core::Core;
use crate::sandbox::record::Merged;
use crate::sandbox::session::{Session, Work};
use crate::sandbox::{Merge, PrepareSpec, Result, SandboxError};

/// How long it may take, in milliseconds.
const MERGE_MS: u64 = 600_000;
/// Limit of the list of conflicts, in bytes.
const LISTING: u64 = 256 << 10;
/// More files than this are not resolved in steps of five actions.
const MOST: usize = 200;

/// Merges what the tree of `$2` changes in that of `$1`. stdin is a pack of `$3` bytes with both; two commits of their own make them one
/// change on its base. Files that could not be merged by themselves keep marks, and are printed. A git that stopped for another reason also
/// ends with 1, but then names none.
const MERGE: &str = r#"
set -eu
[ "$3" = 0 ] || git --git-dir=.git index-pack --stdin --fix-thin >/dev/null
export GIT_AUTHOR_NAME=agent GIT_AUTHOR_EMAIL=agent@sandbox.invalid GIT_COMMITTER_NAME=agent GIT_COMMITTER_EMAIL=agent@sandbox.invalid
git() { command git --git-dir=.git --work-tree=. -c core.quotePath=false -c merge.conflictStyle=merge -c rerere.enabled=false "$@"; }
before=$(git commit-tree -m 'the base before' "$1^{tree}")
work=$(git commit-tree -p "$before" -m "this task's work" "$2^{tree}")
git update-index -q --refresh >/dev/null || :
code=0
git cherry-pick --no-commit "$work" >&2 || code=$?
git diff --name-only --diff-filter=U -z > .git/in-conflict
[ "$code" = 0 ] || { [ "$code" = 1 ] && [ -s .git/in-conflict ]; } || exit 3
cat .git/in-conflict
rm -f .git/in-conflict .git/MERGE_MSG .git/CHERRY_PICK_HEAD
"#;

/// Merges the work into the checked-out base of `spec`; gives the files in conflict.
pub(super) async fn merge(core: &Arc<Core>, session: &Session, spec: &PrepareSpec, merge: &Merge) -> Result<Merged> {
    let Merge { from, head } = merge;
    if from == head {
        return Ok(Merged { from: from.clone(), head: head.clone(), conflicts: Vec::new() });
    }
    // The new base's files are in the sandbox already, whatever history came with them.
    let held = PackBase { head: spec.base.clone(), shallow: vec![spec.base.clone()] };
    let both = [from.clone(), head.clone()];
    let mut pack = core.repos.pack(&spec.repo_key, &both, 1, Some(&held), core.settings.base_pack_bytes).await?;
    let bytes = pack.bytes.to_string();
    let words = ["sh", "-c", MERGE, "merge", from.as_str(), head.as_str(), &bytes];
    let work = Work::new(words).wall(MERGE_MS).input(pack.reader().await?);
    let listed = session.read(work, LISTING, "merging the work onto the newer base").await;
    let listed = listed.map_err(|e| match e {
        SandboxError::Limit(why) => SandboxError::Refused(why),
        other => other,
    })?;
    let conflicts: Vec<String> = listed
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
        .map(|path| String::from_utf8_lossy(path).into_owned())
        .collect();
    if conflicts.len() > MOST {
        let said = format!("{} files conflict with the newer base, and at most {MOST} are resolved", conflicts.len());
        return Err(SandboxError::Refused(format!("{said}: begin anew with `/retry`")));
    }
    Ok(Merged { from: from.clone(), head: head.clone(), conflicts })
}
