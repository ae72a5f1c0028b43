//! Packs for and from the bot's repositories.
//!
//! Owns the pack for a sandbox (only what the base commit reaches, cut at a depth, without what the sandbox's mirror has), and the strict
//! import of a pack that a quarantine container has checked. Tests: `tests/trees.rs`.

use std::time::Duration;

use domain::Commit;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncSeekExt;

use super::fetching::PackWriter;
use super::reach::PackContent;
use super::run::{Git, Input};
use super::{GitError, Repos};

/// Content of an object store: everything that `head` reaches down to `shallow`, whose parents are missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackBase {
    /// The newest commit in the store.
    pub head: Commit,
    /// Commits in the store without their parents; empty = the whole history.
    pub shallow: Vec<Commit>,
}

/// A pack in an unnamed temporary file, and the commits in it whose parents are left out.
pub struct PackFile {
    file: tokio::fs::File,
    /// Lines for the receiving repository's `shallow` file, including those of the store below.
    pub shallow: Vec<Commit>,
    /// Size in bytes; 0 = there is nothing to send.
    pub bytes: u64,
}

impl PackFile {
    /// The file, at its beginning.
    ///
    /// # Errors
    /// [`GitError::Io`] when it cannot be rewound.
    pub async fn reader(&mut self) -> Result<&mut tokio::fs::File, GitError> {
        self.file.rewind().await.map_err(|e| GitError::io("the temporary pack", &e))?;
        Ok(&mut self.file)
    }

    /// Lines for a `shallow` file.
    pub fn shallow_lines(&self) -> String {
        self.shallow.iter().map(|c| format!("{c}\n")).collect()
    }
}

/// Limits of an import.
#[derive(Debug, Clone, Copy)]
pub struct PackLimits {
    /// Largest accepted pack, in bytes.
    pub pack_bytes: u64,
    /// Time limit, also of git's processor time.
    pub time: Duration,
}

impl Default for PackLimits {
    fn default() -> Self {
        Self { pack_bytes: 256 << 20, time: Duration::from_secs(60) }
    }
}

impl Repos {
    /// Everything that `commits` reach, `depth` commits deep (1 = only the commits), without what `held` has. With a store the pack is
    /// thin, and is unpacked where that store is an alternate.
    ///
    /// # Errors
    /// [`GitError::NotFound`] for a missing commit, [`GitError::TooLarge`] above `cap` bytes.
    pub async fn pack(
        &self,
        key: &str,
        commits: &[Commit],
        depth: u32,
        pack_base: Option<&PackBase>,
        cap: u64,
    ) -> Result<PackFile, GitError> {
        let dir = self.path(key)?;
        for commit in commits {
            self.require(key, commit).await?;
        }
        let PackContent { commits, mut shallow, near } = self.pack_content(key, commits, depth, pack_base).await?;
        shallow.extend(pack_base.iter().flat_map(|pack_base| pack_base.shallow.iter().cloned()));
        let mut file = temporary()?;
        if commits.is_empty() {
            return Ok(PackFile { file, shallow, bytes: 0 });
        }
        let mut revs = String::new();
        let mut add = |sign: &str, ids: &[Commit]| ids.iter().for_each(|id| revs.push_str(&format!("{sign}{id}\n")));
        add("--shallow ", &shallow);
        add("", &commits);
        if let Some(pack_base) = pack_base {
            add("^", std::slice::from_ref(&pack_base.head));
            near.iter().for_each(|tree| revs.push_str(&format!("^{tree}\n")));
        }
        let pack = Git::new("pack-objects").at(&dir).args(["--revs", "--shallow", "--stdout", "-q"]);
        let pack = pack.args(pack_base.map(|_| "--thin"));
        let pack = pack.input(Input::Bytes(revs.into_bytes())).cap(cap).timeout(Duration::from_secs(300));
        let (code, said) = pack.run_into(&mut file).await?;
        if code != 0 {
            return Err(GitError::failed("pack-objects", code, &said));
        }
        let bytes = file.stream_position().await.map_err(|e| GitError::io("the temporary pack", &e))?;
        Ok(PackFile { file, shallow, bytes })
    }

    /// What `commit` reaches and `parent` does not, as a self-contained pack; none above `cap` bytes.
    ///
    /// # Errors
    /// [`GitError::Failed`] when one of them is missing.
    pub async fn increment(
        &self,
        key: &str,
        commit: &Commit,
        parent: &Commit,
        cap: u64,
    ) -> Result<Option<Vec<u8>>, GitError> {
        let pack = Git::new("pack-objects").at(&self.path(key)?).args(["--revs", "--stdout", "-q"]);
        let pack = pack.input(Input::Bytes(format!("{commit}\n^{parent}\n").into_bytes())).cap(cap);
        match pack.ok().await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(GitError::TooLarge { .. }) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// Imports a checked pack, strictly and within limits. Imports only objects: [`Repos::complete`] checks that none is missing,
    /// [`Repos::keep`] sets refs.
    ///
    /// # Errors
    /// [`GitError::Failed`] when git finds a broken object, and errors of time and size.
    pub async fn import(
        &self,
        key: &str,
        pack: &mut (dyn tokio::io::AsyncRead + Send + Unpin),
        limits: PackLimits,
    ) -> Result<(), GitError> {
        let dir = self.path(key)?;
        let _writer = PackWriter::begin(&dir);
        let import = Git::new("index-pack").at(&dir).args(["--stdin", "--fsck-objects", "--threads=1"]);
        let import = import.arg(format!("--max-input-size={}", limits.pack_bytes));
        import.input(Input::Stream(pack)).timeout(limits.time).cpu(limits.time).ok().await?;
        Ok(())
    }
}

/// An unnamed temporary file, deleted with its last handle, even after a crash.
pub(crate) fn temporary() -> Result<tokio::fs::File, GitError> {
    let file = tempfile::tempfile().map_err(|e| GitError::io("no temporary file can be made", &e))?;
    Ok(tokio::fs::File::from_std(file))
}
