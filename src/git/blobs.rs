//! Hands out the files of one commit, one after the other, within limits of number, bytes and time.
//!
//! Owns the limits and the order: folder by folder. What has a name that is no text, or is larger than is read, is counted
//! and passed over; links and submodules are left out. Nothing is checked out. Tests: below.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use domain::Commit;
use git2::{ErrorCode, ObjectType, Odb, Oid, Repository, Tree};

use super::folders::Folders;
use super::read::{FILES, oid};
use super::{GitError, Repos};

/// Entries of a tree that are looked at to find files: a few objects can make a tree without an end.
const ENTRIES: u64 = 500_000;

/// How much is read at most.
#[derive(Debug, Clone, Copy)]
pub struct ReadLimits {
    /// Files, those that are passed over included.
    pub files: u64,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Bytes of all files.
    pub all_bytes: u64,
    /// Time.
    pub time: Duration,
}

/// Which files of a commit are read.
#[derive(Debug, Clone, Default)]
pub struct WhichFiles {
    /// Only what lies at or below this path; none = all.
    pub below: Option<String>,
    /// Only these paths; none = all.
    pub only: Option<HashSet<String>>,
    /// Only paths of which this holds; none = all.
    pub pick: Option<fn(&str) -> bool>,
}

/// What a reading gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilesRead<T> {
    /// What was made of them.
    pub found: T,
    /// Files that were read.
    pub files: u64,
    /// Files that were passed over: too large, or refused by the reader; and what has too long a path or lies too deep, whole folders as one.
    pub passed_over: u64,
    /// Whether a limit ended it early.
    pub cut: bool,
}

impl WhichFiles {
    fn has(&self, path: &str) -> bool {
        let within =
            |below: &String| path == below || path.strip_prefix(below.as_str()).is_some_and(|it| it.starts_with('/'));
        self.below.as_ref().is_none_or(within)
            && self.only.as_ref().is_none_or(|only| only.contains(path))
            && self.pick.is_none_or(|pick| pick(path))
    }

    /// Whether a file of this folder may be meant.
    fn enters(&self, folder: &str) -> bool {
        let on_the_way = |below: &String| {
            below == folder
                || below.strip_prefix(folder).is_some_and(|it| it.starts_with('/'))
                || folder.strip_prefix(below.as_str()).is_some_and(|it| it.starts_with('/'))
        };
        self.below.as_ref().is_none_or(on_the_way)
    }
}

impl Repos {
    /// Whether a commit has a regular file or a folder of this path.
    ///
    /// # Errors
    /// When the commit is missing or the repository cannot be read.
    pub async fn has_path(&self, key: &str, commit: &Commit, path: &str) -> Result<bool, GitError> {
        let (id, path) = (oid(commit)?, PathBuf::from(path));
        let look = move |repo: &Repository| match repo.find_commit(id)?.tree()?.get_path(&path) {
            Ok(entry) => Ok(FILES.contains(&entry.filemode()) || entry.kind() == Some(ObjectType::Tree)),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(false),
            Err(error) => Err(error.into()),
        };
        self.read(key, look).await
    }

    /// Gives `look` the files of a commit with their paths; it says whether it made something of a file. It runs on a thread that may block.
    ///
    /// # Errors
    /// When the commit or an object of it is missing.
    pub async fn each_file<T, F>(
        &self,
        key: &str,
        commit: &Commit,
        which: WhichFiles,
        limits: ReadLimits,
        look: F,
    ) -> Result<FilesRead<T>, GitError>
    where
        T: Default + Send + 'static,
        F: FnMut(&mut T, &str, &[u8]) -> bool + Send + 'static,
    {
        let id = oid(commit)?;
        self.read(key, move |repo| read_files(repo, id, &which, limits, look)).await
    }
}

/// A reading under way.
struct Reading<'a, T, F> {
    odb: Odb<'a>,
    limits: ReadLimits,
    end: Instant,
    bytes: u64,
    read: FilesRead<T>,
    look: F,
}

