//! Fetches within limits: how much the other side may send, how much of the disk stays free, and what a failed one leaves.
//!
//! Owns the limits, the check of free space, and who may be writing packs of which repository. Must not know what is fetched.
//! Tests: below.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::run::{Git, Output};
use super::{GitError, locks};
use crate::config::Process;
use crate::disk::free_bytes;

const MIB: u64 = 1 << 20;
/// How often free space is looked at while a fetch runs.
const LOOK: Duration = Duration::from_secs(1);
/// Exit code of a program that the kernel ended for writing too large a file.
const SIGXFSZ: i32 = 128 + nix::libc::SIGXFSZ;

/// Numbers of processes that may be writing packs, by repository; of every [`super::Repos`] on the same directory.
static WRITING: Mutex<BTreeMap<PathBuf, u32>> = Mutex::new(BTreeMap::new());

/// Limits of each fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchLimits {
    /// The largest file that a fetch may write, which is the pack, in bytes.
    pub pack_bytes: u64,
    /// Free space that the disk must keep, in bytes; 0 = not checked.
    pub disk_floor_bytes: u64,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self { pack_bytes: 8192 * MIB, disk_floor_bytes: 0 }
    }
}

impl FetchLimits {
    /// Those of a configuration: `git.max_pack_mib` and `sandbox.disk_floor_mib`.
    pub fn of(config: &Process) -> Self {
        Self {
            pack_bytes: config.git.max_pack_mib.saturating_mul(MIB),
            disk_floor_bytes: config.sandbox.disk_floor_mib.saturating_mul(MIB),
        }
    }

    /// Runs `fetch`, which writes into the git directory `dir`. What a failed one wrote is removed.
    ///
    /// # Errors
    /// [`GitError::Oversized`] when the other side sends too much, [`GitError::Io`] when too little of the disk is free, and those of git.
    pub(super) async fn run(self, dir: &Path, fetch: Git<'_>) -> Result<(), GitError> {
        self.check_space(dir)?;
        locks::remove_left(dir);
        // Declared before git begins, so that it is dropped after git was killed.
        let _writer = PackWriter::begin(dir);
        let done = tokio::select! {
            done = fetch.file_limit(self.pack_bytes).run() => done?,
            full = self.full(dir) => return Err(full),
        };
        match done.code {
            0 => Ok(()),
            _ if is_oversized(&done) => Err(GitError::Oversized { verb: "fetch", mib: self.pack_bytes / MIB }),
            code => Err(GitError::failed("fetch", code, &done.stderr)),
        }
    }

    fn check_space(&self, dir: &Path) -> Result<(), GitError> {
        if self.disk_floor_bytes == 0 {
            return Ok(());
        }
        let free = free_bytes(dir).map_err(|e| GitError::io(&dir.display().to_string(), &e))?;
        if free >= self.disk_floor_bytes {
            return Ok(());
        }
        Err(GitError::Io(format!(
            "nothing is fetched with only {} MiB free at {}, where {} are to stay free (`sandbox.disk_floor_mib`): make room there",
            free / MIB,
            dir.display(),
            self.disk_floor_bytes / MIB
        )))
    }

    /// The error, once too little is free.
    async fn full(&self, dir: &Path) -> GitError {
        loop {
            tokio::time::sleep(LOOK).await;
            if let Err(error) = self.check_space(dir) {
                return error;
            }
        }
    }
}

/// Whether git ended because a file would have exceeded the limit: it says so, unless the signal came all the same.
fn is_oversized(done: &Output) -> bool {
    // What the other side says is no sign.
    let theirs = |line: &&str| line.starts_with("remote:") || line.contains("remote error:");
    let mut lines = done.stderr.lines().filter(|line| !theirs(line));
    let signal = format!("died of signal {}", nix::libc::SIGXFSZ);
    done.code == SIGXFSZ || lines.any(|line| line.contains("File too large") || line.contains(&signal))
}

/// A git process that may be writing packs of a repository. With the last one, files are removed that killed processes left there.
pub(super) struct PackWriter(PathBuf);

impl PackWriter {
    pub(super) fn begin(dir: &Path) -> Self {
        *writing().entry(dir.to_owned()).or_default() += 1;
        Self(dir.to_owned())
    }
}

impl Drop for PackWriter {
    fn drop(&mut self) {
        // Locked to the end, so that nobody begins meanwhile.
        let mut writing = writing();
        let left = writing.get(&self.0).map_or(0, |count| count.saturating_sub(1));
        if left > 0 {
            writing.insert(self.0.clone(), left);
            return;
        }
        writing.remove(&self.0);
        for entry in std::fs::read_dir(self.0.join("objects/pack")).into_iter().flatten().flatten() {
            if is_leftover(&entry.path())
                && let Err(error) = std::fs::remove_file(entry.path())
            {
                tracing::warn!(%error, path = %entry.path().display(), "what a git process left could not be removed");
            }
        }
    }
}

