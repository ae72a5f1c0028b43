//! Replaces files of a developer's work tree without losing anything written there.
//!
//! Owns the writing. Old files are moved aside by renaming, so that a late save still goes into them; new ones are placed only where
//! nothing exists; moved files are deleted only once git has found them in the commit ([`super::Home::apply`]). Everything can be undone by
//! the same two operations. Must not judge a file's content. Tests: below, and `tests/trees/edits.rs`.

use std::collections::HashSet;
use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::os_path;
use crate::git::listing::{Change, SUBMODULE};
use crate::text::code;

/// Prefix of the directory of an exchange, also of an interrupted one.
pub(super) const PREFIX: &str = "caisson-fetch-";

/// One step, for undoing.
enum Done {
    /// Moved from the work tree to [`Exchange::old`].
    Aside(PathBuf),
    /// Placed in the work tree.
    Put(PathBuf),
    MadeDirectory(PathBuf),
    RemovedDirectory(PathBuf),
}

/// An exchange in progress. Its directory is on the work tree's file system and stays, even after a crash, until [`Exchange::finish`].
pub(super) struct Exchange {
    root: PathBuf,
    folder: PathBuf,
    done: Vec<Done>,
}

impl Exchange {
    /// Creates the directory in `git_dir`, or in `root` if that is another file system.
    pub(super) fn new(root: &Path, git_dir: &Path) -> io::Result<Self> {
        let near = if root.metadata()?.dev() == git_dir.metadata()?.dev() { git_dir } else { root };
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(near)?.keep();
        let exchange = Self { root: root.to_owned(), folder, done: Vec::new() };
        for dir in [exchange.new_files(), exchange.old(), exchange.back()] {
            fs::create_dir(dir)?;
        }
        Ok(exchange)
    }

    /// Directory of new files, laid out like the work tree, filled by the caller.
    pub(super) fn new_files(&self) -> PathBuf {
        self.folder.join("new")
    }

    /// Directory of the old files.
    pub(super) fn old(&self) -> PathBuf {
        self.folder.join("old")
    }

    /// Directory of new files that were removed again.
    pub(super) fn back(&self) -> PathBuf {
        self.folder.join("back")
    }

    /// Replaces all files. `absent`: tracked files that a sparse clone leaves out, which need not exist.
    ///
    /// # Errors
    /// A sentence about the obstacle; the caller then undoes the exchange.
    pub(super) fn write(&mut self, changes: &[Change], absent: &HashSet<Vec<u8>>) -> Result<(), String> {
        let gone = changes.iter().filter(|change| change.deleted());
        let come = changes.iter().filter(|change| !change.deleted());
        for change in gone.chain(come) {
            let path = os_path(&change.path);
            let said =
                |what: &str, e: &io::Error| format!("{} {what}: {e}", code(&String::from_utf8_lossy(&change.path)));
            if change.status != 'A' && change.old_mode != SUBMODULE {
                match self.aside(path) {
                    Err(e) if e.kind() == ErrorKind::NotFound && absent.contains(&change.path) => {}
                    moved => moved.map_err(|e| said("could not be moved aside", &e))?,
                }
            }
            if !change.deleted() {
                self.put_new(path).map_err(|e| said("could not be put there", &e))?;
            }
        }
        for change in changes.iter().filter(|change| change.deleted()) {
            self.prune(os_path(&change.path));
        }
        Ok(())
    }

    fn aside(&mut self, path: &Path) -> io::Result<()> {
        let to = self.old().join(path);
        fs::create_dir_all(to.parent().unwrap_or(&to))?;
        // A link on the way would lead to another file.
        self.directories_above(path)?;
        fs::rename(self.root.join(path), &to)?;
        self.done.push(Done::Aside(path.to_owned()));
        if to.symlink_metadata()?.is_dir() {
            return Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory now"));
        }
        Ok(())
    }

