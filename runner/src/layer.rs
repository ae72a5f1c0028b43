//! The differences of a layered workspace to its tree as a commit, read from the layer.
//!
//! A file that was created, or ever opened for writing, is in the layer with its parent directories; a deleted one has a mark there or was
//! in a directory that was recreated. So a checkpoint of 50,000 files reads only the few named there. They are written for `git
//! fast-import` (`git-fast-import(1)`) on top of the commit that the workspace began with. What git would store differently, or decide only
//! with its index, is an error before the stream ends; the host then has git compare every file. The layer must not contain renamed
//! directories (`redirect_dir=off`, which the broker sets).

mod attributes;
mod entry;
mod ignored;
mod names;
mod stream;

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{BufWriter, ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use locate::open_regular;

/// Variable with the directory of differences to the tree, set by the broker if the workspace is layered.
pub const VARIABLE: &str = "CAISSON_LAYER";

/// File in `$GIT_DIR` with the paths that were left out as by-products, one per line.
const LEFT_OUT: &str = "left-out";

/// Git's mode of a submodule.
const SUBMODULE: &str = "160000";

/// The directories of layer, tree and workspace.
pub struct Places<'a> {
    layer: &'a Path,
    tree: &'a Path,
    /// Layer and tree merged.
    workspace: &'a Path,
}

/// Differences between the tree's commit and the commit that the workspace began with.
#[derive(Debug, Default)]
struct Later {
    /// Only in the tree's commit.
    gone: Vec<PathBuf>,
    /// Different in the workspace's commit, or only there.
    other: Vec<PathBuf>,
}

/// `caisson-runner changed <layer> <tree> <workspace> <commit>`, with `git diff-tree --raw -z` of the tree's commit and that one on stdin.
pub fn main(mut args: impl Iterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    let mut next =
        || args.next().context("changed needs a layer, a tree, a workspace and the commit that it began with");
    let (layer, tree, workspace, base) = (next()?, next()?, next()?, next()?);
    let places = Places { layer: layer.as_ref(), tree: tree.as_ref(), workspace: workspace.as_ref() };
    let mut later = Vec::new();
    std::io::stdin().lock().read_to_end(&mut later).context("what a later commit changed")?;
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let names = names::of(&places, &Later::parse(&later)?)?;
    stream::write(places.workspace, &base.to_string_lossy(), &names, &mut out)?;
    if let Some(own) = std::env::var_os("GIT_DIR") {
        std::fs::write(Path::new(&own).join(LEFT_OUT), stream::lines(&names.left_out)).context("what was left out")?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Metadata of the entry at a path, without following a link.
fn metadata_at(path: &Path) -> anyhow::Result<Option<Metadata>> {
    match path.symlink_metadata() {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => bail!("{}: {error}", path.display()),
    }
}

/// Opens a file whose metadata told that it is one; an error if something else has taken its place.
fn opened(path: &Path) -> anyhow::Result<File> {
    let file = open_regular(path).with_context(|| path.display().to_string())?;
    file.with_context(|| format!("{} is no file any more", path.display()))
}

impl Later {
    /// `:<old mode> <new mode> <id> <id> <status>`, then the path, each ended by a NUL.
    fn parse(text: &[u8]) -> anyhow::Result<Self> {
        let mut words = text.split(|byte| *byte == 0).filter(|word| !word.is_empty());
        let mut later = Self::default();
        while let Some(change) = words.next() {
            let path =
                words.next().map(|path| PathBuf::from(OsStr::from_bytes(path))).context("a change without a path")?;
            let change = String::from_utf8_lossy(change);
            let modes = change.get(1..14).context("a change without modes")?;
            ensure!(!modes.contains(SUBMODULE), "{}: a submodule of a later commit", path.display());
            match change.bytes().last() {
                Some(b'D') => later.gone.push(path),
                Some(b'A' | b'M' | b'T') => later.other.push(path),
                _ => bail!("{change}: an unknown change"),
            }
        }
        Ok(later)
    }
}

#[cfg(test)]
mod tests;
