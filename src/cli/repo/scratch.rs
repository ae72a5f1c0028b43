//! The folder of a copy that a subcommand makes on its way. It is removed at the end; where a run was cut off, by the next one.

use anyhow::{Context, Result};
use nix::fcntl::{Flock, FlockArg};
use std::fs::File;
use std::path::Path;
use tempfile::TempDir;

/// Locked, so that another run does not take it for one that was left.
pub(super) struct Scratch {
    dir: TempDir,
    _lock: Flock<File>,
}

impl Scratch {
    /// A new folder in the state directory, from which those of this prefix are removed that runs left which were cut off.
    pub(super) fn new(state_dir: &Path, prefix: &str) -> Result<Self> {
        // One run at a time, so that none removes the new folder of another one before it is locked.
        let _alone = lock(state_dir, FlockArg::LockExclusive)?;
        remove_left(state_dir, prefix);
        let made = tempfile::Builder::new().prefix(prefix).tempdir_in(state_dir);
        let dir = made.with_context(|| format!("no folder can be made in {}", state_dir.display()))?;
        let lock = lock(dir.path(), FlockArg::LockExclusiveNonblock)?;
        Ok(Self { dir, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }
}

fn lock(folder: &Path, mode: FlockArg) -> Result<Flock<File>> {
    let file = File::open(folder).with_context(|| format!("cannot open {}", folder.display()))?;
    Flock::lock(file, mode).map_err(|(_, errno)| errno).with_context(|| format!("cannot lock {}", folder.display()))
}

fn remove_left(state_dir: &Path, prefix: &str) {
    let Ok(entries) = std::fs::read_dir(state_dir) else { return };
    for entry in entries.flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(prefix);
        if ours && let Ok(_lock) = lock(&entry.path(), FlockArg::LockExclusiveNonblock) {
            // The next run tries again.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_left_is_removed_and_that_of_one_at_work_stays() {
        let state = tempfile::tempdir().unwrap();
        let (left, other) = (state.path().join("import-4711"), state.path().join("important"));
        std::fs::create_dir_all(left.join("shop.git")).unwrap();
        std::fs::create_dir_all(&other).unwrap();
        let first = Scratch::new(state.path(), "import-").unwrap();
        assert!(!left.exists() && other.exists());
        let second = Scratch::new(state.path(), "import-").unwrap();
        assert!(first.path().exists() && second.path().exists() && first.path() != second.path());
        let gone = first.path().to_owned();
        drop(first);
        assert!(!gone.exists() && second.path().exists());
    }
}
