//! Which changed files `.gitignore` matches: such by-products are counted and not named.
//!
//! The files are written by the sandbox, so each is read as in a walk: only up to a limit and without blocking. Too long a one matches nothing.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::Gitignore;
use locate::rules_in;

use super::tree::Tree;

const NAME: &str = ".gitignore";

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
        rules_in(&self.root.join(folder), NAME).ok().flatten()
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
