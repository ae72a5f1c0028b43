//! Which files differ between two commits.
//!
//! Owns how many may: trees that name each other make paths without an end from a few objects, and a stranger's pull request may have them.
//! Tests: below.

use domain::Commit;
use git2::{Delta, DiffDelta, DiffOptions, Oid, Repository, TreeEntry};

use super::listing::Change;
use super::read::{DIRECTORY, oid};
use super::{GitError, Repos};

/// The most bytes of what differs, folders included: of each path, and of what is kept beside it.
const CAP: u64 = 64 << 20;
const BESIDE: u64 = 256;

impl Repos {
    /// Differences between two commits, without detection of renames.
    ///
    /// # Errors
    /// [`GitError::TooLarge`] where too much differs to be listed; another one when a commit is missing.
    pub async fn changes(&self, key: &str, from: &Commit, to: &Commit) -> Result<Vec<Change>, GitError> {
        let (from, to) = (oid(from)?, oid(to)?);
        let look = move |repo: &Repository| {
            let (old, new) = (repo.find_commit(from)?.tree_id(), repo.find_commit(to)?.tree_id());
            list(repo, old, new)
        };
        self.read(key, look).await
    }
}

fn list(repo: &Repository, old: Oid, new: Oid) -> Result<Vec<Change>, GitError> {
    // The comparison itself has no limit.
    bounded(repo, old, new)?;
    let (old, new) = (repo.find_tree(old)?, repo.find_tree(new)?);
    let mut options = DiffOptions::new();
    options.include_typechange(true).ignore_filemode(false);
    let diff = repo.diff_tree_to_tree(Some(&old), Some(&new), Some(&mut options))?;
    Ok(diff.deltas().map(|delta| change(&delta)).collect())
}

/// Checks that what differs between two trees is short enough to be listed.
fn bounded(repo: &Repository, old: Oid, new: Oid) -> Result<(), GitError> {
    let tree = |id: Option<Oid>| id.map(|id| repo.find_tree(id)).transpose();
    let is = |entry: &TreeEntry<'_>| (entry.id(), entry.filemode());
    let folder = |entry: &TreeEntry<'_>| (entry.filemode() == DIRECTORY).then(|| entry.id());
    // Pairs of folders that differ, with the length of their path.
    let (mut bytes, mut waiting) = (0_u64, vec![(0_u64, Some(old), Some(new))]);
    while let Some((above, old, new)) = waiting.pop() {
        let (old, new) = (tree(old)?, tree(new)?);
        let mut differs = |name: &[u8], before: Option<Oid>, now: Option<Oid>| {
            let path = above + name.len() as u64 + 1;
            bytes += path + BESIDE;
            if before.or(now).is_some() {
                waiting.push((path, before, now));
            }
            if bytes > CAP { Err(GitError::TooLarge { verb: "diff-tree", cap: CAP }) } else { Ok(()) }
        };
        for now in new.iter().flatten() {
            let before = old.as_ref().and_then(|old| old.get_name_bytes(now.name_bytes()));
            if before.as_ref().map(is) != Some(is(&now)) {
                differs(now.name_bytes(), before.as_ref().and_then(folder), folder(&now))?;
            }
        }
        for before in old.iter().flatten() {
            if new.as_ref().is_none_or(|new| new.get_name_bytes(before.name_bytes()).is_none()) {
                differs(before.name_bytes(), folder(&before), None)?;
            }
        }
    }
    Ok(())
}

fn change(delta: &DiffDelta<'_>) -> Change {
    let (old, new) = (delta.old_file(), delta.new_file());
    let status = match delta.status() {
        Delta::Added => 'A',
        Delta::Deleted => 'D',
        Delta::Typechange => 'T',
        _ => 'M',
    };
    let path = new.path_bytes().or(old.path_bytes()).unwrap_or_default().to_vec();
    let mode = |file: &git2::DiffFile<'_>| format!("{:06o}", u32::from(file.mode()));
    Change { old_mode: mode(&old), new_mode: mode(&new), id: new.id().to_string(), status, path }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(repo: &Repository, entries: &[(&str, Oid, i32)]) -> Oid {
        let mut tree = repo.treebuilder(None).unwrap();
        for (name, id, mode) in entries {
            tree.insert(*name, *id, *mode).unwrap();
        }
        tree.write().unwrap()
    }

    #[test]
    fn a_bomb_of_trees_is_not_listed_whichever_side_has_it() {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repository::init_bare(dir.path()).unwrap();
        let file = repo.blob(b"x").unwrap();
        let mut bomb = file;
        for level in 0..10 {
            let mode = if level == 0 { 0o100_644 } else { DIRECTORY };
            let names: Vec<String> = (0..10).map(|number| number.to_string()).collect();
            let entries: Vec<_> = names.iter().map(|name| (name.as_str(), bomb, mode)).collect();
            bomb = folder(&repo, &entries);
        }
        let plain = folder(&repo, &[("a", file, 0o100_644)]);
        let both = folder(&repo, &[("a", file, 0o100_644), ("b", bomb, DIRECTORY)]);
        for (old, new) in [(plain, both), (both, plain), (plain, bomb)] {
            let listed = list(&repo, old, new);
            assert!(matches!(listed, Err(GitError::TooLarge { .. })), "{:?}", listed.map(|all| all.len()));
        }
        // One that stays as it is differs in nothing.
        let later = folder(&repo, &[("a", file, 0o100_755), ("b", bomb, DIRECTORY)]);
        assert_eq!(bounded(&repo, both, later), Ok(()));
    }

    #[test]
    fn a_file_that_becomes_a_folder_and_one_of_another_mode_are_listed() {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repository::init_bare(dir.path()).unwrap();
        let (x, y) = (repo.blob(b"x").unwrap(), repo.blob(b"y").unwrap());
        let within = folder(&repo, &[("c", x, 0o100_644), ("d", y, 0o100_644)]);
        let old = folder(&repo, &[("a", x, 0o100_644), ("b", x, 0o100_644), ("e", within, DIRECTORY)]);
        let new = folder(&repo, &[("a", x, 0o100_755), ("b", within, DIRECTORY)]);
        let listed = list(&repo, old, new).unwrap();
        let mut all: Vec<_> =
            listed.iter().map(|it| (it.status, String::from_utf8_lossy(&it.path).into_owned())).collect();
        all.sort();
        let all: Vec<_> = all.iter().map(|(status, path)| (*status, path.as_str())).collect();
        assert_eq!(all, [('A', "b/c"), ('A', "b/d"), ('D', "b"), ('D', "e/c"), ('D', "e/d"), ('M', "a")]);
    }
}
