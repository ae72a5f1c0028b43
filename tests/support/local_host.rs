//! Files and processes of this machine in place of an engine's.

use protocol::broker::{Problem, ProblemKind};
use std::path::Path;
use std::process::Stdio;

/// Copies a tree, in place of a layer over it.
pub fn copy(from: &Path, to: &Path) -> Result<(), Problem> {
    let made = to.parent().map_or(Ok(()), std::fs::create_dir_all);
    let copied = made.and_then(|()| std::process::Command::new("cp").arg("-a").arg(from).arg(to).output());
    match copied {
        Ok(out) if out.status.success() => Ok(()),
        Ok(out) => Err(Problem::refused(String::from_utf8_lossy(&out.stderr).into_owned())),
        Err(error) => Err(Problem::new(ProblemKind::Engine, error.to_string())),
    }
}

/// A search path with only a shell.
pub fn poor_path(dir: &Path) -> std::io::Result<String> {
    let bin = dir.join("bin");
    std::fs::create_dir_all(&bin)?;
    if !bin.join("sh").exists() {
        std::os::unix::fs::symlink("/bin/sh", bin.join("sh"))?;
    }
    Ok(bin.display().to_string())
}

/// Kills a process and its descendants: it first, as with a container's process 1, so that it cannot report the others' end.
pub fn kill_tree(root: u32) {
    let mut tree = vec![root];
    let mut at = 0;
    while at < tree.len() {
        let children = format!("/proc/{0}/task/{0}/children", tree[at]);
        let below = std::fs::read_to_string(children).unwrap_or_default();
        tree.extend(below.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        at += 1;
    }
    for pid in &tree {
        drop(std::process::Command::new("kill").args(["-KILL", &pid.to_string()]).stderr(Stdio::null()).status());
    }
}
