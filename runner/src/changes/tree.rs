//! The workspace's tree as last read: each directory with its watch, each file with a stamp that tells whether it changed.
//!
//! The stamp is inode, size, mode and change time, which cannot be set without privileges. Links are not followed, `.git` is not entered,
//! and the number of entries is bounded. Only directories with events are read again; if events may have been lost, all are. Tests:
//! `tests.rs` beside this file.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::dir::Dir;
use nix::fcntl::{AtFlags, OFlag};
use nix::sys::inotify::WatchDescriptor;
use nix::sys::stat::{FileStat, Mode, SFlag, fstatat};

use super::watcher::{Observed, Watcher};

/// The most entries that are remembered.
pub const MOST: usize = 200_000;

/// Metadata by which a changed file is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    ino: u64,
    size: i64,
    mode: u32,
    changed: (i64, i64),
}

impl Stamp {
    fn of(found: &FileStat) -> Self {
        let mut stamp = Self {
            ino: found.st_ino,
            size: found.st_size,
            mode: found.st_mode,
            changed: (found.st_ctime, found.st_ctime_nsec),
        };
        if stamp.is_directory() {
            // For a directory only its identity counts, because its entries have stamps of their own.
            (stamp.size, stamp.mode, stamp.changed) = (0, SFlag::S_IFDIR.bits(), (0, 0));
        }
        stamp
    }

    pub fn is_directory(&self) -> bool {
        self.mode & SFlag::S_IFMT.bits() == SFlag::S_IFDIR.bits()
    }

    /// Size in bytes of a regular file; none for anything else.
    pub fn regular(&self) -> Option<i64> {
        (self.mode & SFlag::S_IFMT.bits() == SFlag::S_IFREG.bits()).then_some(self.size)
    }
}

#[derive(Default)]
struct Folder {
    watch: Option<WatchDescriptor>,
    entries: HashMap<OsString, Stamp>,
}

/// Files that changed: the stamp before and now.
#[derive(Default)]
pub struct Difference {
    pub files: BTreeMap<PathBuf, (Option<Stamp>, Option<Stamp>)>,
}

impl Difference {
    fn gone(&mut self, path: PathBuf, was: Stamp) {
        self.files.entry(path).or_default().0 = Some(was);
    }

    fn found(&mut self, path: PathBuf, is: Stamp) {
        self.files.entry(path).or_default().1 = Some(is);
    }
}

pub struct Tree {
    root: PathBuf,
    watcher: Option<Arc<Watcher>>,
    most: usize,
    /// By path in the workspace; the root's is empty.
    folders: HashMap<PathBuf, Folder>,
    watched: HashMap<WatchDescriptor, PathBuf>,
    entries: usize,
    /// Number of directories without a watch.
    deaf: usize,
    /// Whether the tree exceeded the limit, so that nothing is remembered any more.
    spent: bool,
}

impl Tree {
    pub fn new(root: &Path, watcher: Option<Arc<Watcher>>, most: usize) -> Self {
        Self {
            root: root.to_owned(),
            watcher,
            most,
            folders: HashMap::new(),
            watched: HashMap::new(),
            entries: 0,
            deaf: 0,
            spent: false,
        }
    }

    pub fn is_spent(&self) -> bool {
        self.spent
    }

    /// Whether each directory is watched.
    pub fn observes_everything(&self) -> bool {
        self.deaf == 0 && !self.folders.is_empty()
    }

    /// Brings the tree up to date and gives what changed.
    pub fn refresh(&mut self, observed: &Observed) -> Difference {
        let mut difference = Difference::default();
        if self.spent {
            return difference;
        }
        if self.folders.is_empty() {
            self.take_in(PathBuf::new(), &mut difference);
        } else {
            let dirty: Vec<PathBuf> = if observed.lost || !self.observes_everything() {
                self.folders.keys().cloned().collect()
            } else {
                observed.changed.iter().filter_map(|watch| self.watched.get(watch).cloned()).collect()
            };
            dirty.iter().for_each(|folder| self.look(folder, &mut difference));
        }
        if self.spent {
            self.watched.keys().for_each(|watch| self.watcher.iter().for_each(|watcher| watcher.leave(*watch)));
            (self.folders, self.watched) = (HashMap::new(), HashMap::new());
        }
        difference.files.retain(|_, (was, is)| was != is);
        difference
    }

