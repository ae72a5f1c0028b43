//! What a workspace may differ in from the tree that it is a layer over: read off the layer, where the kernel keeps all of it.
//!
//! A file that was made, or ever opened for writing, lies in the layer with the directories above it; what went has a mark there, or lay in a
//! directory that was made anew. So a checkpoint of 50,000 files looks at the few that are named here. Said as git's `core.fsmonitor` wants to hear it, version 2
//! (`githooks(5)`, *fsmonitor-watchman*): a token, then paths, a NUL after each. It names too much rather than too little: what
//! of it changed is git's to find. The layer must not know renamed directories (`redirect_dir=off`, which the broker asks for).

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{read_dir, symlink_metadata};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};

/// Set by the broker where the workspace is a layer: where what differs from the tree lies.
pub const VARIABLE: &str = "CAISSON_LAYER";

/// More names are no help: git then looks at everything.
const MOST: usize = 20_000;
/// How many entries are looked at for them.
const LOOKED_AT: usize = 400_000;
/// The exit code for names that are not in the tree: untracked files are to be looked for as well.
const NEW: u8 = 10;

/// `caisson-runner changed <layer> <tree> <workspace>`.
pub fn main(mut args: impl Iterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    let mut next = || args.next().map(PathBuf::from).context("changed needs a layer, a tree and a workspace");
    let found = changed(&next()?, &next()?, &next()?)?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    out.write_all(b"layer\0")?;
    for path in &found.paths {
        out.write_all(path.as_os_str().as_bytes())?;
        out.write_all(b"\0")?;
    }
    out.flush()?;
    Ok(if found.new { ExitCode::from(NEW) } else { ExitCode::SUCCESS })
}

#[derive(Debug, Default)]
struct Found {
    /// Relative; every file of the tree that may have changed or gone, and every file of the layer.
    paths: Vec<PathBuf>,
    /// Whether there is a file where the tree has none.
    new: bool,
    seen: usize,
}

impl Found {
    fn add(&mut self, path: PathBuf) -> anyhow::Result<()> {
        ensure!(self.paths.len() < MOST, "more than {MOST} names");
        self.paths.push(path);
        Ok(())
    }

    /// The names in a directory, but git's own at the root.
    fn names(&mut self, root: &Path, at: &Path) -> anyhow::Result<Vec<(OsString, std::fs::FileType)>> {
        let directory = root.join(at);
        let mut names = Vec::new();
        for entry in read_dir(&directory).with_context(|| directory.display().to_string())? {
            let entry = entry?;
            self.seen += 1;
            ensure!(self.seen < LOOKED_AT, "more than {LOOKED_AT} entries");
            if !(at.as_os_str().is_empty() && entry.file_name() == ".git") {
                names.push((entry.file_name(), entry.file_type()?));
            }
        }
        Ok(names)
    }

    /// What the tree has in a directory that was removed and made again: all of it is gone but what the layer names. Of any other
    /// directory nothing is, and one name tells.
    fn add_hidden(
        &mut self,
        tree: &Path,
        workspace: &Path,
        at: &Path,
        kept: &HashSet<&OsString>,
    ) -> anyhow::Result<()> {
        let ours = |name: &OsString| at.as_os_str().is_empty() && name == ".git";
        let others = |name: &OsString| !kept.contains(name) && !ours(name);
        let directory = tree.join(at);
        for entry in read_dir(&directory).with_context(|| directory.display().to_string())? {
            let name = entry?.file_name();
            if others(&name) {
                if metadata(&workspace.join(at).join(&name))?.is_some() {
                    return Ok(());
                }
                break;
            }
        }
        for (name, kind) in self.names(tree, at)?.into_iter().filter(|(name, _)| others(name)) {
            let path = at.join(name);
            if kind.is_dir() { self.add_below(tree, path)? } else { self.add(path)? }
        }
        Ok(())
    }

    /// Every file below a directory of the tree.
    fn add_below(&mut self, tree: &Path, at: PathBuf) -> anyhow::Result<()> {
        let mut waiting = vec![at];
        while let Some(at) = waiting.pop() {
            for (name, kind) in self.names(tree, &at)? {
                let path = at.join(name);
                if kind.is_dir() { waiting.push(path) } else { self.add(path)? }
            }
        }
        Ok(())
    }
}

