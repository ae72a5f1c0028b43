//! Untracked or ignored files of a work tree that would be overwritten.
//!
//! Owns the check of the file system before the first write. Never follows a symbolic link. Tests: below.

use std::collections::HashSet;
use std::path::Path;

use super::judge::shown;
use crate::git::listing::Change;
use crate::git::os_path;

/// Sentences about entries where `changes` would write. The tracked files are already known to be unchanged.
pub(super) fn find(root: &Path, changes: &[Change]) -> Vec<String> {
    let goes: HashSet<&[u8]> = changes.iter().filter(|c| c.deleted()).map(|c| c.path.as_slice()).collect();
    let mut blocked = Vec::new();
    for change in changes.iter().filter(|c| c.status == 'A') {
        if let Some(stands) = in_the_way(root, &change.path, &goes) {
            blocked.push(format!("{} stands where {} would be written", shown(&stands), shown(&change.path)));
        }
    }
    blocked.sort();
    blocked.dedup();
    blocked.truncate(20);
    blocked
}

/// The first entry on the way to `path` that must not be replaced.
fn in_the_way(root: &Path, path: &[u8], goes: &HashSet<&[u8]>) -> Option<Vec<u8>> {
    let ends = path.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(at, _)| at);
    for end in ends {
        let above = &path[..end];
        let Ok(found) = std::fs::symlink_metadata(root.join(os_path(above))) else { return None };
        if !found.is_dir() {
            // Only a tracked file that is deleted may make room for a directory.
            return (!goes.contains(above)).then(|| above.to_vec());
        }
    }
    let found = std::fs::symlink_metadata(root.join(os_path(path))).ok()?;
    if found.is_dir() { stranger(root, path, goes) } else { Some(path.to_vec()) }
}

/// An untracked entry below a directory that would have to make room.
fn stranger(root: &Path, dir: &[u8], goes: &HashSet<&[u8]>) -> Option<Vec<u8>> {
    let Ok(list) = std::fs::read_dir(root.join(os_path(dir))) else { return Some(dir.to_vec()) };
    for entry in list {
        let Ok(entry) = entry else { return Some(dir.to_vec()) };
        let name = std::os::unix::ffi::OsStrExt::as_bytes(entry.file_name().as_os_str()).to_vec();
        let path = [dir, b"/", name.as_slice()].concat();
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let found =
            if is_dir { stranger(root, &path, goes) } else { (!goes.contains(path.as_slice())).then_some(path) };
        if found.is_some() {
            return found;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(status: char, path: &str) -> Change {
        let path = path.as_bytes().to_vec();
        Change {
            old_mode: String::new(),
            new_mode: "100644".into(),
            old_id: String::new(),
            id: String::new(),
            status,
            path,
        }
    }

    #[test]
    fn what_git_does_not_know_is_in_the_way() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        std::fs::write(root.join("file"), "x").unwrap();
        std::fs::create_dir_all(root.join("dir/sub")).unwrap();
        std::fs::write(root.join("dir/sub/own"), "x").unwrap();
        std::os::unix::fs::symlink("/etc", root.join("link")).unwrap();
        assert_eq!(
            find(root, &[change('A', "new"), change('A', "dir/new"), change('M', "file")]),
            Vec::<String>::new()
        );
        for (path, stands) in
            [("file", "file"), ("file/x", "file"), ("dir", "dir/sub/own"), ("link", "link"), ("link/passwd", "link")]
        {
            let said = find(root, &[change('A', path)]);
            assert!(said.len() == 1 && said[0].starts_with(&format!("`{stands}` stands")), "{path}: {said:?}");
        }
        assert!(find(root, &[change('D', "file"), change('A', "file/x")]).is_empty());
        assert!(find(root, &[change('D', "dir/sub/own"), change('A', "dir")]).is_empty());
    }
}