fn writing() -> MutexGuard<'static, BTreeMap<PathBuf, u32>> {
    WRITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether this is a file of `objects/pack` that git removes or renames before it ends: an incomplete pack or index (`tmp_…` of its writers,
/// `.tmp-…` of a repack), or the mark of a pack that no ref leads to yet.
pub(super) fn is_leftover(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let incomplete = name.starts_with("tmp_") || name.starts_with(".tmp-");
    let in_packs = path.parent().is_some_and(|folder| folder.ends_with("objects/pack"));
    in_packs && (incomplete || name.ends_with(".temp") || name.ends_with(".keep"))
}

#[cfg(test)]
mod tests {
    use super::super::run::Input;
    use super::super::{Branch, RemoteUrl, Repos};
    use super::*;

    /// Text of which a byte takes more than half of one in a pack.
    fn noise(bytes: usize) -> String {
        let mut state = 88_172_645_463_325_252_u64;
        let letter = |_: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            char::from(b'a' + (state % 26) as u8)
        };
        (0..bytes).map(letter).collect()
    }

    /// A repository with one file of so many bytes on its branch `main`.
    async fn upstream(dir: &Path, bytes: usize) -> RemoteUrl {
        let repos = Repos::new(dir.join("upstream"));
        let head = "commit refs/heads/main\ncommitter a <a@b> 1 +0000\ndata 1\nx\nM 100644 inline big.txt\n";
        repos.fast_import("shop", format!("{head}data {bytes}\n{}\n", noise(bytes))).await.unwrap();
        RemoteUrl::parse(&repos.path("shop").unwrap().display().to_string()).unwrap()
    }

    fn left(dir: &Path) -> Vec<PathBuf> {
        let all = std::fs::read_dir(dir.join("objects/pack")).into_iter().flatten().flatten();
        all.map(|entry| entry.path()).collect()
    }

    #[tokio::test]
    async fn what_sends_more_than_the_limit_is_refused_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let url = upstream(dir.path(), 3 << 20).await;
        let main = Branch::parse("main").unwrap();
        let usual = Repos::new(dir.path().join("repos"));
        let narrow = usual.clone().with_limits(FetchLimits { pack_bytes: MIB, disk_floor_bytes: 1 });
        let refused = GitError::Oversized { verb: "fetch", mib: 1 };
        assert_eq!(narrow.fetch("shop", &url, None).await, Err(refused.clone()));
        assert_eq!(narrow.take_in("shop", &url, None, &[&main], &[]).await, Err(refused.clone()));
        assert_eq!(narrow.copy_in("shop", &url, None, &main).await.map(drop), Err(refused.clone()));
        let sentence = refused.to_string();
        assert!(sentence.contains("more than 1 MiB") && sentence.contains("git.max_pack_mib"), "{sentence}");
        let at = usual.path("shop").unwrap();
        assert!(left(&at).is_empty(), "{:?}", left(&at));
        usual.fetch("shop", &url, None).await.unwrap();
        usual.resolve("shop", &main).await.unwrap();
        assert!(left(&at).iter().any(|path| path.extension().is_some_and(|end| end == "pack")), "{:?}", left(&at));
    }

    /// Adds an object without git's look at it; returns its id.
    async fn add(dir: &Path, kind: &str, bytes: Vec<u8>) -> String {
        let add = Git::new("hash-object").at(dir).args(["-t", kind, "-w", "--literally", "--stdin"]);
        add.input(Input::Bytes(bytes)).line().await.unwrap()
    }

    #[tokio::test]
    async fn a_history_with_dates_and_modes_that_older_programs_wrote_is_fetched() {
        let dir = tempfile::tempdir().unwrap();
        let at = Repos::new(dir.path().join("upstream")).ensure("shop").await.unwrap();
        let tree = |mode: &str, name: &str, id: &str| {
            let mut entry = format!("{mode} {name}\0").into_bytes();
            entry.extend(hex::decode(id).unwrap());
            entry
        };
        let file = add(&at, "blob", b"x\n".to_vec()).await;
        let below = add(&at, "tree", tree("100644", "f", &file)).await;
        let top = add(&at, "tree", tree("040000", "d", &below)).await;
        let commit = format!("tree {top}\nauthor a <a@b> 1 +051800\ncommitter a <a@b>1 +0000\n\nx\n");
        let commit = add(&at, "commit", commit.into_bytes()).await;
        Git::new("update-ref").at(&at).args(["refs/heads/main", &commit]).ok().await.unwrap();
        let repos = Repos::new(dir.path().join("repos"));
        repos.fetch("shop", &RemoteUrl::parse(&at.display().to_string()).unwrap(), None).await.unwrap();
        let main = repos.resolve("shop", &Branch::parse("main").unwrap()).await.unwrap();
        assert_eq!(main.as_str(), commit);
        assert_eq!(repos.files("shop", &main, 100).await.unwrap(), ["d/f"]);
        let hidden = add(&at, "tree", tree("100644", ".git", &file)).await;
        let wrong = format!("tree {hidden}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nx\n");
        let wrong = add(&at, "commit", wrong.into_bytes()).await;
        Git::new("update-ref").at(&at).args(["refs/heads/wrong", &wrong]).ok().await.unwrap();
        let refused = repos.fetch("shop", &RemoteUrl::parse(&at.display().to_string()).unwrap(), None).await;
        assert!(matches!(refused, Err(GitError::Failed { .. })), "other faults are none of history's: {refused:?}");
    }

    #[tokio::test]
    async fn a_lock_that_a_killed_git_left_is_in_nobodys_way() {
        let dir = tempfile::tempdir().unwrap();
        let url = upstream(dir.path(), 10).await;
        let repos = Repos::new(dir.path().join("repos"));
        let at = repos.ensure("shop").await.unwrap();
        let lock = at.join("refs/remotes/origin/main.lock");
        std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
        std::fs::write(&lock, "").unwrap();
        let locked = repos.fetch("shop", &url, None).await.unwrap_err();
        assert_eq!(locked.meaning(), super::super::Meaning::Away, "it may be of one at work: {locked}");
        assert!(lock.exists());
        let (mut never, _keep) = tokio::io::duplex(8);
        let waits = Git::new("hash-object").at(&at).arg("--stdin").input(Input::Stream(&mut never));
        let killed = waits.timeout(Duration::from_millis(1)).run().await;
        assert!(matches!(killed, Err(GitError::TimedOut { .. })));
        {
            let _at_work = locks::Running::begin(Some(&at));
            locks::remove_left(&at);
            assert!(lock.exists(), "it may be of the other one");
        }
        repos.fetch("shop", &url, None).await.unwrap();
        assert!(!lock.exists());
    }

    #[tokio::test]
    async fn nothing_is_fetched_to_a_full_disk() {
        let dir = tempfile::tempdir().unwrap();
        let url = upstream(dir.path(), 10).await;
        let limits = FetchLimits { disk_floor_bytes: u64::MAX >> 8, ..FetchLimits::default() };
        let repos = Repos::new(dir.path().join("repos")).with_limits(limits);
        let error = repos.fetch("shop", &url, None).await.unwrap_err();
        assert!(error.to_string().contains("sandbox.disk_floor_mib"), "{error}");
        assert_eq!(error.meaning(), super::super::Meaning::Away, "it is tried again");
        assert!(left(&repos.path("shop").unwrap()).is_empty());
    }

    #[test]
    fn leftovers_go_with_the_last_that_writes() {
        let dir = tempfile::tempdir().unwrap();
        let packs = dir.path().join("objects/pack");
        std::fs::create_dir_all(&packs).unwrap();
        let (one, two) = (PackWriter::begin(dir.path()), PackWriter::begin(dir.path()));
        let incomplete = ["tmp_pack_a1", "tmp_idx_b2", "tmp_bitmap_c3", ".tmp-7-pack-1.pack"];
        for name in incomplete.into_iter().chain(["pack-1.keep", "pack-1.pack", "pack-1.idx"]) {
            std::fs::write(packs.join(name), "x").unwrap();
        }
        drop(one);
        assert_eq!(left(dir.path()).len(), 7, "they may be the other one's");
        drop(two);
        let mut names = left(dir.path());
        names.sort();
        assert_eq!(names, ["pack-1.idx", "pack-1.pack"].map(|name| packs.join(name)));
    }

    #[test]
    fn only_git_itself_says_that_a_file_is_too_large() {
        let is = |code, stderr: &str| is_oversized(&Output { code, stdout: Vec::new(), stderr: stderr.to_owned() });
        assert!(is(128, "fatal: write error: File too large\nfatal: fetch-pack: invalid index-pack output\n"));
        assert!(is(128, "error: index-pack died of signal 25\nfatal: index-pack failed\n") && is(153, ""));
        assert!(!is(128, "remote: File too large\nfatal: early EOF\n") && !is(1, ""));
        assert!(!is(128, "fatal: remote error: File too large\n"));
    }
}
