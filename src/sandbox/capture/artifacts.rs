//! Takes files out of a stopped sandbox beside its commit: what a project lists as artifacts, mostly files that git ignores.
//!
//! Owns which files the patterns match, their limits, and the reading: after everything in the sandbox was killed, regular files only, and
//! none through a symbolic link. The names are listed by git, with an empty index of the bot's own. Their bytes were made by untrusted code:
//! nothing here parses them. Tests: below, `tests/trees/artifacts.rs`, `tests/stories/artifacts.rs`.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use domain::{ArtifactBar, ArtifactLeft};
use globset::{GlobBuilder, GlobMatcher};
use protocol::runner::{Op, Status};

use super::Captures;
use super::take::QUIESCE_MS;
use crate::config::ArtifactRules;
use crate::sandbox::policy::{Limits, wrong_name};
use crate::sandbox::session::{self, Session, Work};
use crate::sandbox::{Result, SandboxError};

/// The most bytes of all names that are listed.
const NAMES: u64 = 8 << 20;
/// How long listing may take, in milliseconds.
const LIST_MS: u64 = 60_000;
/// The most files that are read for each that may be taken, so that files above the limit of size end at some time.
const TRIES: usize = 3;
/// The most files that are named as not taken; further ones are counted.
const NAMED: usize = 20;

