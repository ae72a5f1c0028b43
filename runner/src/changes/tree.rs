//! The workspace as it was when it was last looked at: each directory with its watch, each file with what tells whether it changed.
//!
//! That is number, size, mode and the time of the last change to it, which nobody without privileges can set. Links are not followed, `.git` is
//! not entered, and what is remembered is bounded. A directory that something was heard of is read again, and no other one; where something may
//! have gone unheard, all of them are. Tests: `tests.rs` beside this file.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::dir::Dir;
use nix::fcntl::{AtFlags, OFlag};
use nix::sys::inotify::WatchDescriptor;
use nix::sys::stat::{FileStat, Mode, SFlag, fstatat};

use super::ear::{Ear, Heard};

/// Entries that are remembered.
pub const MOST: usize = 200_000;

/// What tells whether a file is still the one it was.
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
            // Of a directory only whether it is the same one: its entries are looked at by themselves.
            (stamp.size, stamp.mode, stamp.changed) = (0, SFlag::S_IFDIR.bits(), (0, 0));
        }
        stamp
    }

    pub fn is_directory(&self) -> bool {
        self.mode & SFlag::S_IFMT.bits() == SFlag::S_IFDIR.bits()
    }

    /// A regular file's size in bytes.
    pub fn regular(&self) -> Option<i64> {
        (self.mode & SFlag::S_IFMT.bits() == SFlag::S_IFREG.bits()).then_some(self.size)
    }
}

#[derive(Default)]
struct Folder {
    watch: Option<WatchDescriptor>,
    entries: HashMap<OsString, Stamp>,
}

/// Files that are not as they were: what each was, and what it is.
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
    ear: Option<Arc<Ear>>,
    most: usize,
    /// By their paths in the workspace; its own is empty.
    folders: HashMap<PathBuf, Folder>,
    watched: HashMap<WatchDescriptor, PathBuf>,
    entries: usize,
    /// Directories that have no watch.
    deaf: usize,
    /// It was more than is remembered: nothing is known any more.
    spent: bool,
}

impl Tree {
    pub fn new(root: &Path, ear: Option<Arc<Ear>>, most: usize) -> Self {
        Self {
            root: root.to_owned(),
            ear,
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
    pub fn hears_everything(&self) -> bool {
        self.deaf == 0 && !self.folders.is_empty()
    }

    /// Brings it up to date: what is not as it was.
    pub fn refresh(&mut self, heard: &Heard) -> Difference {
        let mut difference = Difference::default();
        if self.spent {
            return difference;
        }
        if self.folders.is_empty() {
            self.take_in(PathBuf::new(), &mut difference);
        } else {
            let dirty: Vec<PathBuf> = if heard.lost || !self.hears_everything() {
                self.folders.keys().cloned().collect()
            } else {
                heard.changed.iter().filter_map(|watch| self.watched.get(watch).cloned()).collect()
            };
            dirty.iter().for_each(|folder| self.look(folder, &mut difference));
        }
        if self.spent {
            self.watched.keys().for_each(|watch| self.ear.iter().for_each(|ear| ear.leave(*watch)));
            (self.folders, self.watched) = (HashMap::new(), HashMap::new());
        }
        difference.files.retain(|_, (was, is)| was != is);
        difference
    }

    /// The path of a file that was heard of, where it is one that is known.
    pub fn file(&self, watch: WatchDescriptor, name: &OsStr) -> Option<PathBuf> {
        let folder = self.watched.get(&watch)?;
        let stamp = self.folders.get(folder)?.entries.get(name)?;
        (!stamp.is_directory()).then(|| folder.join(name))
    }

    /// What is known of an entry.
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

    /// A directory that was not known, with all below it.
    fn take_in(&mut self, path: PathBuf, difference: &mut Difference) {
        let mut waiting = vec![path];
        while let Some(folder) = waiting.pop() {
            // Watched first: what happens while it is read is then heard of.
            let watch = self.ear.as_ref().and_then(|ear| ear.watch(&self.root.join(&folder)));
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

    /// What was here is here no longer.
    fn forget(&mut self, path: PathBuf, was: Stamp, difference: &mut Difference) {
        if !was.is_directory() {
            return difference.gone(path, was);
        }
        let mut waiting = vec![path];
        while let Some(path) = waiting.pop() {
            let Some(folder) = self.folders.remove(&path) else { continue };
            self.entries -= folder.entries.len();
            match folder.watch {
                // One that was moved is watched by its new name already.
                Some(watch) if self.watched.get(&watch) == Some(&path) => {
                    self.watched.remove(&watch);
                    self.ear.iter().for_each(|ear| ear.leave(watch));
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

    /// The entries of a directory; none where it is gone or closed to us.
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