    /// # Errors
    /// When one is missing or no directory.
    fn directories_above(&self, path: &Path) -> io::Result<()> {
        for above in above(path) {
            if !self.root.join(above).symlink_metadata()?.is_dir() {
                return Err(io::Error::new(
                    ErrorKind::NotADirectory,
                    format!("{} is no directory", code(&above.to_string_lossy())),
                ));
            }
        }
        Ok(())
    }

    fn put_new(&mut self, path: &Path) -> io::Result<()> {
        for above in above(path) {
            match fs::create_dir(self.root.join(above)) {
                Ok(()) => self.done.push(Done::MadeDirectory(above.to_owned())),
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
        self.directories_above(path)?;
        let (from, to) = (self.new_files().join(path), self.root.join(path));
        if to.symlink_metadata().is_ok_and(|stands| stands.is_dir()) {
            self.remove_empty(path);
        }
        if from.symlink_metadata()?.is_dir() {
            fs::create_dir(&to)?;
            self.done.push(Done::MadeDirectory(path.to_owned()));
            return Ok(());
        }
        put(&from, &to)?;
        self.done.push(Done::Put(path.to_owned()));
        Ok(())
    }

    /// Removes a directory and its subdirectories, as far as they are empty.
    fn remove_empty(&mut self, path: &Path) {
        let entries = fs::read_dir(self.root.join(path)).into_iter().flatten().filter_map(Result::ok);
        for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            self.remove_empty(&path.join(entry.file_name()));
        }
        self.remove_directory(path);
    }

    /// Removes directories above a deleted file that have become empty.
    fn prune(&mut self, path: &Path) {
        let mut all: Vec<&Path> = above(path).collect();
        while let Some(dir) = all.pop() {
            if !self.remove_directory(dir) {
                return;
            }
        }
    }

    fn remove_directory(&mut self, path: &Path) -> bool {
        let removed = fs::remove_dir(self.root.join(path)).is_ok();
        if removed {
            self.done.push(Done::RemovedDirectory(path.to_owned()));
        }
        removed
    }

    /// Undoes every step in reverse order.
    ///
    /// Returns paths that could not be restored because something new is there; the old files are in [`Exchange::old`].
    pub(super) fn take_back(&mut self) -> Vec<PathBuf> {
        let mut stay = Vec::new();
        while let Some(done) = self.done.pop() {
            match done {
                Done::Put(path) => {
                    let to = self.back().join(&path);
                    let made = fs::create_dir_all(to.parent().unwrap_or(&to));
                    // A file that cannot be moved is in the way of the old one, which is then reported.
                    let _ = made.and_then(|()| fs::rename(self.root.join(&path), to));
                }
                Done::Aside(path) => {
                    if put(&self.old().join(&path), &self.root.join(&path)).is_err() {
                        stay.push(path);
                    }
                }
                // Only the creation or removal is undone, and a directory in use is left alone.
                Done::MadeDirectory(path) => drop(fs::remove_dir(self.root.join(path))),
                Done::RemovedDirectory(path) => drop(fs::create_dir(self.root.join(path))),
            }
        }
        stay
    }

    /// Directory with everything that is not in the work tree.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes the directory with its content.
    pub(super) fn finish(self) {
        // What is left is a copy of what git has.
        drop(fs::remove_dir_all(self.folder));
    }
}

/// The directories above a path, from the top.
fn above(path: &Path) -> impl Iterator<Item = &Path> {
    let mut all: Vec<&Path> = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()).collect();
    all.reverse();
    all.into_iter()
}

/// Moves a file to a place where nothing exists, checked atomically by the kernel.
///
/// # Errors
/// `AlreadyExists` when something is there.
fn put(from: &Path, to: &Path) -> io::Result<()> {
    let found = from.symlink_metadata()?;
    if found.is_dir() {
        // Fails unless the target is missing or an empty directory.
        return fs::rename(from, to);
    }
    match fs::hard_link(from, to) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists && e.kind() != ErrorKind::NotFound => copy(from, &found, to)?,
        linked => linked?,
    }
    fs::remove_file(from)
}

