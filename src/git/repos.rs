//! The bot's own bare repositories, one per project.
//!
//! Owns their directories, fetch and push, and the refs under `refs/caisson/`; `read.rs` reads them. Fetched branches are below
//! `refs/remotes/origin/`, so that fetching never changes a ref of the bot. Tests: `tests/trees.rs`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use domain::Commit;

use super::fetching::{FetchLimits, PackWriter, is_leftover};
use super::run::{Git, Input};
use super::{Auth, Branch, GitError, RemoteUrl, locks, turns};

/// How long a fetch or push may take.
pub(super) const TRANSFER: Duration = Duration::from_secs(600);

/// How the names of directories begin in which repositories are made, and from which they are removed.
pub(super) const MAKING: &str = "making-";

/// All repositories below one directory.
#[derive(Debug, Clone)]
pub struct Repos {
    pub(super) dir: PathBuf,
    /// Locked while a repository is created or removed, because several tasks may need it at once.
    pub(super) making: Arc<tokio::sync::Mutex<()>>,
    pub(super) limits: FetchLimits,
}

/// A push of one commit to one branch.
#[derive(Debug)]
pub struct PushSpec<'a> {
    /// The repository that is pushed to.
    pub url: &'a RemoteUrl,
    /// The credential for `url`; none = git asks without one.
    pub auth: Option<&'a Auth>,
    /// The branch that is pushed to.
    pub branch: &'a Branch,
    /// The commit that the branch is set to.
    pub new: &'a Commit,
    /// Commit where the branch must be before the push; `None` = it must not exist.
    pub expected_old: Option<&'a Commit>,
}

/// Result of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pushed {
    /// The branch is at the commit, from this or an earlier try.
    Done,
    /// Somebody else moved or deleted the branch.
    Moved {
        /// Present commit of the branch; none = it was deleted.
        found: Option<Commit>,
    },
}

/// `refs/caisson/<task>/<n>`: the commit of a task's n-th checkpoint, kept whatever the forge deletes; 0 is its base.
pub fn checkpoint_ref(task: i64, n: u32) -> String {
    format!("refs/caisson/{task}/{n}")
}

