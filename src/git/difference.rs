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
/// The longest that looking for moved files may take, and its processor time: less than comparing, which it must not use up.
const MOVED: Duration = Duration::from_secs(10);
/// The most memory that it may take: git keeps all files of the same name on both sides that are not alike, and a small pack may have gigabytes of them.
const MOVED_MEMORY: u64 = 1 << 30;
/// A file counts as moved where half of it is the same. Of more than the square of this many pairs only those of the same content or name are looked at.
const HALF_THE_SAME: [&str; 2] = ["--find-renames=50%", "-l30"];
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

    /// The files that were moved, changed on the way or not, by their new path with the old one; without those of a name that is not UTF-8. Empty
    /// where it takes too long or too much memory, or a commit is missing.
    ///
    /// # Errors
    /// When git cannot be run.
    pub async fn moved(&self, key: &str, from: &Commit, to: &Commit) -> Result<HashMap<String, String>, GitError> {
        self.moved_within(key, (from, to), MOVED_MEMORY).await
    }

    async fn moved_within(
        &self,
        key: &str,
        (from, to): (&Commit, &Commit),
        memory: u64,
    ) -> Result<HashMap<String, String>, GitError> {
        let list = self.compare(key)?.timeout(MOVED).cpu(MOVED).memory(memory).args(["--name-status", "-z"]);
        let list = list.arg("--diff-filter=R").args(SHOWN).args(HALF_THE_SAME).args([from.as_str(), to.as_str(), "--"]);
        let listed = match bounded(list.cap(COUNTS).ok().await) {
            Err(GitError::Failed { .. }) => Vec::new(),
            listed => listed?.unwrap_or_default(),
        };
        // Each is a status, the old path and the new one.
        let words: Vec<&[u8]> = listed.split(|byte| *byte == 0).collect();
        let text = |word: &[u8]| String::from_utf8(word.to_vec()).ok();
        Ok(words.chunks_exact(3).filter_map(|word| Some((text(word[2])?, text(word[1])?))).collect())
    }

    /// As [`Repos::difference`], of one file that [`Repos::moved`] names.
    ///
    /// # Errors
    /// When a commit is missing.
    pub async fn difference_of_moved(
        &self,
        key: &str,
        (from, to): (&Commit, &Commit),
        (old, new): (&str, &str),
        cap: u64,
    ) -> Result<Option<Vec<u8>>, GitError> {
        let patch = self.compare(key)?.arg("-p").args(SHOWN).args(HALF_THE_SAME);
        bounded(patch.args([from.as_str(), to.as_str(), "--", old, new]).cap(cap).ok().await)
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

    #[tokio::test]
    async fn a_moved_file_is_compared_with_what_it_was() {
        let dir = tempfile::tempdir().expect("a directory");
        let repos = Repos::new(dir.path());
        let lines: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        let file = |name: &str, text: &str| format!("M 100644 inline {name}\ndata {}\n{text}\n", text.len());
        let commit = |branch: &str, rest: String| {
            format!("commit refs/remotes/origin/{branch}\ncommitter a <a@b> 1 +0000\ndata 1\nx\n{rest}")
        };
        let base = commit("main", file("a.txt", &lines) + &file("b.txt", "other\n"));
        let moved = file("d/*.txt", &lines.replace("line 9\n", "line 9\nadded\n")) + &file("new.txt", "quite new\n");
        let head = commit("head", format!("from refs/remotes/origin/main\n{moved}D a.txt\nD b.txt\n"));
        repos.fast_import("shop", base + &head).await.expect("imported");
        let tip = async |name: &str| repos.resolve("shop", &Branch::parse(name).expect("one")).await.expect("there");
        let (main, head) = (tip("main").await, tip("head").await);
        let moved = repos.moved("shop", &main, &head).await.expect("listed");
        assert_eq!(moved, HashMap::from([("d/*.txt".to_owned(), "a.txt".to_owned())]));
        let patch = repos.difference_of_moved("shop", (&main, &head), ("a.txt", "d/*.txt"), 1 << 20).await;
        assert_eq!(added_lines(&patch.expect("compared").expect("small")), HashSet::from([10]));
        let apart = repos.difference_of_moved("shop", (&main, &head), ("b.txt", "new.txt"), 1 << 20).await;
        assert_eq!(added_lines(&apart.expect("compared").expect("small")), HashSet::from([1]), "it is another file");
    }

    #[tokio::test]
    async fn files_that_take_too_much_memory_to_compare_are_new_ones() {
        let dir = tempfile::tempdir().expect("a directory");
        let repos = Repos::new(dir.path());
        let file = |name: &str, text: &str| format!("M 100644 inline {name}\ndata {}\n{text}\n", text.len());
        let commit = |branch: &str, from: &str, small: &str| {
            let large = |n: u32| file(&format!("{branch}/{n}.txt"), &format!("{branch} {n}\n").repeat(500_000));
            let large: String = (0..8).map(large).collect();
            let head = format!("commit refs/remotes/origin/{branch}\ncommitter a <a@b> 1 +0000\ndata 1\nx\n{from}");
            format!("{head}{large}{}", file(small, "one\ntwo\n"))
        };
        let gone = "D a.txt\nD main\n";
        let both = commit("main", "", "a.txt") + &commit("head", "from refs/remotes/origin/main\n", "b.txt") + gone;
        repos.fast_import("shop", both).await.expect("imported");
        let tip = async |name: &str| repos.resolve("shop", &Branch::parse(name).expect("one")).await.expect("there");
        let (main, head) = (tip("main").await, tip("head").await);
        let moved = repos.moved("shop", &main, &head).await.expect("listed");
        assert_eq!(moved, HashMap::from([("b.txt".to_owned(), "a.txt".to_owned())]));
        let moved = repos.moved_within("shop", (&main, &head), 32 << 20).await;
        assert_eq!(moved, Ok(HashMap::new()));
    }
}