/// Lists every file and link below the arguments (without one: of the workspace), ignored ones too, each ended by a NUL. Git follows no
/// link below them, and leaves out repositories in directories and everything else that is neither.
const LIST: &str = r#"
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/objects" "$dir/refs"
echo 'ref: refs/heads/none' > "$dir/HEAD"
GIT_DIR="$dir" git --work-tree=. ls-files -z -o -- "$@"
"#;
/// Prints the first `$2` bytes of the file `$1`; [`LINK`] where it or a directory above it is a symbolic link.
const READ: &str = r#"
at=./$1
while [ "$at" != . ]; do
    [ ! -h "$at" ] || exit 43
    at=${at%/*}
done
[ -f "./$1" ] && exec head -c "$2" "./$1"
"#;
/// Exit code of [`READ`] for a symbolic link.
const LINK: i32 = 43;

/// What was found in a sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundArtifacts {
    /// Path and bytes of each file within the limits, in the order of the paths. Untrusted.
    pub files: Vec<(String, Vec<u8>)>,
    /// The first of those that were not taken.
    pub left: Vec<ArtifactLeft>,
    /// How many more were not taken.
    pub more: u32,
    /// Patterns that match no file.
    pub unmatched: Vec<String>,
}

impl FoundArtifacts {
    /// Names a file that is not taken, or counts it.
    pub fn leave(&mut self, path: String, bar: ArtifactBar) {
        if self.left.len() < NAMED { self.left.push(ArtifactLeft { path, bar }) } else { self.more += 1 }
    }
}

impl Captures {
    /// Takes the files that match out of a task's sandbox, after ending everything that runs in it. Repeatable: it changes no file.
    ///
    /// # Errors
    /// [`SandboxError::Gone`] when the sandbox went away, [`SandboxError::Unavailable`] for engine or broker, and the other two where the
    /// files could not be listed.
    pub async fn artifacts(&self, task: i64, rules: &ArtifactRules) -> Result<FoundArtifacts> {
        let session: Arc<Session> = self.sessions.of(task).await?;
        match found(&session, rules).await {
            Err(e @ (SandboxError::Gone(_) | SandboxError::Unavailable(_))) => {
                Err(self.sessions.dropped_after(task, &session, e).await)
            }
            found => found,
        }
    }
}

async fn found(session: &Session, rules: &ArtifactRules) -> Result<FoundArtifacts> {
    let stopped = session.run(Op::Quiesce, QUIESCE_MS).await?;
    session::succeeded(&stopped, "stopping everything in the sandbox")?;
    let starts = starts(&rules.patterns);
    let words = ["sh", "-c", LIST, "list"].into_iter().chain(starts.iter().map(String::as_str));
    let names = session.read(Work::new(words).wall(LIST_MS), NAMES, "listing the files of the sandbox").await?;
    let most = rules.files as usize * TRIES + NAMED;
    let patterns = rules.patterns.clone();
    let matched = tokio::task::spawn_blocking(move || matching(&patterns, &names, most)).await;
    let Matched { paths, more, unmatched } = matched.map_err(|why| SandboxError::Refused(why.to_string()))??;
    let mut found = FoundArtifacts { more, unmatched, ..FoundArtifacts::default() };
    let (mut left, mut tries) = (rules.total_bytes, rules.files as usize * TRIES);
    let mut unpacked = HashSet::new();
    for path in paths {
        if found.files.len() >= rules.files as usize || tries == 0 {
            found.leave(path, ArtifactBar::TooMany { most: rules.files });
            continue;
        }
        if !is_portable(&path) || !unpacked.insert(path.to_lowercase()) {
            found.leave(path, ArtifactBar::Name);
            continue;
        }
        tries -= 1;
        match read(session, &path, rules.file_bytes).await? {
            Err(bar) => found.leave(path, bar),
            Ok(bytes) if bytes.len() as u64 > left => {
                found.leave(path, ArtifactBar::Together { most: rules.total_bytes });
            }
            Ok(bytes) => {
                left -= bytes.len() as u64;
                found.files.push((path, bytes));
            }
        }
    }
    Ok(found)
}

/// The bytes of a file of at most `most` bytes, or why they are not taken.
async fn read(session: &Session, path: &str, most: u64) -> Result<std::result::Result<Vec<u8>, ArtifactBar>> {
    let cap = most + 1;
    let mut bytes = Vec::new();
    let work = Work::new(["sh", "-c", READ, "read", path, &cap.to_string()]);
    let done = session.spool(work, &mut bytes, cap).await?;
    Ok(match done.status {
        Status::Ok | Status::Exited { code: 0 } if bytes.len() as u64 > most => Err(ArtifactBar::TooLarge { most }),
        Status::Ok | Status::Exited { code: 0 } => Ok(bytes),
        Status::Exited { code: LINK } => Err(ArtifactBar::Link),
        Status::Exited { .. }
        | Status::Signaled { .. }
        | Status::TimedOut
        | Status::OutOfMemory
        | Status::OutOfPids
        | Status::DiskFull
        | Status::DiskSpent { .. }
        | Status::Failed { .. }
        | Status::Cancelled => Err(ArtifactBar::Unreadable),
    })
}

/// Where listing begins: of each pattern the part before its first wildcard, by whole directories. Empty where one has none.
fn starts(patterns: &[String]) -> Vec<String> {
    let start = |pattern: &String| match pattern.find(['*', '?', '[', ']', '{', '}', '\\', '!']) {
        None => Some(pattern.clone()),
        Some(at) => pattern[..at].rfind('/').map(|slash| pattern[..slash].to_owned()),
    };
    let all: Option<Vec<String>> = patterns.iter().map(start).collect();
    all.unwrap_or_default()
}

/// Whether every system that unpacks an archive makes this file of it, and no other one: on Windows a colon begins a drive or a stream. A
/// name that is no UTF-8 cannot be asked for.
fn is_portable(path: &str) -> bool {
    let odd = [char::REPLACEMENT_CHARACTER, ':', '*', '?', '"', '<', '>', '|'];
    !path.contains(odd) && wrong_name(path.as_bytes(), &Limits::default()).is_empty()
}

/// What the patterns match.
#[derive(Debug, PartialEq, Eq)]
struct Matched {
    /// The first of the listed paths, in order and each once. Of bytes that are no UTF-8 a path has the replacement character.
    paths: Vec<String>,
    /// How many more there are.
    more: u32,
    /// The patterns that match none.
    unmatched: Vec<String>,
}

/// Matches the listed names, of which `most` are kept.
fn matching(patterns: &[String], names: &[u8], most: usize) -> Result<Matched> {
    let compiled = |pattern: &String| {
        let glob = GlobBuilder::new(pattern).literal_separator(true).build();
        glob.map(|glob| glob.compile_matcher()).map_err(|why| SandboxError::Refused(why.to_string()))
    };
    let matchers: Vec<GlobMatcher> = patterns.iter().map(compiled).collect::<Result<_>>()?;
    let mut met = vec![false; matchers.len()];
    let (mut paths, mut more) = (BTreeSet::new(), 0);
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let path = String::from_utf8_lossy(name).into_owned();
        let mut matched = false;
        for (met, _) in met.iter_mut().zip(&matchers).filter(|(_, matcher)| matcher.is_match(&path)) {
            (*met, matched) = (true, true);
        }
        // A repository in a directory is listed as the directory.
        if matched && !path.ends_with('/') {
            paths.insert(path);
            if paths.len() > most {
                paths.pop_last();
                more += 1;
            }
        }
    }
    let unmatched = patterns.iter().zip(met).filter(|(_, met)| !met).map(|(pattern, _)| pattern.clone()).collect();
    Ok(Matched { paths: paths.into_iter().collect(), more, unmatched })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn listing_begins_at_whole_directories() {
        assert_eq!(starts(&owned(&["report.html", "dist/*.whl"])), ["report.html", "dist"]);
        assert_eq!(starts(&owned(&["out/a-?/x", "b/{c,d}", "e/f\\*"])), ["out", "b", "e"]);
        assert_eq!(starts(&owned(&["dist/*.whl", "*.html"])), [] as [&str; 0], "the whole workspace");
        assert_eq!(starts(&owned(&["**/x"])), [] as [&str; 0]);
    }

    #[test]
    fn a_star_matches_within_one_directory_and_a_path_counts_once() {
        let names = b"dist/b.whl\0dist/a.whl\0dist/deep/c.whl\0src/x.rs\0report.html\0caf\xe9.html\0dist/sub/\0";
        let first = |patterns: &[&str], most| matching(&owned(patterns), names, most).expect("patterns");
        let matched = |patterns: &[&str]| first(patterns, 9).paths;
        let two = first(&["dist/*.whl", "dist/a.*", "none/*"], 9);
        let (paths, unmatched) = (owned(&["dist/a.whl", "dist/b.whl"]), owned(&["none/*"]));
        assert_eq!(two, Matched { paths, more: 0, unmatched });
        assert_eq!(matched(&["**/*.whl"]), ["dist/a.whl", "dist/b.whl", "dist/deep/c.whl"]);
        assert_eq!(matched(&["*.html"]), ["caf\u{fffd}.html", "report.html"]);
        assert_eq!(matched(&["dist/sub/"]), [] as [&str; 0]);
        let cut = first(&["**/*.whl"], 2);
        assert_eq!((cut.paths, cut.more), (owned(&["dist/a.whl", "dist/b.whl"]), 1));
    }

    #[test]
    fn a_path_is_one_file_wherever_it_is_unpacked() {
        assert!(is_portable("dist/a-1.0 (x).whl"));
        for odd in ["C:/Windows/x.dll", "report.html:x.exe", "a?", "caf\u{fffd}", "dist/../x", "con/a"] {
            assert!(!is_portable(odd), "{odd}");
        }
    }

    #[test]
    fn what_is_not_taken_is_named_and_then_counted() {
        let mut found = FoundArtifacts::default();
        (0..25).for_each(|n| found.leave(n.to_string(), ArtifactBar::Link));
        assert_eq!((found.left.len(), found.more), (20, 5));
    }
}