impl Repos {
    /// `dir` is created with the first repository.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), making: Arc::default(), limits: FetchLimits::default() }
    }

    /// With these limits of each fetch.
    #[must_use]
    pub fn with_limits(self, limits: FetchLimits) -> Self {
        Self { limits, ..self }
    }

    /// Removes lock files and incomplete packs of killed git processes, and repositories that were being made or removed, and gives their
    /// number. Only for the holder of the state directory's lock, before git runs, so that none of them is in use.
    ///
    /// # Errors
    /// When the directory cannot be read or one of these files not removed.
    pub fn forget_locks(&self) -> std::io::Result<u32> {
        let (mut found, mut folders) = (0, vec![self.dir.clone()]);
        while let Some(folder) = folders.pop() {
            if !folder.is_dir() {
                continue;
            }
            for entry in std::fs::read_dir(&folder)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    if folder == self.dir && entry.file_name().to_string_lossy().starts_with(MAKING) {
                        std::fs::remove_dir_all(entry.path())?;
                        found += 1;
                    } else {
                        folders.push(entry.path());
                    }
                } else if entry.path().extension().is_some_and(|end| end == "lock") || is_leftover(&entry.path()) {
                    std::fs::remove_file(entry.path())?;
                    found += 1;
                }
            }
        }
        Ok(found)
    }

    /// Directory of the repository `key`.
    ///
    /// # Errors
    /// When the key is not 1 to 64 characters of `[a-z0-9._-]` that start with a letter or digit.
    pub fn path(&self, key: &str) -> Result<PathBuf, GitError> {
        let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b);
        let first = key.bytes().next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        if first && key.len() <= 64 && key.bytes().all(inner) {
            return Ok(self.dir.join(format!("{key}.git")));
        }
        Err(GitError::Invalid(format!("{key:?} is no repository key: use 1 to 64 of a-z, 0-9, `.`, `_`, `-`")))
    }

    /// Makes commits and refs from a stream for `git fast-import`, for a test or self-test.
    ///
    /// # Errors
    /// [`GitError::Failed`] when git cannot parse it.
    pub async fn fast_import(&self, key: &str, stream: String) -> Result<(), GitError> {
        let dir = self.ensure(key).await?;
        let _writer = PackWriter::begin(&dir);
        let import = Git::new("fast-import").at(&dir).args(["--quiet", "--date-format=raw"]);
        import.input(Input::Bytes(stream.into_bytes())).ok().await.map(drop)
    }

    /// Creates the repository if it does not exist.
    ///
    /// # Errors
    /// [`GitError::Io`] or [`GitError::Failed`] when the directory cannot be written.
    pub async fn ensure(&self, key: &str) -> Result<PathBuf, GitError> {
        let path = self.path(key)?;
        let _one = self.making.lock().await;
        if !path.join("HEAD").is_file() {
            private_dir(&self.dir)?;
            // Created in a temporary directory and renamed, so that a crash leaves no incomplete repository.
            let making = tempfile::Builder::new()
                .prefix(MAKING)
                .tempdir_in(&self.dir)
                .map_err(|e| GitError::Io(format!("{}: {e}", path.display())))?;
            Git::new("init").args(["--bare", "--quiet", "--template="]).at(making.path()).ok().await?;
            if path.exists() {
                std::fs::remove_dir_all(&path).map_err(|e| GitError::Io(format!("{}: {e}", path.display())))?;
            }
            std::fs::rename(making.keep(), &path).map_err(|e| GitError::Io(format!("{}: {e}", path.display())))?;
        }
        Ok(path)
    }

    /// Fetches all branches of `url` to `refs/remotes/origin/`, checked by fsck, without tags or submodules.
    ///
    /// # Errors
    /// [`GitError::Failed`] with git's message when the forge refuses or is unreachable (see [`GitError::meaning`]), [`GitError::Oversized`]
    /// when it sends too much, [`GitError::Io`] when too little of the disk is free.
    pub async fn fetch(&self, key: &str, url: &RemoteUrl, auth: Option<&Auth>) -> Result<(), GitError> {
        self.fetch_refs(key, url, auth, "+refs/heads/*:refs/remotes/origin/*").await
    }

    /// Fetches one commit by id, and keeps it under `refs/caisson/seen/<commit>`.
    ///
    /// # Errors
    /// As [`Repos::fetch`]; a server without it answers "not our ref".
    pub async fn fetch_commit(
        &self,
        key: &str,
        url: &RemoteUrl,
        auth: Option<&Auth>,
        commit: &Commit,
    ) -> Result<(), GitError> {
        self.fetch_refs(key, url, auth, &format!("+{commit}:refs/caisson/seen/{commit}")).await
    }

    /// As [`Repos::fetch_commit`], kept under `refs/caisson/<task>/brought`, which goes with the task.
    ///
    /// # Errors
    /// As [`Repos::fetch_commit`].
    pub async fn fetch_for(
        &self,
        key: &str,
        url: &RemoteUrl,
        auth: Option<&Auth>,
        task: i64,
        commit: &Commit,
    ) -> Result<(), GitError> {
        self.fetch_refs(key, url, auth, &format!("+{commit}:refs/caisson/{task}/brought")).await
    }

    async fn fetch_refs(&self, key: &str, url: &RemoteUrl, auth: Option<&Auth>, refspec: &str) -> Result<(), GitError> {
        let dir = self.ensure(key).await?;
        let _turn = turns::enter(&dir, url.as_str()).await;
        let fetch = Git::new("fetch").at(&dir).remote(url, auth).timeout(TRANSFER);
        let flags = ["--quiet", "--no-tags", "--prune", "--no-write-fetch-head", "--no-auto-gc", "--end-of-options"];
        self.limits.run(&dir, fetch.args(flags).arg(url.as_str()).arg(refspec)).await
    }

    /// Pushes with an explicit lease: the branch moves from exactly `expected_old` or not at all. Repeatable, because git notices a push
    /// that has already arrived before it checks the lease.
    ///
    /// # Errors
    /// [`GitError::Failed`] when the forge refuses for another reason (rights, protection) or is unreachable.
    pub async fn push(&self, key: &str, spec: PushSpec<'_>) -> Result<Pushed, GitError> {
        let dir = self.path(key)?;
        self.require(key, spec.new).await?;
        push(&dir, spec).await
    }

    /// The commit of a fetched branch (`refs/remotes/origin/<branch>`).
    ///
    /// # Errors
    /// [`GitError::NotFound`] when the branch did not exist at the last fetch.
    pub async fn resolve(&self, key: &str, branch: &Branch) -> Result<Commit, GitError> {
        let name = format!("refs/remotes/origin/{branch}");
        let found = self.read_ref(key, &name).await?;
        found.ok_or_else(|| GitError::NotFound(format!("the repository {key} has no branch {branch}")))
    }

    /// The commit of a task's n-th checkpoint, if it was captured.
    ///
    /// # Errors
    /// Only when git itself fails.
    pub async fn checkpoint(&self, key: &str, task: i64, n: u32) -> Result<Option<Commit>, GitError> {
        self.read_ref(key, &checkpoint_ref(task, n)).await
    }

    /// Points `refs/caisson/<task>/<n>` to a commit; repeating is fine, moving it is refused.
    ///
    /// # Errors
    /// [`GitError::Invalid`] when the ref is at another commit.
    pub async fn keep(&self, key: &str, task: i64, n: u32, commit: &Commit) -> Result<(), GitError> {
        let name = checkpoint_ref(task, n);
        match self.read_ref(key, &name).await? {
            Some(at) if at == *commit => return Ok(()),
            Some(at) => {
                return Err(GitError::Invalid(format!(
                    "{name} already stands at {at}; a checkpoint is never replaced"
                )));
            }
            None => {}
        }
        self.write_ref(key, format!("create {name} {commit}\n")).await
    }

    /// Points `refs/caisson/<task>/0` to a task's base. It may move, because until the base is in the task's log a repeated try may find
    /// the branch at another commit.
    ///
    /// # Errors
    /// [`GitError::Failed`] when the commit is missing.
    pub async fn keep_base(&self, key: &str, task: i64, base: &Commit) -> Result<(), GitError> {
        let name = checkpoint_ref(task, 0);
        if self.read_ref(key, &name).await?.as_ref() == Some(base) {
            return Ok(());
        }
        self.write_ref(key, format!("update {name} {base}\n")).await
    }

    /// Keeps a commit of a task's work on an earlier base under `refs/caisson/<task>/before/<commit>`, which goes with the task.
    ///
    /// # Errors
    /// [`GitError::Failed`] when the commit is missing.
    pub async fn keep_before(&self, key: &str, task: i64, commit: &Commit) -> Result<(), GitError> {
        self.write_ref(key, format!("update refs/caisson/{task}/before/{commit} {commit}\n")).await
    }

    /// Points `refs/caisson/<task>/brought` to a commit that was brought here (from another host, or a pull request's head), which nothing else
    /// here refers to yet.
    ///
    /// # Errors
    /// [`GitError::Failed`] when the commit is missing.
    pub async fn keep_brought(&self, key: &str, task: i64, commit: &Commit) -> Result<(), GitError> {
        self.write_ref(key, format!("update refs/caisson/{task}/brought {commit}\n")).await
    }

    async fn write_ref(&self, key: &str, line: String) -> Result<(), GitError> {
        let dir = self.path(key)?;
        locks::remove_left(&dir);
        Git::new("update-ref").at(&dir).arg("--stdin").input(Input::Bytes(line.into_bytes())).ok().await.map(drop)
    }
}

