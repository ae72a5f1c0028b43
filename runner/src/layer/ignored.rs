//! Asks git what it ignores: by `.gitignore`, and then by the list of by-products in `$GIT_DIR`.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

/// Prefix of each path, so that none begins with a colon.
const HERE: &[u8] = b"./";
/// Path of the list in the git directory.
const LIST: &[u8] = b"info/exclude";

/// Paths sorted by git's answers.
pub struct Sorted<T> {
    pub kept: Vec<T>,
    /// Ignored only by the list.
    pub by_products: Vec<T>,
}

/// Sorts out ignored items; `path` gives each one's path. None may be beyond a symbolic link.
///
/// # Errors
/// When git cannot say.
pub fn sorted<T>(workspace: &Path, all: Vec<T>, path: impl Fn(&T) -> &PathBuf) -> anyhow::Result<Sorted<T>> {
    let mut sorted = Sorted { kept: Vec::new(), by_products: Vec::new() };
    let ignored = ask(workspace, all.iter().map(&path))?;
    for one in all {
        match ignored.get(path(&one).as_os_str()) {
            None => sorted.kept.push(one),
            Some(true) => sorted.by_products.push(one),
            Some(false) => {}
        }
    }
    Ok(sorted)
}

/// The topmost directories of by-products that are by-products themselves; they end with `/`.
///
/// # Errors
/// When git cannot say.
pub fn topmost(workspace: &Path, files: &[PathBuf]) -> anyhow::Result<BTreeSet<OsString>> {
    let above = |path: &PathBuf| -> Vec<PathBuf> {
        path.ancestors().skip(1).filter(|dir| !dir.as_os_str().is_empty()).map(Path::to_owned).collect()
    };
    let all: BTreeSet<PathBuf> = files.iter().flat_map(above).collect();
    let ignored = ask(workspace, all.iter())?;
    let name = |file: &PathBuf| match above(file).iter().rev().find(|dir| ignored.contains_key(dir.as_os_str())) {
        Some(dir) => directory(dir),
        None => file.clone().into_os_string(),
    };
    Ok(files.iter().map(name).collect())
}

/// Name of a directory as git writes it.
pub fn directory(path: &Path) -> OsString {
    let mut name = path.as_os_str().to_owned();
    name.push("/");
    name
}

/// The ignored paths, each with whether the list matches it.
fn ask<'a>(workspace: &Path, paths: impl Iterator<Item = &'a PathBuf>) -> anyhow::Result<HashMap<OsString, bool>> {
    let mut asked = Vec::new();
    for path in paths {
        asked.extend_from_slice(HERE);
        asked.extend_from_slice(path.as_os_str().as_bytes());
        asked.push(0);
    }
    if asked.is_empty() {
        return Ok(HashMap::new());
    }
    let answer = check_ignore(workspace, &asked)?;
    let mut fields = answer.split(|byte| *byte == 0);
    let mut ignored = HashMap::new();
    // Source, line number, pattern and path.
    while let (Some(source), Some(_), Some(pattern), Some(path)) =
        (fields.next(), fields.next(), fields.next(), fields.next())
    {
        if let Some(path) = path.strip_prefix(HERE).filter(|_| !pattern.starts_with(b"!")) {
            ignored.insert(OsStr::from_bytes(path).to_owned(), source.ends_with(LIST));
        }
    }
    Ok(ignored)
}

/// Runs `git check-ignore` without an index; the caller has set `$GIT_DIR`.
fn check_ignore(workspace: &Path, paths: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut git = Command::new("git");
    git.args(["--work-tree=.", "check-ignore", "--no-index", "-v", "-z", "--stdin"]);
    // `git check-ignore` takes no literal pathspecs, and `HERE` keeps paths from being magic.
    git.env("GIT_LITERAL_PATHSPECS", "0");
    let mut child = git.current_dir(workspace).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("git")?;
    let mut stdin = child.stdin.take().context("piped")?;
    let output = std::thread::scope(|scope| {
        scope.spawn(move || {
            // A git that ends early explains itself by its exit code.
            let _ = stdin.write_all(paths);
        });
        child.wait_with_output()
    })?;
    // Exit code 1 means that none is ignored.
    ensure!(matches!(output.status.code(), Some(0 | 1)), "git check-ignore: {}", output.status);
    Ok(output.stdout)
}
