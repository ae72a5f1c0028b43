//! What git is told to ignore: asked of git itself, by `.gitignore` alone.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

/// Before each path: none then begins with a colon.
const HERE: &[u8] = b"./";

/// Those of `all` that are not ignored; `path` says where each lies. None may lie beyond a symbolic link.
///
/// # Errors
/// When git cannot say.
pub fn without<T>(workspace: &Path, all: Vec<T>, path: impl Fn(&T) -> &PathBuf) -> anyhow::Result<Vec<T>> {
    if all.is_empty() {
        return Ok(all);
    }
    let mut asked = Vec::new();
    for one in &all {
        asked.extend_from_slice(HERE);
        asked.extend_from_slice(path(one).as_os_str().as_bytes());
        asked.push(0);
    }
    let ignored = ask(workspace, &asked)?;
    let ignored = ignored.split(|byte| *byte == 0).filter_map(|path| path.strip_prefix(HERE));
    let ignored: HashSet<&OsStr> = ignored.map(OsStr::from_bytes).collect();
    Ok(all.into_iter().filter(|one| !ignored.contains(path(one).as_os_str())).collect())
}

/// `$GIT_DIR` is the caller's; no index is looked at.
fn ask(workspace: &Path, paths: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut git = Command::new("git");
    git.args(["--work-tree=.", "check-ignore", "--no-index", "-z", "--stdin"]);
    // It takes none literally, and `HERE` keeps each from being magic.
    git.env("GIT_LITERAL_PATHSPECS", "0");
    let mut child = git.current_dir(workspace).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("git")?;
    let mut stdin = child.stdin.take().context("piped")?;
    let output = std::thread::scope(|scope| {
        scope.spawn(move || {
            // One that ends early says why with its exit code.
            let _ = stdin.write_all(paths);
        });
        child.wait_with_output()
    })?;
    // 1: none of them.
    ensure!(matches!(output.status.code(), Some(0 | 1)), "git check-ignore: {}", output.status);
    Ok(output.stdout)
}
