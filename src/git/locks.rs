//! Locks that a killed git left in a local repository, by which every later one would find the ref, or the list of refs, locked.
//!
//! Owns which git processes run in which repository, and whether one of them was killed. Removes files only where the caller names one of the
//! bot's own repositories, and while no git of this process runs in it. Tests: `fetching.rs`, `forget.rs`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// By git directory.
static RUNNING: Mutex<BTreeMap<PathBuf, Processes>> = Mutex::new(BTreeMap::new());

/// The git processes in one git directory.
#[derive(Default)]
struct Processes {
    now: u32,
    /// Whether one was killed since locks were last removed.
    killed: bool,
}

/// A git process in a git directory, until it is dropped.
pub(super) struct Running(Option<PathBuf>);

impl Running {
    /// Of a process that has no git directory nothing is noted.
    pub(super) fn begin(git_dir: Option<&Path>) -> Self {
        if let Some(dir) = git_dir {
            running().entry(dir.to_owned()).or_default().now += 1;
        }
        Self(git_dir.map(Path::to_owned))
    }

    /// The process ended by itself, and so without a lock.
    pub(super) fn ended(mut self) {
        if let Some(dir) = self.0.take() {
            leave(&dir, false);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(dir) = self.0.take() {
            leave(&dir, true);
        }
    }
}

fn leave(dir: &Path, killed: bool) {
    let mut running = running();
    let Some(processes) = running.get_mut(dir) else { return };
    processes.now = processes.now.saturating_sub(1);
    processes.killed |= killed;
    if processes.now == 0 && !processes.killed {
        running.remove(dir);
    }
}

/// Removes the locks of refs and of their list from a repository in which a git process was killed, unless another one runs there.
pub(super) fn remove_left(dir: &Path) {
    // Locked to the end, so that nobody begins meanwhile.
    let mut running = running();
    if running.get(dir).is_none_or(|processes| processes.now > 0 || !processes.killed) {
        return;
    }
    running.remove(dir);
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                // Objects are not locked one by one, and too many to be looked through.
                folders.extend((path != dir.join("objects")).then_some(path));
            } else if path.extension().is_some_and(|end| end == "lock")
                && let Err(error) = std::fs::remove_file(&path)
            {
                tracing::warn!(%error, path = %path.display(), "a lock that a git process left could not be removed");
            }
        }
    }
}

fn running() -> MutexGuard<'static, BTreeMap<PathBuf, Processes>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}