impl<T, F: FnMut(&mut T, &str, &[u8]) -> bool> Reading<'_, T, F> {
    /// Whether a limit is reached; that is noted.
    fn is_over(&mut self) -> bool {
        let seen = self.read.files + self.read.passed_over;
        let over = seen >= self.limits.files || self.bytes > self.limits.all_bytes || Instant::now() >= self.end;
        self.read.cut |= over;
        over
    }

    /// Hands out one file, unless it is too large.
    fn take(&mut self, path: &str, id: Oid) -> Result<(), GitError> {
        let size = self.odb.read_header(id)?.0 as u64;
        if size > self.limits.file_bytes {
            self.read.passed_over += 1;
            return Ok(());
        }
        self.bytes += size;
        if self.is_over() {
            return Ok(());
        }
        match (self.look)(&mut self.read.found, path, self.odb.read(id)?.data()) {
            true => self.read.files += 1,
            false => self.read.passed_over += 1,
        }
        Ok(())
    }
}

fn read_files<T: Default>(
    repo: &Repository,
    id: Oid,
    which: &WhichFiles,
    limits: ReadLimits,
    look: impl FnMut(&mut T, &str, &[u8]) -> bool,
) -> Result<FilesRead<T>, GitError> {
    let end = Instant::now() + limits.time;
    let mut reading = Reading { odb: repo.odb()?, limits, end, bytes: 0, read: FilesRead::default(), look };
    let tree = repo.find_commit(id)?.tree()?;
    match &which.only {
        Some(only) => listed(&mut reading, &tree, which, only)?,
        None => walk(&mut reading, repo, tree.id(), which)?,
    }
    Ok(reading.read)
}

