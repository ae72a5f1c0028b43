//! Repositories hidden in directories, whose configuration names programs that run when a tool asks for their state.
//!
//! Owns how git recognises a repository without a work tree by names alone (`HEAD`, `objects` and `refs`, or `commondir` in place of the
//! latter two; gitrepository-layout(5)), and directories of other tools that work alike. Type and content of entries are ignored, because
//! each may be a link, and a later change may complete the rest. Tests: `tests.rs`.

use std::collections::HashMap;

use super::fold;
use crate::git::listing::{Change, Entry};

/// Names that make a directory a git repository, or that configure what runs in it.
const PARTS: &[&str] =
    &["head", "objects", "refs", "commondir", "config", "config.worktree", "hooks", "worktrees", "modules"];
/// Directories that are repositories by their name: Mercurial, Sapling, Jujutsu, Subversion, Bazaar, Darcs, Fossil, CVS.
const OTHERS: &[&str] = &[".hg", ".sl", ".jj", ".svn", ".bzr", "_darcs", ".fslckout", "_fossil_"];

/// Effect of such a path, as the end of a sentence about it.
pub const HIDDEN_REPOSITORY: &str = "belongs to a repository hidden in a directory: what its configuration names runs when a shell or an editor asks for its state";

/// Whether a path may belong to a repository, which the rest of the tree then decides.
pub(super) fn may_be_part(path: &[u8]) -> bool {
    parts(path).iter().any(|part| PARTS.contains(&part.as_str()))
}

/// The changed paths that make or configure a repository in the tree after the changes.
pub fn hidden<'a>(changes: &'a [Change], entries: &[Entry]) -> Vec<&'a Change> {
    let stands = changes.iter().filter(|change| !change.deleted()).map(|change| change.path.as_slice());
    let mut found: HashMap<String, u8> = HashMap::new();
    for path in entries.iter().map(|entry| entry.path.as_slice()).chain(stands) {
        let parts = parts(path);
        for (at, part) in parts.iter().enumerate() {
            let has = match part.as_str() {
                "head" => 1,
                "objects" => 2,
                "refs" => 4,
                "commondir" => 6,
                _ => continue,
            };
            *found.entry(parts[..at].join("/")).or_default() |= has;
        }
    }
    let steers = |change: &&Change| {
        let parts = parts(&change.path);
        let within = |at: usize| found.get(&parts[..at].join("/")) == Some(&7);
        let of_git = parts.iter().enumerate().any(|(at, part)| PARTS.contains(&part.as_str()) && within(at));
        of_git || parts.iter().any(|part| OTHERS.contains(&part.as_str()))
    };
    changes.iter().filter(steers).collect()
}

fn parts(path: &[u8]) -> Vec<String> {
    fold(path).split('/').map(str::to_owned).collect()
}
