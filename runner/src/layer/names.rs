//! Which files a layer may have changed; a superset, because git determines what really changed.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::fs::{FileType, read_dir};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

use super::entry::{entry_at, is_content};
use super::{Later, Places, ignored, metadata_at};

/// With more names git compares everything instead.
const MOST: usize = 20_000;
/// The most entries that are examined to find the names.
const LOOKED_AT: usize = 400_000;
/// Git checks out no empty directories except for submodules.
const SUBMODULE: &str = "perhaps a submodule, or in one";

/// Relative paths.
#[derive(Debug, Default)]
pub struct Names {
    /// Files of the commit that may have changed or be deleted.
    pub known: BTreeSet<PathBuf>,
    /// Files that the commit does not have and git does not ignore.
    pub new: BTreeSet<PathBuf>,
    /// New by-products of known tools; a directory ends with `/`.
    pub left_out: BTreeSet<OsString>,
}

/// # Errors
/// What cannot be read, exceeds a limit, or only git can judge: a repository in a directory, a submodule.
pub fn of(places: &Places<'_>, later: &Later) -> anyhow::Result<Names> {
    let mut walk = Walk { places, known: BTreeSet::new(), new: Vec::new(), seen: 0 };
    walk.through_both()?;
    // A file that only the tree's commit had counts as new.
    for path in &later.gone {
        walk.known.remove(path);
        if entry_at(places.workspace, path)?.as_ref().is_some_and(is_content) {
            walk.new.push((path.clone(), false));
        }
    }
    let (mut new, left_out) = walk.new_below()?;
    for path in &later.other {
        new.remove(path);
        walk.known.insert(path.clone());
    }
    ensure!(walk.known.len() + new.len() <= MOST, "more than {MOST} names");
    Ok(Names { known: walk.known, new, left_out })
}

struct Walk<'a> {
    places: &'a Places<'a>,
    known: BTreeSet<PathBuf>,
    /// Topmost new entries, and whether each is a directory.
    new: Vec<(PathBuf, bool)>,
    seen: usize,
}

impl Walk<'_> {
    /// Walks the directories that both layer and tree have.
    fn through_both(&mut self) -> anyhow::Result<()> {
        let mut waiting = vec![PathBuf::new()];
        while let Some(at) = waiting.pop() {
            let names = self.names(self.places.layer, &at)?;
            self.add_hidden(&at, &names.iter().map(|(name, _)| name).collect())?;
            for (name, kind) in names {
                let path = at.join(name);
                let was_directory = metadata_at(&self.places.tree.join(&path))?.map(|before| before.is_dir());
                match was_directory {
                    Some(true) if kind.is_dir() => {
                        waiting.push(path);
                        continue;
                    }
                    Some(true) => self.add_below(path.clone())?,
                    Some(false) => self.known.extend([path.clone()]),
                    None => {}
                }
                // Overlayfs marks deleted entries by a character device.
                if !kind.is_char_device() && (kind.is_dir() || was_directory != Some(false)) {
                    self.new.push((path, kind.is_dir()));
                }
            }
        }
        Ok(())
    }

    fn names(&mut self, root: &Path, at: &Path) -> anyhow::Result<Vec<(OsString, FileType)>> {
        let directory = root.join(at);
        let mut names = Vec::new();
        for entry in read_dir(&directory).with_context(|| directory.display().to_string())? {
            let entry = entry?;
            self.seen += 1;
            ensure!(self.seen < LOOKED_AT, "more than {LOOKED_AT} entries");
            if entry.file_name() != ".git" {
                names.push((entry.file_name(), entry.file_type()?));
            } else if !at.as_os_str().is_empty() {
                bail!("{}: a repository of its own", directory.display());
            }
        }
        Ok(names)
    }

    /// Adds the tree's files in a directory that was deleted and recreated, all of which are gone except those in the layer. In any other
    /// directory none is gone, which one name shows.
    fn add_hidden(&mut self, at: &Path, kept: &HashSet<&OsString>) -> anyhow::Result<()> {
        let directory = self.places.tree.join(at);
        let mut empty = true;
        for entry in read_dir(&directory).with_context(|| directory.display().to_string())? {
            empty = false;
            let name = entry?.file_name();
            if !kept.contains(&name) && name != ".git" {
                if metadata_at(&self.places.workspace.join(at).join(&name))?.is_some() {
                    return Ok(());
                }
                break;
            }
        }
        ensure!(!empty, "{}: {SUBMODULE}", at.display());
        for (name, kind) in self.names(self.places.tree, at)? {
            if !kept.contains(&name) {
                let path = at.join(name);
                if kind.is_dir() { self.add_below(path)? } else { self.known.extend([path]) }
            }
        }
        Ok(())
    }

    /// Every file below a directory of the tree.
    fn add_below(&mut self, at: PathBuf) -> anyhow::Result<()> {
        let mut waiting = vec![at];
        while let Some(at) = waiting.pop() {
            let names = self.names(self.places.tree, &at)?;
            ensure!(!names.is_empty(), "{}: {SUBMODULE}", at.display());
            for (name, kind) in names {
                let path = at.join(name);
                if kind.is_dir() { waiting.push(path) } else { self.known.extend([path]) }
            }
        }
        Ok(())
    }

    /// Sorts every new file that is not ignored, and by-products. Entries below an ignored directory are ignored without being examined.
    fn new_below(&mut self) -> anyhow::Result<(BTreeSet<PathBuf>, BTreeSet<OsString>)> {
        let topmost = std::mem::take(&mut self.new);
        let (mut all, mut waiting) = (BTreeSet::new(), Vec::new());
        let sorted = ignored::sorted(self.places.workspace, topmost, |(path, _)| path)?;
        for (path, is_directory) in sorted.kept {
            if is_directory { waiting.push(path) } else { all.extend([path]) }
        }
        let name = |(path, is_directory): (PathBuf, bool)| {
            if is_directory { ignored::directory(&path) } else { path.into_os_string() }
        };
        let mut left_out: BTreeSet<OsString> = sorted.by_products.into_iter().map(name).collect();
        let mut below = Vec::new();
        while let Some(at) = waiting.pop() {
            for (name, kind) in self.names(self.places.layer, &at)? {
                let path = at.join(name);
                if kind.is_dir() { waiting.push(path) } else { below.push(path) }
            }
            ensure!(below.len() <= MOST, "more than {MOST} names");
        }
        let sorted = ignored::sorted(self.places.workspace, below, |path| path)?;
        all.extend(sorted.kept);
        left_out.extend(ignored::topmost(self.places.workspace, &sorted.by_products)?);
        Ok((all, left_out))
    }
}
