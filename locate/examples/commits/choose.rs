//! Which past commits are tried: those that read like an answer to an issue. Owns the calls of git.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use caisson_locate::{FileKind, Language};

pub struct Commit {
    pub id: String,
    pub parent: String,
    pub message: String,
    /// Sources that were there before.
    pub changed: Vec<String>,
}

/// Sources that a commit changes at most.
const CHANGED: usize = 5;
/// Commits of the past that are looked at.
const PAST: &str = "-2500";

fn git(repository: &Path, args: &[&str]) -> anyhow::Result<String> {
    let out = Command::new("git").arg("-C").arg(repository).args(args).stderr(Stdio::null()).output()?;
    ensure!(out.status.success(), "git {args:?} in {}", repository.display());
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

/// `number` of the newest commits that fit, evenly spread.
pub fn commits(repository: &Path, number: usize) -> anyhow::Result<Vec<Commit>> {
    let format = "--format=%x01%H%x02%P%x02%B%x02";
    let log = git(repository, &["log", PAST, "--no-merges", "--no-renames", "--name-status", format, "HEAD"])?;
    let fit: Vec<Commit> = log.split('\x01').filter_map(commit).collect();
    let step = (fit.len() as f64 / number as f64).max(1.0);
    let mut places = (0..number).map(|at| (at as f64 * step) as usize).peekable();
    let chosen = fit.into_iter().enumerate().filter(|(at, _)| places.next_if_eq(at).is_some());
    Ok(chosen.map(|(_, commit)| commit).collect())
}

/// One that changes one to five sources, none of them renamed, and says why in four words or more.
fn commit(text: &str) -> Option<Commit> {
    let [id, parent, body, files] = text.split('\x02').collect::<Vec<_>>().try_into().ok()?;
    let is_source = |path: &str| FileKind::of(path) == FileKind::Source && Language::of(path).is_some();
    let mut changed = Vec::new();
    for line in files.lines() {
        if let Some((status, path)) = line.split_once('\t').filter(|(_, path)| is_source(path)) {
            if status != "M" {
                return None;
            }
            changed.push(path.to_owned());
        }
    }
    let message = plain_words(body);
    let first = message.split_whitespace().next().unwrap_or_default().to_lowercase();
    let mechanical =
        ["bump", "release", "revert", "merge", "version", "format", "lint"].iter().any(|word| first.starts_with(word));
    let fits = (1..=CHANGED).contains(&changed.len()) && !mechanical && message.split_whitespace().count() >= 4;
    let one_parent = !parent.is_empty() && !parent.contains(' ');
    (fits && one_parent).then(|| Commit { id: id.to_owned(), parent: parent.to_owned(), message, changed })
}

/// Without the lines that people sign with.
fn plain_words(body: &str) -> String {
    let signed =
        |line: &&str| line.split_once(": ").is_some_and(|(head, _)| head.ends_with("-by") || head.ends_with("-By"));
    body.lines().filter(|line| !signed(line)).collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// The tree of a commit in a folder of its own, unpacked once.
pub fn unpack(repository: &Path, commit: &str, cache: &Path) -> anyhow::Result<PathBuf> {
    let folder = cache.join(commit);
    if folder.is_dir() {
        return Ok(folder);
    }
    let beside = cache.join(format!("{commit}.new"));
    std::fs::create_dir_all(&beside)?;
    let mut archive =
        Command::new("git").arg("-C").arg(repository).args(["archive", commit]).stdout(Stdio::piped()).spawn()?;
    let from = archive.stdout.take().context("git archive's output")?;
    let unpacked = Command::new("tar").arg("-x").arg("-C").arg(&beside).stdin(from).status()?;
    ensure!(archive.wait()?.success() && unpacked.success(), "unpacking {commit}");
    std::fs::rename(&beside, &folder)?;
    Ok(folder)
}
