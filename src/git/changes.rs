//! Which files differ between two commits.
//!
//! Owns how many may: trees that name each other make paths without an end from a few objects, and a stranger's pull request may have them.
//! Tests: below.

use domain::Commit;
use git2::{Oid, Repository, TreeEntry};

use super::listing::Change;
use super::read::{DIRECTORY, oid};
use super::{GitError, Repos};

/// The most bytes of what differs, folders included: of each path, and of what is kept beside it.
const CAP: u64 = 64 << 20;
const BESIDE: u64 = 256;
/// The bits of a mode that tell a file, a link and a submodule apart.
const KIND: i32 = 0o170_000;

impl Repos {
    /// Differences between two commits, without detection of renames.
    ///
    /// # Errors
    /// [`GitError::TooLarge`] where too much differs to be listed; another one when a commit is missing.
    pub async fn changes(&self, key: &str, from: &Commit, to: &Commit) -> Result<Vec<Change>, GitError> {
        let (from, to) = (oid(from)?, oid(to)?);
        let look = move |repo: &Repository| {
            let (old, new) = (repo.find_commit(from)?.tree_id(), repo.find_commit(to)?.tree_id());
            list(repo, Some(old), new)
        };
        self.read(key, look).await
    }
}

/// Differences between two trees, or of a tree from nothing. Folders that are the same on both sides are not entered.
///
/// # Errors
/// As [`Repos::changes`].
pub(super) fn list(repo: &Repository, old: Option<Oid>, new: Oid) -> Result<Vec<Change>, GitError> {
    let tree = |id: Option<Oid>| id.map(|id| repo.find_tree(id)).transpose();
    // Pairs of folders that differ, with their path and a slash behind it.
    let (mut listed, mut waiting) = (Listed::default(), vec![(Vec::new(), old, Some(new))]);
    while let Some((above, old, new)) = waiting.pop() {
        let (old, new) = (tree(old)?, tree(new)?);
        for entry in new.iter().flatten() {
            let before = old.as_ref().and_then(|old| old.get_name_bytes(entry.name_bytes()));
            waiting.extend(listed.add(&above, before.as_ref(), Some(&entry))?);
        }
        for entry in old.iter().flatten() {
            if new.as_ref().is_none_or(|new| new.get_name_bytes(entry.name_bytes()).is_none()) {
                waiting.extend(listed.add(&above, Some(&entry), None)?);
            }
        }
    }
    listed.all.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(listed.all)
}

/// Two folders to compare, of which one may be missing, and their path.
type Folders = (Vec<u8>, Option<Oid>, Option<Oid>);

#[derive(Default)]
struct Listed {
    all: Vec<Change>,
    bytes: u64,
}

impl Listed {
    /// Lists what differs of one name, and returns the folders that are compared in turn.
    fn add(
        &mut self,
        above: &[u8],
        old: Option<&TreeEntry<'_>>,
        new: Option<&TreeEntry<'_>>,
    ) -> Result<Option<Folders>, GitError> {
        let is = |entry: &TreeEntry<'_>| (entry.id(), entry.filemode());
        let Some(name) = new.or(old).map(TreeEntry::name_bytes).filter(|_| old.map(is) != new.map(is)) else {
            return Ok(None);
        };
        let path = [above, name].concat();
        self.bytes += path.len() as u64 + BESIDE;
        if self.bytes > CAP {
            return Err(GitError::TooLarge { verb: "diff-tree", cap: CAP });
        }
        let folder = |entry: &&TreeEntry<'_>| entry.filemode() == DIRECTORY;
        let within = (old.filter(folder).map(TreeEntry::id), new.filter(folder).map(TreeEntry::id));
        let (old, new) = (old.filter(|it| !folder(it)), new.filter(|it| !folder(it)));
        self.all.extend(change(&path, old, new));
        Ok((within != (None, None)).then(|| ([&path[..], b"/"].concat(), within.0, within.1)))
    }
}

/// What became of a path that was no folder, or is none.
fn change(path: &[u8], old: Option<&TreeEntry<'_>>, new: Option<&TreeEntry<'_>>) -> Option<Change> {
    let kind = |entry: &TreeEntry<'_>| entry.filemode() & KIND;
    let status = match (old, new) {
        (None, None) => return None,
        (None, Some(_)) => 'A',
        (Some(_), None) => 'D',
        (Some(old), Some(new)) if kind(old) != kind(new) => 'T',
        (Some(_), Some(_)) => 'M',
    };
    let mode = |entry: Option<&TreeEntry<'_>>| format!("{:06o}", entry.map_or(0, TreeEntry::filemode));
    let id = |entry: Option<&TreeEntry<'_>>| entry.map_or(Oid::ZERO_SHA1, TreeEntry::id).to_string();
    Some(Change { old_mode: mode(old), new_mode: mode(new), old_id: id(old), id: id(new), status, path: path.to_vec() })
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
            let listed = list(&repo, Some(old), new);
            assert!(matches!(listed, Err(GitError::TooLarge { .. })), "{:?}", listed.map(|all| all.len()));
        }
        // One that stays as it is differs in nothing.
        let later = folder(&repo, &[("a", file, 0o100_755), ("b", bomb, DIRECTORY)]);
        let listed = list(&repo, Some(both), later).unwrap();
        assert_eq!(listed.iter().map(|it| (it.status, &it.path[..])).collect::<Vec<_>>(), [('M', &b"a"[..])]);
    }

    #[test]
    fn a_file_that_becomes_a_folder_or_a_link_and_one_of_another_mode_are_listed() {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repository::init_bare(dir.path()).unwrap();
        let (x, y) = (repo.blob(b"x").unwrap(), repo.blob(b"y").unwrap());
        let within = folder(&repo, &[("c", x, 0o100_644), ("d", y, 0o100_644)]);
        let old =
            folder(&repo, &[("a", x, 0o100_644), ("b", x, 0o100_644), ("e", within, DIRECTORY), ("l", x, 0o100_644)]);
        let new = folder(&repo, &[("a", x, 0o100_755), ("b", within, DIRECTORY), ("l", x, 0o120_000)]);
        let listed = list(&repo, Some(old), new).unwrap();
        let mut all: Vec<_> =
            listed.iter().map(|it| (it.status, String::from_utf8_lossy(&it.path).into_owned())).collect();
        all.sort();
        let all: Vec<_> = all.iter().map(|(status, path)| (*status, path.as_str())).collect();
        assert_eq!(all, [('A', "b/c"), ('A', "b/d"), ('D', "b"), ('D', "e/c"), ('D', "e/d"), ('M', "a"), ('T', "l")]);
    }
}