/// Copies on file systems without hard links.
fn copy(from: &Path, found: &Metadata, to: &Path) -> io::Result<()> {
    if found.is_symlink() {
        return std::os::unix::fs::symlink(fs::read_link(from)?, to);
    }
    let mut out = OpenOptions::new().write(true).create_new(true).open(to)?;
    io::copy(&mut fs::File::open(from)?, &mut out)?;
    out.set_permissions(found.permissions())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(status: char, path: &str) -> Change {
        let path = path.as_bytes().to_vec();
        Change {
            old_mode: "100644".into(),
            new_mode: "100644".into(),
            old_id: String::new(),
            id: String::new(),
            status,
            path,
        }
    }

    fn world() -> (tempfile::TempDir, Exchange) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        fs::create_dir_all(root.join(".git")).unwrap();
        for path in ["changed", "gone/deep/file"] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), format!("old {path}")).unwrap();
        }
        let exchange = Exchange::new(&root, &root.join(".git")).unwrap();
        for path in ["changed", "made/deep/file"] {
            let at = exchange.new_files().join(path);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            fs::write(at, format!("new {path}")).unwrap();
        }
        (dir, exchange)
    }

    fn all() -> [Change; 3] {
        [change('M', "changed"), change('D', "gone/deep/file"), change('A', "made/deep/file")]
    }

    #[test]
    fn a_write_into_a_file_that_was_open_all_the_time_is_still_there() {
        let (_dir, mut exchange) = world();
        let root = exchange.root.clone();
        let mut open = OpenOptions::new().append(true).open(root.join("changed")).unwrap();
        exchange.write(&all(), &HashSet::new()).unwrap();
        assert_eq!(fs::read_to_string(root.join("changed")).unwrap(), "new changed");
        assert!(!root.join("gone").exists() && root.join("made/deep/file").exists());
        io::Write::write_all(&mut open, b", saved late").unwrap();
        assert_eq!(fs::read_to_string(exchange.old().join("changed")).unwrap(), "old changed, saved late");
        fs::write(root.join("made/deep/file"), "edited since").unwrap();
        assert!(exchange.take_back().is_empty());
        assert_eq!(fs::read_to_string(root.join("changed")).unwrap(), "old changed, saved late");
        assert_eq!(fs::read_to_string(root.join("gone/deep/file")).unwrap(), "old gone/deep/file");
        assert!(!root.join("made").exists());
        assert_eq!(fs::read_to_string(exchange.back().join("made/deep/file")).unwrap(), "edited since");
    }

    #[test]
    fn what_stands_in_the_way_of_taking_back_is_kept_beside_it() {
        let (_dir, mut exchange) = world();
        let root = exchange.root.clone();
        exchange.write(&all(), &HashSet::new()).unwrap();
        fs::write(root.join("gone"), "a file of that name, made meanwhile").unwrap();
        assert_eq!(exchange.take_back(), [Path::new("gone/deep/file")]);
        assert_eq!(fs::read_to_string(root.join("gone")).unwrap(), "a file of that name, made meanwhile");
        assert_eq!(fs::read_to_string(exchange.old().join("gone/deep/file")).unwrap(), "old gone/deep/file");
    }

    #[test]
    fn without_hard_links_too_nothing_is_put_over_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::write(&from, "new").unwrap();
        fs::set_permissions(&from, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let found = from.symlink_metadata().unwrap();
        copy(&from, &found, &to).unwrap();
        assert_eq!(to.metadata().unwrap().mode() & 0o777, 0o755);
        fs::write(&to, "mine").unwrap();
        assert_eq!(copy(&from, &found, &to).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(put(&from, &to).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&to).unwrap(), "mine");
    }
}