/// Reads the files of a list, in the order of their paths, without looking at the rest of the tree.
fn listed<T, F: FnMut(&mut T, &str, &[u8]) -> bool>(
    reading: &mut Reading<'_, T, F>,
    tree: &Tree<'_>,
    which: &WhichFiles,
    only: &HashSet<String>,
) -> Result<(), GitError> {
    let mut paths: Vec<&String> = only.iter().filter(|path| which.has(path)).collect();
    paths.sort_unstable();
    for path in paths {
        if reading.is_over() {
            break;
        }
        match tree.get_path(Path::new(path)) {
            Ok(entry) if FILES.contains(&entry.filemode()) => reading.take(path, entry.id())?,
            Ok(_) => {}
            Err(error) if error.code() == ErrorCode::NotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn walk<T, F: FnMut(&mut T, &str, &[u8]) -> bool>(
    reading: &mut Reading<'_, T, F>,
    repo: &Repository,
    tree: Oid,
    which: &WhichFiles,
) -> Result<(), GitError> {
    let (mut seen, mut folders) = (0, Folders::of(tree));
    while let Some(folder) = folders.next() {
        for entry in &repo.find_tree(folder.id)? {
            seen += 1;
            if reading.is_over() || seen > ENTRIES {
                reading.read.cut = true;
                return Ok(());
            }
            let is_folder = entry.kind() == Some(ObjectType::Tree);
            let Ok(name) = std::str::from_utf8(entry.name_bytes()) else {
                reading.read.passed_over += 1;
                continue;
            };
            let Some(path) = folder.path_of(name) else {
                reading.read.passed_over += 1;
                continue;
            };
            if !is_folder && FILES.contains(&entry.filemode()) && which.has(&path) {
                reading.take(&path, entry.id())?;
            } else if is_folder && which.enters(&path) && !folders.add(&folder, &path, entry.id()) {
                reading.read.passed_over += 1;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::Branch;

    const LIMITS: ReadLimits =
        ReadLimits { files: 100, file_bytes: 10, all_bytes: 1_000, time: Duration::from_secs(60) };

    async fn read(which: WhichFiles, limits: ReadLimits) -> FilesRead<Vec<String>> {
        let dir = tempfile::tempdir().expect("a folder");
        let repos = Repos::new(dir.path());
        let file = |name: &str, text: &str| format!("M 100644 inline {name}\ndata {}\n{text}\n", text.len());
        let files =
            [("a.txt", "1"), ("d/b.txt", "2"), ("d/e/c.txt", "3"), ("da/x.txt", "4"), ("large.txt", "12345678901")];
        let all: String = files.iter().map(|(name, text)| file(name, text)).collect();
        let link = "M 120000 inline link\ndata 5\na.txt\n";
        let stream = format!("commit refs/remotes/origin/main\ncommitter a <a@b> 1 +0000\ndata 1\nx\n{all}{link}");
        repos.fast_import("shop", stream).await.expect("imported");
        let commit = repos.resolve("shop", &Branch::parse("main").expect("a branch")).await.expect("a commit");
        let look = |found: &mut Vec<String>, path: &str, bytes: &[u8]| {
            found.push(format!("{path}={}", String::from_utf8_lossy(bytes)));
            true
        };
        for (path, there) in [("d/e", true), ("a.txt", true), ("link", false), ("d/none", false)] {
            assert_eq!(repos.has_path("shop", &commit, path).await, Ok(there), "{path}");
        }
        let mut read = repos.each_file("shop", &commit, which, limits, look).await.expect("read");
        read.found.sort();
        read
    }

    #[tokio::test]
    async fn regular_files_are_handed_out_and_larger_ones_are_counted() {
        let all = read(WhichFiles::default(), LIMITS).await;
        assert_eq!(all.found, ["a.txt=1", "d/b.txt=2", "d/e/c.txt=3", "da/x.txt=4"]);
        assert_eq!((all.files, all.passed_over, all.cut), (4, 1, false));
    }

    #[tokio::test]
    async fn a_folder_or_a_list_restricts_it() {
        let below = |path: &str| WhichFiles { below: Some(path.to_owned()), ..WhichFiles::default() };
        assert_eq!(read(below("d"), LIMITS).await.found, ["d/b.txt=2", "d/e/c.txt=3"]);
        assert_eq!(read(below("d/e"), LIMITS).await.found, ["d/e/c.txt=3"]);
        assert_eq!(read(below("a.txt"), LIMITS).await.found, ["a.txt=1"]);
        let only = Some(HashSet::from(["da/x.txt".to_owned()]));
        let only = WhichFiles { only, ..WhichFiles::default() };
        assert_eq!(read(only, LIMITS).await.found, ["da/x.txt=4"]);
        let pick = WhichFiles { pick: Some(|path| path.ends_with("c.txt")), ..WhichFiles::default() };
        assert_eq!(read(pick, LIMITS).await.found, ["d/e/c.txt=3"]);
    }

    #[tokio::test]
    async fn each_limit_ends_it_and_is_said() {
        for limits in [
            ReadLimits { files: 2, ..LIMITS },
            ReadLimits { all_bytes: 2, ..LIMITS },
            ReadLimits { time: Duration::ZERO, ..LIMITS },
        ] {
            let some = read(WhichFiles::default(), limits).await;
            assert!(some.cut && some.found.len() <= 2, "{limits:?}: {some:?}");
        }
    }

    #[tokio::test]
    async fn folders_that_are_too_deep_and_names_that_are_too_long_are_passed_over() {
        let dir = tempfile::tempdir().expect("a folder");
        let repos = Repos::new(dir.path());
        let (deep, long) = (format!("{}c.txt", "d/".repeat(300)), "n".repeat(5_000));
        let files = ["a.txt", &deep, &long].map(|name| format!("M 100644 inline {name}\ndata 1\nx\n")).concat();
        let stream = format!("commit refs/remotes/origin/main\ncommitter a <a@b> 1 +0000\ndata 1\nx\n{files}");
        repos.fast_import("shop", stream).await.expect("imported");
        let commit = repos.resolve("shop", &Branch::parse("main").expect("a branch")).await.expect("a commit");
        let look = |found: &mut Vec<String>, path: &str, _: &[u8]| {
            found.push(path.to_owned());
            true
        };
        let read = repos.each_file("shop", &commit, WhichFiles::default(), LIMITS, look).await.expect("read");
        assert_eq!((read.found, read.passed_over), (vec!["a.txt".to_owned()], 2));
        let said = repos.elsewhere("shop", &commit).await.expect("read").sentence().expect("a sentence");
        assert!(said.starts_with("2 files or folders were not looked through"), "{said}");
    }
}
