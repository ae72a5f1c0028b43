//! What a workspace holds beyond the tree that it is a layer over, as a commit: read off the layer, where the kernel keeps all of it.
//!
//! A file that was made, or ever opened for writing, lies in the layer with the directories above it; what went has a mark there, or lay in a
//! directory that was made anew. So a checkpoint of 50,000 files looks at the few that are named there. They are written as
//! `git fast-import` reads them (`git-fast-import(1)`), on top of the commit that the workspace began with: git makes objects and trees
//! of them. What git would not store as it lies there, or only with a look at its index, is an error before the stream has
//! ended; the host then has git look at every file. The layer must not know renamed directories (`redirect_dir=off`, which the broker asks for).

mod attributes;
mod ignored;
mod lies;
mod names;
mod stream;

use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::io::{BufWriter, ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};

/// Set by the broker where the workspace is a layer: where what differs from the tree lies.
pub const VARIABLE: &str = "CAISSON_LAYER";

/// The file in `$GIT_DIR` that names what stayed out as a by-product, a line each.
const LEFT_OUT: &str = "left-out";

/// The mode of one.
const SUBMODULE: &str = "160000";

/// Where the three lie.
pub struct Places<'a> {
    layer: &'a Path,
    tree: &'a Path,
    /// What both come to.
    workspace: &'a Path,
}

/// In what the commit that the workspace began with differs from that of the tree.
#[derive(Debug, Default)]
struct Later {
    /// Only the tree has it.
    gone: Vec<PathBuf>,
    /// It has it otherwise, or alone.
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

/// What lies at a path, itself.
fn lying(path: &Path) -> anyhow::Result<Option<Metadata>> {
    match path.symlink_metadata() {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => bail!("{}: {error}", path.display()),
    }
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
