//! Disk space used by a tree on its own file system.
//!
//! The tree's owner may try to make it hard to measure: links are not followed, other file systems are not entered, and memory is bounded.
//! What exceeds these bounds makes the measurement incomplete.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The most directories waiting to be read, and files with several links, at once.
const WAITING: usize = 20_000;
const NAMED_TWICE: usize = 100_000;

/// Bytes on disk below `root`, or `inode` bytes per file where that is more; and whether the measurement is complete. It ends early when
/// `stop` is true.
pub fn used(root: &Path, inode: u64, stop: &dyn Fn() -> bool) -> (u64, bool) {
    let Ok(top) = std::fs::symlink_metadata(root) else { return (0, false) };
    let (mut blocks, mut files, mut whole) = (top.blocks(), 1_u64, true);
    let mut waiting: Vec<PathBuf> = vec![root.to_owned()];
    let mut twice = HashSet::new();
    while let Some(directory) = waiting.pop() {
        let entries = match std::fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) => {
                whole &= is_gone(&error);
                continue;
            }
        };
        for entry in entries.flatten() {
            if stop() {
                return (0, false);
            }
            // Of the entry itself, because links are not followed.
            let found = match entry.metadata() {
                Ok(found) => found,
                // A directory may be readable and not searchable.
                Err(error) => {
                    whole &= is_gone(&error);
                    continue;
                }
            };
            if found.dev() != top.dev() {
                continue;
            }
            if found.nlink() > 1 && !found.is_dir() {
                if !twice.insert(found.ino()) {
                    continue;
                }
                if twice.len() > NAMED_TWICE {
                    twice.clear();
                    whole = false;
                }
            }
            blocks = blocks.saturating_add(found.blocks());
            files += 1;
            if found.is_dir() {
                if waiting.len() < WAITING { waiting.push(entry.path()) } else { whole = false }
            }
        }
    }
    (blocks.saturating_mul(512).max(files.saturating_mul(inode)), whole)
}

/// Whether it was deleted meanwhile. What is unreadable, or deeper than a path can express, may take space.
fn is_gone(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::{Mode, mkdirat};
    use std::os::unix::fs::PermissionsExt;

    fn used(root: &Path, inode: u64) -> (u64, bool) {
        super::used(root, inode, &|| false)
    }

    #[test]
    fn each_file_counts_once_and_nothing_outside_does() {
        let dir = tempfile::tempdir().expect("a directory");
        let (root, outside) = (dir.path().join("root"), dir.path().join("outside"));
        std::fs::create_dir_all(root.join("a/b")).expect("made");
        std::fs::create_dir(&outside).expect("made");
        let (empty, whole) = used(&root, 0);
        assert!(whole && empty < 1 << 20);
        std::fs::write(root.join("a/b/one"), vec![1; 3 << 20]).expect("written");
        std::fs::hard_link(root.join("a/b/one"), root.join("a/two")).expect("linked");
        std::fs::write(outside.join("big"), vec![1; 8 << 20]).expect("written");
        std::os::unix::fs::symlink(&outside, root.join("out")).expect("linked");
        std::fs::File::create(root.join("hole")).and_then(|file| file.set_len(1 << 40)).expect("made");
        let (after, whole) = used(&root, 0);
        let grown = after - empty;
        assert!(whole && (3 << 20..4 << 20).contains(&grown), "{grown}");
        assert!(!super::used(&root, 0, &|| true).1, "it was stopped");
    }

    #[test]
    fn what_is_closed_to_us_is_not_taken_for_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        assert!(!used(&dir.path().join("none"), 0).1);
        let mut deep = dir.path().to_owned();
        for _ in 0..3 {
            deep.push("d");
        }
        std::fs::create_dir_all(&deep).expect("made");
        assert!(used(dir.path(), 0).1);
        // Deeper than a path can express.
        let mut at = std::fs::File::open(dir.path()).expect("opened");
        let name = "d".repeat(250);
        for _ in 0..20 {
            mkdirat(&at, name.as_str(), Mode::S_IRWXU).expect("made");
            let next = nix::fcntl::openat(&at, name.as_str(), nix::fcntl::OFlag::O_DIRECTORY, Mode::empty());
            at = next.expect("opened").into();
        }
        assert!(!used(dir.path(), 0).1);
    }

    #[test]
    fn a_directory_that_is_listed_and_not_searched_is_not_taken_for_an_empty_one() {
        let dir = tempfile::tempdir().expect("a directory");
        let closed = dir.path().join("closed");
        std::fs::create_dir(&closed).expect("made");
        std::fs::write(closed.join("file"), "x").expect("written");
        let mode = |mode| std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(mode)).expect("set");
        mode(0o400);
        let (is_searched, whole) = (closed.join("file").exists(), used(dir.path(), 0).1);
        mode(0o700);
        // Root may search everything.
        assert_eq!(whole, is_searched);
    }
}
