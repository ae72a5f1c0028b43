//! Files of a developer's work tree: which differ from the commit, and how others replace them.
//!
//! Owns the second half of [`Home`]. Every file to be replaced is read and compared by git after it can no longer be reached under its
//! name. Must not write itself (`exchange.rs` does). Tests: `tests/trees/edits.rs`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::exchange::{Exchange, PREFIX};
use super::{Home, LISTING};
use crate::git::listing::{Change, parse_changes};
use crate::git::run::Input;
use crate::git::{GitError, Tree};
use crate::text::code;

/// Attributes with which git compares the bytes themselves.
const AS_STORED: &str = "* -text !eol !ident !working-tree-encoding !filter\n";

/// Uncommitted changes of a work tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uncommitted {
    /// Tracked files that differ from the commit checked out, staged or not.
    pub paths: Vec<String>,
    /// Tracked files that a sparse clone leaves out, and that do not exist.
    pub left_out: HashSet<Vec<u8>>,
}

impl Home {
    /// Compares every tracked file, even those that git was told to ignore (`assume-unchanged`, `skip-worktree`).
    ///
    /// # Errors
    /// When the index cannot be read.
    pub async fn uncommitted(&self) -> Result<Uncommitted, GitError> {
        let may_be_absent = self.look_at_all().await?;
        // Compares sizes and times again; the exit code only says whether anything differs.
        self.over("update-index").args(["-q", "--refresh"]).run().await?;
        let flags = ["-z", "--no-renames", "--ignore-submodules=all"];
        let staged = self.over("diff-index").args(["--cached", "--name-only"]).args(flags);
        let staged = staged.arg(self.head.as_str()).cap(LISTING).ok().await?;
        let changed = self.over("diff-files").args(["--raw", "--no-abbrev"]).args(flags).cap(LISTING).ok().await?;
        let changed = parse_changes(&changed).map_err(GitError::Io)?.into_iter();
        let (left_out, changed): (Vec<Change>, Vec<Change>) =
            changed.partition(|change| change.deleted() && may_be_absent.contains(&change.path));
        let changed = self.without_lfs_files(&self.root, changed).await?;
        let staged = staged.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        let paths = staged.chain(changed.iter().map(|change| change.path.as_slice()));
        let mut paths: Vec<String> = paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        paths.sort();
        paths.dedup();
        Ok(Uncommitted { paths, left_out: left_out.into_iter().map(|change| change.path).collect() })
    }

    /// Clears the flags in our own index that make git ignore a file; returns files that need not exist.
    async fn look_at_all(&self) -> Result<HashSet<Vec<u8>>, GitError> {
        let list = self.over("ls-files").args(["-v", "-z"]).cap(LISTING).ok().await?;
        let marked = || {
            let entries = list.split(|b| *b == 0).filter_map(|entry| Some((entry.first()?, entry.get(2..)?)));
            entries.filter(|(tag, _)| matches!(tag, b'h' | b's' | b'S'))
        };
        let input: Vec<u8> = marked().flat_map(|(_, path)| [path, b"\0"].concat()).collect();
        for flag in ["--no-assume-unchanged", "--no-skip-worktree"] {
            let clear = self.over("update-index").args([flag, "-z", "--stdin"]);
            clear.input(Input::Bytes(input.clone())).ok().await?;
        }
        Ok(marked().filter(|(tag, _)| tag.eq_ignore_ascii_case(&b'S')).map(|(_, path)| path.to_vec()).collect())
    }

    /// Directories of interrupted fetches, with the former content of the work tree.
    pub fn cut_off(&self) -> Vec<PathBuf> {
        let entries = [&self.git_dir, &self.root].into_iter().filter_map(|dir| std::fs::read_dir(dir).ok()).flatten();
        let ours = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
        ours.map(|entry| entry.path()).collect()
    }