    /// The path of a file in a watched directory, if both are known.
    pub fn file(&self, watch: WatchDescriptor, name: &OsStr) -> Option<PathBuf> {
        let folder = self.watched.get(&watch)?;
        let stamp = self.folders.get(folder)?.entries.get(name)?;
        (!stamp.is_directory()).then(|| folder.join(name))
    }

    /// The stamp of an entry.
    pub fn entry(&self, folder: &Path, name: &OsStr) -> Option<&Stamp> {
        self.folders.get(folder)?.entries.get(name)
    }

    /// Reads a known directory again.
    fn look(&mut self, folder: &Path, difference: &mut Difference) {
        let Some(known) = self.folders.get_mut(folder) else { return };
        let before = std::mem::take(&mut known.entries);
        self.entries -= before.len();
        let now = self.read(folder);
        for (name, was) in &before {
            if now.get(name) != Some(was) {
                self.forget(folder.join(name), *was, difference);
            }
        }
        for (name, is) in &now {
            if before.get(name) != Some(is) {
                self.found(folder.join(name), *is, difference);
            }
        }
        if let Some(known) = self.folders.get_mut(folder) {
            known.entries = now;
        }
    }

    fn found(&mut self, path: PathBuf, is: Stamp, difference: &mut Difference) {
        if is.is_directory() { self.take_in(path, difference) } else { difference.found(path, is) }
    }

    /// Adds an unknown directory with everything below it.
    fn take_in(&mut self, path: PathBuf, difference: &mut Difference) {
        let mut waiting = vec![path];
        while let Some(folder) = waiting.pop() {
            // Watched before it is read, so that no change in between is missed.
            let watch = self.watcher.as_ref().and_then(|watcher| watcher.watch(&self.root.join(&folder)));
            let entries = self.read(&folder);
            match watch {
                Some(watch) => drop(self.watched.insert(watch, folder.clone())),
                None => self.deaf += 1,
            }
            for (name, stamp) in &entries {
                let path = folder.join(name);
                if stamp.is_directory() { waiting.push(path) } else { difference.found(path, *stamp) }
            }
            self.folders.insert(folder, Folder { watch, entries });
            if self.spent {
                return;
            }
        }
    }

    /// Removes an entry and everything below it.
    fn forget(&mut self, path: PathBuf, was: Stamp, difference: &mut Difference) {
        if !was.is_directory() {
            return difference.gone(path, was);
        }
        let mut waiting = vec![path];
        while let Some(path) = waiting.pop() {
            let Some(folder) = self.folders.remove(&path) else { continue };
            self.entries -= folder.entries.len();
            match folder.watch {
                // A moved directory already has its watch under the new name.
                Some(watch) if self.watched.get(&watch) == Some(&path) => {
                    self.watched.remove(&watch);
                    self.watcher.iter().for_each(|watcher| watcher.leave(watch));
                }
                Some(_) => {}
                None => self.deaf -= 1,
            }
            for (name, stamp) in folder.entries {
                let below = path.join(name);
                if stamp.is_directory() { waiting.push(below) } else { difference.gone(below, stamp) }
            }
        }
    }

    /// The entries of a directory; none where it is gone or unreadable.
    fn read(&mut self, folder: &Path) -> HashMap<OsString, Stamp> {
        let mut entries = HashMap::new();
        let how = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let Ok(mut dir) = Dir::open(&self.root.join(folder), how, Mode::empty()) else { return entries };
        let mut names = Vec::new();
        for entry in dir.iter().flatten() {
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b".." | b".git") {
                names.push(OsStr::from_bytes(name).to_owned());
            }
            if names.len() + self.entries > self.most {
                self.spent = true;
                return entries;
            }
        }
        for name in names {
            if let Ok(found) = fstatat(&dir, name.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW) {
                entries.insert(name, Stamp::of(&found));
            }
        }
        self.entries += entries.len();
        entries
    }
}
