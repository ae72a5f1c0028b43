#![allow(unsafe_code)] // libgit2's settings are global to the process: they are made once, before anything else of it runs.
//! Reads the bot's own repositories in this process, with libgit2.
//!
//! Owns every read of refs, commits, trees and blobs. The objects were checked before: by git itself when they were fetched or imported
//! (`fetch.fsckObjects`, `index-pack --fsck-objects`), and in quarantine if an agent made them. Must not write, use remotes, or read
//! unchecked objects. Only the repository's own configuration is read. Tests: `tests/trees.rs`.

use std::path::{Path, PathBuf};
use std::sync::Once;

use domain::Commit;
use git2::{ConfigLevel, ErrorCode, ObjectType, Oid, Repository};

use super::{GitError, Repos};

/// Modes of regular files.
pub(super) const FILES: [i32; 2] = [0o100_644, 0o100_755];
pub(super) const DIRECTORY: i32 = 0o040_000;
/// The most bytes of a commit's text.
const COMMIT_CAP: usize = 64 << 10;

impl From<git2::Error> for GitError {
    fn from(e: git2::Error) -> Self {
        match e.code() {
            ErrorCode::NotFound => Self::NotFound(e.message().to_owned()),
            _ => Self::Io(format!("a repository cannot be read: {}", e.message())),
        }
    }
}

/// What stands at a path of a commit.
pub(super) enum AtPath {
    /// A regular file, with its bytes.
    File(Vec<u8>),
    /// A directory, a link or a submodule.
    NoFile,
    Nothing,
}

/// Disables configuration of the user and the machine, and the check of a directory's owner, because we name directories ourselves.
fn settle() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let levels = [ConfigLevel::ProgramData, ConfigLevel::System, ConfigLevel::XDG, ConfigLevel::Global];
        // SAFETY: `call_once` runs once, and every use of libgit2 in this program calls this function first.
        let set = unsafe {
            let paths: Result<(), git2::Error> =
                levels.into_iter().try_for_each(|level| git2::opts::set_search_path(level, "/nonexistent"));
            paths.and_then(|()| git2::opts::set_verify_owner_validation(false))
        };
        if let Err(error) = set {
            tracing::error!(%error, "libgit2 takes no settings; it may read the user's configuration");
        }
    });
}

pub(super) fn oid(commit: &Commit) -> Result<Oid, GitError> {
    Oid::from_str(commit.as_str()).map_err(GitError::from)
}

/// The id of a commit with this text.
pub(crate) fn commit_id(text: &str) -> Result<Commit, GitError> {
    commit(Oid::hash_object(ObjectType::Commit, text.as_bytes())?)
}

/// The id of a blob with this content.
pub(crate) fn blob_id(content: &[u8]) -> Result<String, GitError> {
    Ok(Oid::hash_object(ObjectType::Blob, content)?.to_string())
}

pub(super) fn commit(id: Oid) -> Result<Commit, GitError> {
    Commit::parse(&id.to_string()).map_err(|_| GitError::Invalid(format!("{id} is no commit's id")))
}

impl Repos {
    /// Reads in the repository `key`, on a thread that may block.
    pub(super) async fn read<T, F>(&self, key: &str, look: F) -> Result<T, GitError>
    where
        T: Send + 'static,
        F: FnOnce(&Repository) -> Result<T, GitError> + Send + 'static,
    {
        let dir = self.path(key)?;
        let look = move || look(&open(&dir)?);
        let done = tokio::task::spawn_blocking(look).await;
        done.map_err(|e| GitError::Io(format!("reading a repository ended early: {e}")))?
    }

    pub(super) async fn read_ref(&self, key: &str, name: &str) -> Result<Option<Commit>, GitError> {
        let name = name.to_owned();
        let look = move |repo: &Repository| match repo.find_reference(&name) {
            Ok(found) => commit(found.peel_to_commit()?.id()).map(Some),
            Err(e) if e.code() == ErrorCode::NotFound => Ok(None),
            Err(e) => Err(e.into()),
        };
        // A repository that was never fetched has no refs.
        if !self.path(key)?.join("HEAD").is_file() { Ok(None) } else { self.read(key, look).await }
    }

