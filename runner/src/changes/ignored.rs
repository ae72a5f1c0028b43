//! Which changed files `.gitignore` matches: such by-products are counted and not named.
//!
//! The files are written by the sandbox, so each is read as in a walk: only up to a limit and without blocking. Too long a one matches nothing.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use ignore::Match;
use ignore::gitignore::Gitignore;
use locate::rules_in;

use super::tree::Tree;

const NAME: &str = ".gitignore";
/// How long rules are read and matched after one action: those of a repository can take long for each file.
const LONGEST: Duration = Duration::from_secs(5);

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
    until: Instant,
    late: bool,
}

impl<'a> Ignored<'a> {
    pub fn new(root: &'a Path, tree: &'a Tree) -> Self {
        Self::until(root, tree, Instant::now() + LONGEST)
    }

    /// Ends at this time.
    pub fn until(root: &'a Path, tree: &'a Tree, until: Instant) -> Self {
        Self { root, tree, known: HashMap::new(), until, late: false }
    }

    /// Whether the time did not suffice, so that files may be ignored of which it was not said.
    pub fn is_late(&self) -> bool {
        self.late
    }

    /// Whether the file with this path in the workspace is ignored.
    pub fn holds(&mut self, path: &Path) -> bool {
        self.late |= Instant::now() >= self.until;
        if self.late {
            return false;
        }
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