/// Creates a directory (and its parents) that only this user can enter.
fn private_dir(path: &std::path::Path) -> Result<(), GitError> {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(path).map_err(|e| GitError::io(&format!("{} cannot be made", path.display()), &e))
}
/// Pushes from the git directory `dir`, which has the commit.
///
/// # Errors
/// As [`Repos::push`].
pub(super) async fn push(dir: &std::path::Path, spec: PushSpec<'_>) -> Result<Pushed, GitError> {
    let full = spec.branch.full();
    let old = spec.expected_old.map(Commit::as_str).unwrap_or_default();
    let push = Git::new("push").at(dir).remote(spec.url, spec.auth).timeout(TRANSFER);
    let push = push.args(["--quiet", "--no-verify", "--no-follow-tags", "--recurse-submodules=no"]);
    // To a nearby repository, sending whole files is faster than computing and applying deltas.
    let push = if spec.url.is_near() { push.arg("--no-thin").config("pack.window", "0") } else { push };
    let push = push.arg(format!("--force-with-lease={full}:{old}")).arg("--end-of-options");
    let done = push.arg(spec.url.as_str()).arg(format!("{}:{full}", spec.new)).run().await?;
    if done.code == 0 {
        return Ok(Pushed::Done);
    }
    // The branch's present commit decides what a refusal means.
    match tip(spec.url, spec.auth, spec.branch).await? {
        Some(at) if at == *spec.new => Ok(Pushed::Done),
        found if found.as_ref() != spec.expected_old => Ok(Pushed::Moved { found }),
        _ => Err(GitError::failed("push", done.code, &done.stderr)),
    }
}

/// The present commit of a branch at `url`; none where there is no such branch.
///
/// # Errors
/// [`GitError::Failed`] when the other side is unreachable or refuses.
pub(super) async fn tip(url: &RemoteUrl, auth: Option<&Auth>, branch: &Branch) -> Result<Option<Commit>, GitError> {
    let ask = Git::new("ls-remote").remote(url, auth).timeout(Duration::from_secs(60));
    let wanted = branch.full();
    let out = ask.args(["--quiet", "--end-of-options", url.as_str(), &wanted]).ok().await?;
    let text = String::from_utf8_lossy(&out);
    let found = text.lines().filter_map(|line| line.split_once('\t')).find(|(_, name)| *name == wanted);
    Ok(found.and_then(|(id, _)| Commit::parse(id).ok()))
}
