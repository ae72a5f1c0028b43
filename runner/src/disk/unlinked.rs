//! Deleted files that a process still holds open: they use disk space, but no directory lists them.
//!
//! Finds the descriptors of processes that can be inspected; one that made itself undumpable, or holds a file only by a mapping, shows only
//! in the free space.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The most open files that are examined in one pass.
const MOST: usize = 50_000;

/// The directories that count; deleted files from elsewhere are ignored.
pub struct Places(Vec<PathBuf>);

impl Places {
    pub fn of(paths: &[&Path]) -> Self {
        Self(paths.iter().map(|path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf())).collect())
    }

    /// Bytes on disk of such files, and whether all open files were examined; it ends early when `stop` is true.
    pub fn used(&self, stop: &dyn Fn() -> bool) -> (u64, bool) {
        let is_process = |name: &OsStr| name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
        let processes = entries(Path::new("/proc")).filter(|entry| is_process(&entry.file_name()));
        let mut looked = 0;
        let open = processes.flat_map(|process| entries(&process.path().join("fd"))).take_while(|_| !stop());
        let open = open.take(MOST).inspect(|_| looked += 1);
        // The kernel still reports the path of a deleted file.
        let here =
            |link: &Path| std::fs::read_link(link).is_ok_and(|at| self.0.iter().any(|place| at.starts_with(place)));
        let open = open.map(|link| link.path()).filter(|link| here(link));
        // Metadata of the open file itself, through its link in `/proc`.
        let gone = open.filter_map(|link| std::fs::metadata(link).ok()).filter(|file| file.nlink() == 0);
        let mut seen = HashSet::new();
        let counted = gone.filter(|file| seen.insert((file.dev(), file.ino())));
        let used = counted.map(|file| file.blocks().saturating_mul(512)).sum();
        (used, looked < MOST)
    }
}

fn entries(directory: &Path) -> impl Iterator<Item = std::fs::DirEntry> + use<> {
    std::fs::read_dir(directory).into_iter().flatten().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_counts_once_and_only_when_it_is_gone() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("big");
        std::fs::write(&path, vec![1; 3 << 20]).expect("written");
        let file = std::fs::File::open(&path).expect("opened");
        let again = file.try_clone().expect("twice");
        let places = Places::of(&[dir.path()]);
        let (before, _) = places.used(&|| false);
        std::fs::remove_file(&path).expect("removed");
        let (held, _) = places.used(&|| false);
        assert!(held >= before + (3 << 20) && held < before + (6 << 20), "{before} {held}");
        let other = tempfile::tempdir().expect("a directory");
        assert_eq!(Places::of(&[other.path()]).used(&|| false), (0, true), "what lay elsewhere is not ours");
        drop((file, again));
        assert!(places.used(&|| false).0 < held);
        assert_eq!(Places::of(&[Path::new("/proc")]).used(&|| false).0, 0, "another place");
    }
}