fn changed(layer: &Path, tree: &Path, workspace: &Path) -> anyhow::Result<Found> {
    let mut found = Found::default();
    // Directories of the layer, and whether the tree has one of that name.
    let mut waiting = vec![(PathBuf::new(), true)];
    while let Some((at, known)) = waiting.pop() {
        let names = found.names(layer, &at)?;
        if known {
            let kept: HashSet<&OsString> = names.iter().map(|(name, _)| name).collect();
            found.add_hidden(tree, workspace, &at, &kept)?;
        }
        for (name, kind) in names {
            let path = at.join(name);
            let before = if known { metadata(&tree.join(&path))? } else { None };
            let was_directory = before.as_ref().is_some_and(std::fs::Metadata::is_dir);
            if kind.is_dir() {
                waiting.push((path.clone(), was_directory));
                if before.is_none() || was_directory {
                    continue;
                }
            } else if was_directory {
                found.add_below(tree, path.clone())?;
            }
            // The kernel's mark for what went is a device.
            if kind.is_char_device() && was_directory {
                continue;
            }
            found.new |= !kind.is_dir() && !kind.is_char_device() && (before.is_none() || was_directory);
            found.add(path)?;
        }
    }
    Ok(found)
}

fn metadata(path: &Path) -> anyhow::Result<Option<std::fs::Metadata>> {
    match symlink_metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => bail!("{}: {error}", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};

    /// A tree, a layer and what both come to, put there by hand: what the kernel itself makes is in `tests/trees/layers.rs` of the bot.
    fn places(tree: &[&str], layer: &[&str], workspace: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a directory");
        for (place, files) in [("tree", tree), ("layer", layer), ("workspace", workspace)] {
            create_dir_all(dir.path().join(place)).expect("made");
            for file in files {
                let path = dir.path().join(place).join(file);
                create_dir_all(path.parent().expect("a parent")).expect("made");
                if file.ends_with('/') { create_dir_all(path) } else { write(path, "x") }.expect("made");
            }
        }
        dir
    }

    fn look(tree: &[&str], layer: &[&str], workspace: &[&str]) -> (Vec<String>, bool) {
        let dir = places(tree, layer, workspace);
        let at = |place| dir.path().join(place);
        let found = changed(&at("layer"), &at("tree"), &at("workspace")).expect("found");
        let mut paths: Vec<String> = found.paths.iter().map(|path| path.display().to_string()).collect();
        paths.sort();
        (paths, found.new)
    }

    fn owned(paths: &[&str]) -> Vec<String> {
        paths.iter().map(|&path| path.to_owned()).collect()
    }

    #[test]
    fn what_the_layer_holds_is_named_and_nothing_else() {
        let tree = ["a", "d/one", "d/two", "e/f/g"];
        assert_eq!(look(&tree, &[".git/index"], &tree), (vec![], false), "git's own is not the project's");
        assert_eq!(look(&tree, &["d/one"], &tree), (owned(&["d/one"]), false));
        assert_eq!(look(&tree, &["d/new"], &tree), (owned(&["d/new"]), true));
        assert_eq!(look(&tree, &["n/deep/.git"], &tree), (owned(&["n/deep/.git"]), true), "only the root's is");
    }

    #[test]
    fn of_a_directory_made_anew_all_that_it_was_is_named() {
        let tree = ["d/one", "d/two", "d/sub/x", "z"];
        let (paths, new) = look(&tree, &["d/one"], &["d/one", "z"]);
        assert_eq!((paths, new), (owned(&["d/one", "d/sub/x", "d/two"]), false));
    }

    #[test]
    fn a_file_for_a_directory_and_the_other_way_round_name_both() {
        let (paths, new) = look(&["d/one", "d/sub/x"], &["d"], &["d"]);
        assert_eq!((paths, new), (owned(&["d", "d/one", "d/sub/x"]), true));
        let (paths, new) = look(&["d"], &["d/one"], &["d/one"]);
        assert_eq!((paths, new), (owned(&["d", "d/one"]), true));
        assert_eq!(look(&["d"], &["d/"], &["d/"]), (owned(&["d"]), false), "an empty one is nothing to git");
    }

    #[test]
    fn what_cannot_be_read_or_is_too_much_is_an_error() {
        let dir = places(&["a"], &[], &["a"]);
        let at = |place| dir.path().join(place);
        assert!(changed(&at("none"), &at("tree"), &at("workspace")).is_err());
        assert!(changed(&at("layer"), &at("none"), &at("workspace")).is_err());
        (0..=MOST).for_each(|n| write(at("layer").join(n.to_string()), "").expect("written"));
        let error = changed(&at("layer"), &at("tree"), &at("workspace")).expect_err("too much");
        assert!(error.to_string().contains("20000"), "{error}");
    }
}