    /// Whether the commit exists.
    ///
    /// # Errors
    /// Only when the repository cannot be read.
    pub async fn has(&self, key: &str, commit: &Commit) -> Result<bool, GitError> {
        let id = oid(commit)?;
        self.read(key, move |repo| Ok(repo.find_commit(id).is_ok())).await
    }

    pub(super) async fn require(&self, key: &str, commit: &Commit) -> Result<(), GitError> {
        if self.has(key, commit).await? {
            return Ok(());
        }
        Err(GitError::NotFound(format!("the repository {key} has no commit {commit}; fetch it first")))
    }

    /// The commit's text (headers, empty line, message), at most 64 KiB.
    ///
    /// # Errors
    /// [`GitError::NotFound`] when it does not exist.
    pub async fn commit_text(&self, key: &str, commit: &Commit) -> Result<String, GitError> {
        let id = oid(commit)?;
        let look = move |repo: &Repository| {
            let odb = repo.odb()?;
            let found = odb.read(id)?;
            match (found.kind(), found.len()) {
                (ObjectType::Commit, 0..=COMMIT_CAP) => Ok(String::from_utf8_lossy(found.data()).into_owned()),
                (ObjectType::Commit, _) => Err(GitError::TooLarge { verb: "cat-file", cap: COMMIT_CAP as u64 }),
                _ => Err(GitError::NotFound(format!("{id} is no commit"))),
            }
        };
        self.read(key, look).await
    }

    /// A regular file of a commit; `None` when it does not exist or is a directory, link or submodule.
    ///
    /// # Errors
    /// [`GitError::TooLarge`] above `cap` bytes.
    pub async fn show(&self, key: &str, commit: &Commit, path: &str, cap: u64) -> Result<Option<Vec<u8>>, GitError> {
        Ok(match self.at_path(key, commit, path, cap).await? {
            AtPath::File(bytes) => Some(bytes),
            AtPath::NoFile | AtPath::Nothing => None,
        })
    }

    /// As [`Repos::show`], telling apart what is no regular file.
    pub(super) async fn at_path(&self, key: &str, commit: &Commit, path: &str, cap: u64) -> Result<AtPath, GitError> {
        let (id, path) = (oid(commit)?, PathBuf::from(path));
        let look = move |repo: &Repository| {
            let entry = match repo.find_commit(id)?.tree()?.get_path(&path) {
                Ok(entry) if FILES.contains(&entry.filemode()) => entry,
                Ok(_) => return Ok(AtPath::NoFile),
                Err(e) if e.code() == ErrorCode::NotFound => return Ok(AtPath::Nothing),
                Err(e) => return Err(e.into()),
            };
            let odb = repo.odb()?;
            if odb.read_header(entry.id())?.0 as u64 > cap {
                return Err(GitError::TooLarge { verb: "cat-file", cap });
            }
            Ok(AtPath::File(odb.read(entry.id())?.data().to_vec()))
        };
        self.read(key, look).await
    }

    /// Names of all files of a commit, at most `cap` bytes.
    ///
    /// # Errors
    /// [`GitError::TooLarge`] above the limit.
    pub async fn files(&self, key: &str, commit: &Commit, cap: u64) -> Result<Vec<String>, GitError> {
        let id = oid(commit)?;
        self.read(key, move |repo| names(repo, id, cap)).await
    }

    /// Names of files and directories at the root of a commit.
    ///
    /// # Errors
    /// When the commit is missing.
    pub async fn root(&self, key: &str, commit: &Commit) -> Result<Vec<String>, GitError> {
        let id = oid(commit)?;
        let look = move |repo: &Repository| {
            let tree = repo.find_commit(id)?.tree()?;
            Ok(tree.iter().map(|entry| String::from_utf8_lossy(entry.name_bytes()).into_owned()).collect())
        };
        self.read(key, look).await
    }