    /// Writes the difference between what is checked out and `to` into the work tree, unstaged and without filters. Replaced files are
    /// compared with the commit again after they were moved aside: a changed or new file stops everything, and all is restored.
    ///
    /// # Errors
    /// The obstacle, and whether everything was restored; if not, where the old files are.
    pub async fn apply(&self, to: &Tree, changes: &[Change], left_out: &HashSet<Vec<u8>>) -> Result<(), GitError> {
        let from = self.tree(&self.head).await?;
        let made = Exchange::new(&self.root, &self.git_dir);
        let mut exchange = made.map_err(|e| GitError::io("no room beside the files", &e))?;
        if let Err(e) = self.stage(to, changes, &exchange.new_files()).await {
            exchange.finish();
            return Err(e);
        }
        let stopped = match exchange.write(changes, left_out) {
            Ok(()) => match self.differing(&from, &exchange.old()).await {
                Ok(changed) if changed.is_empty() => {
                    exchange.finish();
                    return Ok(());
                }
                Ok(changed) => format!("changed while the branch came in: {}", changed.join(", ")),
                Err(e) => e.to_string(),
            },
            Err(why) => why,
        };
        let stay = exchange.take_back();
        let kept = [self.differing(&from, &exchange.old()).await, self.differing(to, &exchange.back()).await];
        if stay.is_empty() && kept.iter().all(|list| list.as_ref().is_ok_and(Vec::is_empty)) {
            exchange.finish();
            return Err(GitError::Invalid(format!("{stopped}; the work tree is as it was")));
        }
        let folder = exchange.folder().display();
        Err(GitError::Invalid(format!(
            "{stopped}; not everything could be put back: what stood there is in {folder}/old, and what was edited since in {folder}/back"
        )))
    }

    /// Writes the new files of `to` into `dir`, laid out as in the work tree.
    async fn stage(&self, to: &Tree, changes: &[Change], dir: &Path) -> Result<(), GitError> {
        let coming = changes.iter().filter(|change| !change.deleted());
        let paths: Vec<u8> = coming.flat_map(|change| [change.path.as_slice(), b"\0"].concat()).collect();
        let index = self.index_of(to, dir).await?;
        let write = self.over_tree("checkout-index", dir).env("GIT_INDEX_FILE", index);
        let write = write.args(["-f", "-q", "-z", "--stdin"]).input(Input::Bytes(paths));
        write.timeout(Duration::from_secs(600)).ok().await.map(drop)
    }

    /// Files in `dir` that differ from `tree` at the same path, shown as code. A file may be as the commit has it, or as attributes turn it.
    async fn differing(&self, tree: &Tree, dir: &Path) -> Result<Vec<String>, GitError> {
        let stored = self.different(tree, dir, AS_STORED).await?;
        if stored.is_empty() {
            return Ok(Vec::new());
        }
        let turned: HashSet<Vec<u8>> =
            self.different(tree, dir, "").await?.into_iter().map(|change| change.path).collect();
        let both = stored.into_iter().filter(|change| turned.contains(&change.path)).collect();
        let differing = self.without_lfs_files(dir, both).await?;
        Ok(differing.iter().map(|change| code(&String::from_utf8_lossy(&change.path))).collect())
    }

    /// Files in `dir` that differ from `tree` at the same path, by these attributes before all others.
    async fn different(&self, tree: &Tree, dir: &Path, attributes: &str) -> Result<Vec<Change>, GitError> {
        let info = self.own.path().join("info");
        let written = std::fs::create_dir_all(&info).and_then(|()| std::fs::write(info.join("attributes"), attributes));
        written.map_err(|e| GitError::io("the attributes", &e))?;
        let index = self.index_of(tree, dir).await?;
        // Without stored times, so that every file is read.
        self.over_tree("update-index", dir).env("GIT_INDEX_FILE", &index).args(["-q", "--refresh"]).run().await?;
        let compare = self.over_tree("diff-files", dir).env("GIT_INDEX_FILE", &index);
        let out = compare.args(["--raw", "--no-abbrev", "-z", "--no-renames"]).cap(LISTING).ok().await?;
        let mut changes = parse_changes(&out).map_err(GitError::Io)?;
        changes.retain(|change| !change.deleted());
        Ok(changes)
    }

    /// A new index of `tree` without information about files.
    async fn index_of(&self, tree: &Tree, dir: &Path) -> Result<PathBuf, GitError> {
        let index = self.own.path().join("index-of-a-tree");
        self.over_tree("read-tree", dir).env("GIT_INDEX_FILE", &index).arg(tree.as_str()).ok().await?;
        Ok(index)
    }
}
