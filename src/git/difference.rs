//! What differs between two commits of the bot's own repositories, as text: by git's own program, since a stranger may have written both sides,
//! with limits of time and size. Attributes and external programs change nothing. Tests: below.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use domain::Commit;

use super::diff::SHOWN;
use super::run::Git;
use super::{GitError, Repos};

/// The longest that comparing may take, and its processor time.
const WALL: Duration = Duration::from_secs(60);
const PROCESSOR: Duration = Duration::from_secs(20);
/// The most bytes of the list of counts.
const COUNTS: u64 = 16 << 20;

/// Lines added to and removed from a file; none for a binary one.
pub type Counted = Option<(u64, u64)>;

impl Repos {
    /// The difference as a patch, of all files or of one; none where it is longer than `cap` bytes or takes too long.
    ///
    /// # Errors
    /// When a commit is missing.
    pub async fn difference(
        &self,
        key: &str,
        from: &Commit,
        to: &Commit,
        file: Option<&str>,
        cap: u64,
    ) -> Result<Option<Vec<u8>>, GitError> {
        let patch = self.compare(key)?.arg("-p").args(SHOWN).args([from.as_str(), to.as_str(), "--"]);
        bounded(patch.args(file).cap(cap).ok().await)
    }

    /// Lines added and removed by path; none where there are too many files, or it takes too long.
    ///
    /// # Errors
    /// When a commit is missing.
    pub async fn counts(
        &self,
        key: &str,
        from: &Commit,
        to: &Commit,
    ) -> Result<Option<HashMap<Vec<u8>, Counted>>, GitError> {
        let list = self.compare(key)?.args(["--numstat", "-z"]).args(SHOWN).args([from.as_str(), to.as_str(), "--"]);
        let listed = bounded(list.cap(COUNTS).ok().await)?;
        Ok(listed.map(|out| out.split(|byte| *byte == 0).filter_map(counted).collect()))
    }

    fn compare(&self, key: &str) -> Result<Git<'static>, GitError> {
        Ok(Git::new("diff-tree").at(&self.path(key)?).timeout(WALL).cpu(PROCESSOR).arg("-r"))
    }
}

/// What is cut off because it is too much is no error.
fn bounded(done: Result<Vec<u8>, GitError>) -> Result<Option<Vec<u8>>, GitError> {
    match done {
        Ok(out) => Ok(Some(out)),
        Err(GitError::TooLarge { .. } | GitError::TimedOut { .. }) => Ok(None),
        // Killed: 128 and the signal.
        Err(GitError::Failed { code, .. }) if code > 128 => Ok(None),
        Err(other) => Err(other),
    }
}

/// `added TAB removed TAB path`, with `-` for both where the file is binary.
fn counted(record: &[u8]) -> Option<(Vec<u8>, Counted)> {
    let mut parts = record.splitn(3, |byte| *byte == b'\t');
    let number = |part: Option<&[u8]>| std::str::from_utf8(part?).ok()?.parse().ok();
    let (added, removed) = (number(parts.next()), number(parts.next()));
    Some((parts.next()?.to_vec(), added.zip(removed)))
}

/// Lines of the new side that a patch of one file shows, changed or around a change, from 1 on. Every line of content begins with a sign, so
/// nothing in a file passes for the head of a hunk.
pub fn shown_lines(patch: &[u8]) -> Vec<std::ops::Range<u64>> {
    let text = String::from_utf8_lossy(patch);
    text.lines().filter_map(hunk).collect()
}

/// Lines that a patch of one file adds, by their numbers in the new file, from 1 on. As in [`shown_lines`], a sign stands before each line.
pub fn added_lines(patch: &[u8]) -> HashSet<u64> {
    let (mut added, mut at) = (HashSet::new(), None);
    for line in patch.split(|byte| *byte == b'\n') {
        match (line.first(), &mut at) {
            (Some(b'@'), _) => at = hunk(&String::from_utf8_lossy(line)).map(|range| range.start),
            (Some(b'+'), Some(number)) => {
                added.insert(*number);
                *number += 1;
            }
            (Some(b' '), Some(number)) => *number += 1,
            // A line that was taken away, or a remark of git's.
            (Some(b'-' | b'\\'), _) => {}
            // The head of a file: a changed type is shown as two.
            (_, _) => at = None,
        }
    }
    added
}

/// `@@ -4,3 +4,5 @@`.
fn hunk(line: &str) -> Option<std::ops::Range<u64>> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (start, lines) = match ranges.split_once(" +")?.1.split_once(',') {
        Some((start, lines)) => (start.parse().ok()?, lines.parse().ok()?),
        None => (ranges.split_once(" +")?.1.parse().ok()?, 1),
    };
    Some(start..u64::checked_add(start, lines)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::Branch;

    async fn two(repos: &Repos) -> (Commit, Commit) {
        let file = |name: &str, text: &str| format!("M 100644 inline {name}\ndata {}\n{text}\n", text.len());
        let commit = |branch: &str, from: &str, files: String| {
            format!("commit refs/remotes/origin/{branch}\ncommitter a <a@b> 1 +0000\ndata 1\nx\n{from}{files}")
        };
        let lines: String = (1..=20).map(|n| format!("{n}\n")).collect();
        let base = commit("main", "", file("a.txt", &lines) + &file("gone.txt", "x\n"));
        let changed = lines.replace("10\n", "@@ -1,9 +1,9 @@\n10b\n");
        let files = file("a.txt", &changed) + &file("d/b.bin", "\0\0") + "D gone.txt\n";
        let head = commit("head", "from refs/remotes/origin/main\n", file("*.txt", "y\n") + &files);
        repos.fast_import("shop", base + &head).await.expect("imported");
        let tip = async |name: &str| repos.resolve("shop", &Branch::parse(name).expect("one")).await.expect("there");
        (tip("main").await, tip("head").await)
    }

    #[tokio::test]
    async fn a_difference_is_counted_and_shown_and_no_file_passes_for_a_hunk() {
        let dir = tempfile::tempdir().expect("a directory");
        let repos = Repos::new(dir.path());
        let (main, head) = two(&repos).await;
        let counts = repos.counts("shop", &main, &head).await.expect("compared").expect("small");
        let of = |path: &str| counts.get(path.as_bytes()).copied();
        assert_eq!((of("a.txt"), of("d/b.bin"), of("gone.txt")), (Some(Some((2, 1))), Some(None), Some(Some((0, 1)))));
        let one =
            repos.difference("shop", &main, &head, Some("a.txt"), 1 << 20).await.expect("compared").expect("small");
        let shown = shown_lines(&one);
        assert_eq!((shown.len(), shown.first()), (1, Some(&(7..15))), "{}", String::from_utf8_lossy(&one));
        assert_eq!(added_lines(&one), HashSet::from([10, 11]), "a line that looks like a hunk's head is a line");
        // A path is a path and no pattern.
        let starred = repos.difference("shop", &main, &head, Some("*.txt"), 1 << 20).await.expect("compared");
        let starred = String::from_utf8(starred.expect("small")).expect("text");
        assert!(starred.contains("+y") && !starred.contains("a.txt"), "{starred}");
        assert_eq!(repos.difference("shop", &main, &head, None, 100).await, Ok(None), "more than that");
        let none = repos.difference("shop", &main, &head, Some("none.txt"), 100).await;
        assert_eq!(none, Ok(Some(Vec::new())));
    }
}