    /// Checks that all objects of `new` exist, given that those of `old` do.
    ///
    /// # Errors
    /// [`GitError::Invalid`] names a path with a missing object; a missing directory is [`GitError::NotFound`].
    pub async fn complete(&self, key: &str, old: &Commit, new: &Commit) -> Result<(), GitError> {
        let (old, new) = (oid(old)?, oid(new)?);
        let look = move |repo: &Repository| {
            let (old, new) = (repo.find_commit(old)?.tree_id(), repo.find_commit(new)?.tree_id());
            match missing(repo, old, new)? {
                Some(path) => Err(GitError::Invalid(format!("nothing lies at {path:?}"))),
                None => Ok(()),
            }
        };
        self.read(key, look).await
    }

    /// Whether `old` is `new` or one of its ancestors.
    ///
    /// # Errors
    /// Only when the repository cannot be read.
    pub async fn is_ancestor(&self, key: &str, old: &Commit, new: &Commit) -> Result<bool, GitError> {
        let (old, new) = (oid(old)?, oid(new)?);
        self.read(key, move |repo| Ok(old == new || repo.graph_descendant_of(new, old)?)).await
    }

    /// The newest commit that both come from; none where they have none in common.
    ///
    /// # Errors
    /// When one of them is missing.
    pub async fn merge_base(&self, key: &str, one: &Commit, other: &Commit) -> Result<Option<Commit>, GitError> {
        let (one, other) = (oid(one)?, oid(other)?);
        let look = move |repo: &Repository| match repo.merge_base(one, other) {
            Ok(found) => commit(found).map(Some),
            Err(error) if error.code() == git2::ErrorCode::NotFound => {
                // Also what it says of one that is not there.
                repo.find_commit(one).and(repo.find_commit(other))?;
                Ok(None)
            }
            Err(error) => Err(error.into()),
        };
        self.read(key, look).await
    }

    /// Size of the repository on disk in bytes, at least that of a pack of it.
    ///
    /// # Errors
    /// When its directory cannot be read.
    pub async fn bytes(&self, key: &str) -> Result<u64, GitError> {
        let dir = self.path(key)?.join("objects");
        let sized = tokio::task::spawn_blocking(move || below(&dir)).await;
        let sized = sized.map_err(|e| GitError::Io(format!("reading a repository ended early: {e}")))?;
        sized.map_err(|e| GitError::io(&format!("the repository {key}"), &e))
    }
}

fn below(dir: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let about = entry.metadata()?;
        bytes += if about.is_dir() { below(&entry.path())? } else { about.len() };
    }
    Ok(bytes)
}

fn open(dir: &Path) -> Result<Repository, GitError> {
    settle();
    Ok(Repository::open_bare(dir)?)
}

/// A path in `new` whose object is missing, among those that differ from `old`.
fn missing(repo: &Repository, old: Oid, new: Oid) -> Result<Option<String>, GitError> {
    let odb = repo.odb()?;
    let mut waiting = vec![(String::new(), Some(old), new)];
    while let Some((above, old, new)) = waiting.pop() {
        let old = old.and_then(|old| repo.find_tree(old).ok());
        for entry in &repo.find_tree(new)? {
            let before = old.as_ref().and_then(|old| old.get_name_bytes(entry.name_bytes())).map(|before| before.id());
            if before == Some(entry.id()) {
                continue;
            }
            let path = format!("{above}{}", String::from_utf8_lossy(entry.name_bytes()));
            if entry.filemode() == DIRECTORY {
                waiting.push((format!("{path}/"), before, entry.id()));
            } else if !odb.exists(entry.id()) {
                return Ok(Some(path));
            }
        }
    }
    Ok(None)
}

fn names(repo: &Repository, id: Oid, cap: u64) -> Result<Vec<String>, GitError> {
    let (mut found, mut bytes) = (Vec::new(), 0);
    let mut waiting = vec![(String::new(), repo.find_commit(id)?.tree_id())];
    while let Some((above, tree)) = waiting.pop() {
        for entry in &repo.find_tree(tree)? {
            let name = format!("{above}{}", String::from_utf8_lossy(entry.name_bytes()));
            // Folders count too: those that hold no file can be without an end.
            bytes += name.len() as u64 + 1;
            if bytes > cap {
                return Err(GitError::TooLarge { verb: "ls-tree", cap });
            }
            match entry.filemode() == DIRECTORY {
                true => waiting.push((format!("{name}/"), entry.id())),
                false => found.push(name),
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}
