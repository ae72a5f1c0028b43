//! Which changed files `.gitignore` matches: such by-products are counted and not named.
//!
//! The files are written by the sandbox, so each is read only up to a limit and without blocking.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use nix::fcntl::OFlag;

use super::tree::Tree;

const NAME: &str = ".gitignore";
/// The most bytes of one `.gitignore` that are read.
const LONGEST: u64 = 64 << 10;

/// The rules that apply in a directory.
#[derive(Clone, Default)]
struct Here {
    ignored: bool,
    /// From the root to the directory, so that the nearest is last.
    files: Vec<Rc<Gitignore>>,
}

pub struct Ignored<'a> {
    root: &'a Path,
    tree: &'a Tree,
    known: HashMap<PathBuf, Here>,
}

impl<'a> Ignored<'a> {
    pub fn new(root: &'a Path, tree: &'a Tree) -> Self {
        Self { root, tree, known: HashMap::new() }
    }

    /// Whether the file with this path in the workspace is ignored.
    pub fn holds(&mut self, path: &Path) -> bool {
        let here = self.here(path.parent().unwrap_or(Path::new("")));
        here.ignored || names(&here.files, &self.root.join(path), false)
    }

    fn here(&mut self, folder: &Path) -> Here {
        if let Some(known) = self.known.get(folder) {
            return known.clone();
        }
        let mut here = folder.parent().map_or_else(Here::default, |above| self.here(above));
        here.ignored |= folder.parent().is_some() && names(&here.files, &self.root.join(folder), true);
        if !here.ignored {
            here.files.extend(self.file(folder).map(Rc::new));
        }
        self.known.insert(folder.to_owned(), here.clone());
        here
    }

    fn file(&self, folder: &Path) -> Option<Gitignore> {
        self.tree.entry(folder, OsStr::new(NAME))?.regular()?;
        let at = self.root.join(folder);
        let how = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
        let file = OpenOptions::new().read(true).custom_flags(how).open(at.join(NAME)).ok()?;
        // Only a regular file is read.
        file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let mut text = Vec::new();
        file.take(LONGEST).read_to_end(&mut text).ok()?;
        let mut builder = GitignoreBuilder::new(&at);
        for line in String::from_utf8_lossy(&text).lines() {
            // A line that can't be parsed matches nothing.
            let _ = builder.add_line(None, line);
        }
        builder.build().ok()
    }
}

fn names(files: &[Rc<Gitignore>], path: &Path, is_directory: bool) -> bool {
    for file in files.iter().rev() {
        match file.matched(path, is_directory) {
            Match::Ignore(_) => return true,
            Match::Whitelist(_) => return false,
            Match::None => {}
        }
    }
    false
}
