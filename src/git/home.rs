//! A developer's own clone, into which commits of the bot are brought.
//!
//! Owns every git call about it. The clone is read through a temporary git directory of ours: its objects are borrowed, its index is
//! copied, its configuration, hooks, filters and attributes have no effect. The clone itself is only written in two ways: files of the work
//! tree ([`Home::apply`]), or one new branch ([`Home::branch`]). (`home/files.rs`, `home/exchange.rs`, `home/pointers.rs`). Must not judge what it brings.
//! Tests: `tests/trees/fetch.rs`, `tests/trees/edits.rs`.

mod exchange;
mod files;
mod pointers;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::Commit;

use super::listing::{Change, Entry, LINK, parse_batch, parse_changes, parse_entries};
use super::name::no_sha256;
use super::run::{Git, Input};
use super::{Auth, Branch, GitError, PushSpec, Pushed, RemoteUrl, Tree};

pub use files::Uncommitted;

/// Settings about the clone's file system, the only ones that are used of its configuration, of the person's and of the machine's.
const FILE_SYSTEM: &[&str] =
    &["core.fileMode", "core.symlinks", "core.ignoreCase", "core.precomposeUnicode", "core.autocrlf", "core.eol"];
/// Ref of the fetched commit in our own git directory.
const FETCHED: &str = "refs/caisson/fetched";
/// Limit of a listing, in bytes.
const LISTING: u64 = 64 << 20;

/// An opened clone.
#[derive(Debug)]
pub struct Home {
    root: PathBuf,
    git_dir: PathBuf,
    common: PathBuf,
    own: tempfile::TempDir,
    settings: Vec<(String, String)>,
    head: Commit,
}

/// Result of a three-way merge, which changes nothing in the clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// The merged tree.
    Tree(Tree),
    /// Paths that both sides changed.
    Conflict(Vec<String>),
}

impl Home {
    /// # Errors
    /// [`GitError::Invalid`] when `path` is no clone with a work tree and a commit, one with SHA-256, or another git command is running in it.
    pub async fn open(path: &Path) -> Result<Self, GitError> {
        let at =
            path.canonicalize().map_err(|e| GitError::Invalid(format!("{} cannot be opened: {e}", path.display())))?;
        let ask = Git::new("rev-parse").inside(&at).args([
            "--path-format=absolute",
            "--show-toplevel",
            "--git-dir",
            "--git-common-dir",
        ]);
        let out = ask.run().await?;
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        let [root, git_dir, common] = lines[..] else { return Err(no_clone(path, &out.stderr)) };
        let (root, git_dir, common) = (PathBuf::from(root), PathBuf::from(git_dir), PathBuf::from(common));
        if out.code != 0 {
            return Err(no_clone(path, &out.stderr));
        }
        if git_dir.join("index.lock").exists() {
            let said = format!("another git command is at work in {} (index.lock); let it end first", root.display());
            return Err(GitError::Invalid(said));
        }
        let head = Git::new("rev-parse").at(&git_dir).args(["--verify", "HEAD^{commit}"]).line().await;
        let head = head.unwrap_or_default();
        no_sha256(&head, &root.display().to_string())?;
        let none = || GitError::Invalid(format!("{} has no commit yet; clone the project first", root.display()));
        let mut home = Self {
            head: Commit::parse(&head).map_err(|_| none())?,
            own: tempfile::Builder::new()
                .prefix("caisson-fetch-")
                .tempdir()
                .map_err(|e| GitError::io("no temporary directory", &e))?,
            settings: Vec::new(),
            root,
            git_dir,
            common,
        };
        home.borrow().await?;
        Ok(home)
    }

    async fn borrow(&mut self) -> Result<(), GitError> {
        for key in FILE_SYSTEM {
            let ask = Git::new("config").with_own_configuration().at(&self.git_dir).args(["--get", key]).run().await?;
            let value = String::from_utf8_lossy(&ask.stdout).trim().to_owned();
            if ask.code == 0 && ["true", "false", "input", "lf", "crlf", "native"].contains(&value.as_str()) {
                self.settings.push(((*key).to_owned(), value));
            }
        }
        Git::new("init").args(["--bare", "--quiet", "--template="]).at(self.own.path()).ok().await?;
        let objects = self.common.join("objects");
        let line = objects.to_str().filter(|p| !p.contains('\n'));
        let line = line.ok_or_else(|| GitError::Invalid(format!("{} is no usable path", objects.display())))?;
        let info = self.own.path().join("objects/info");
        let copy = |from: PathBuf, name: &str| -> std::io::Result<()> {
            if from.is_file() { copy_dated(&from, &self.own.path().join(name)) } else { Ok(()) }
        };
        let made = std::fs::create_dir_all(&info)
            .and_then(|()| std::fs::write(info.join("alternates"), format!("{line}\n")))
            .and_then(|()| copy(self.common.join("shallow"), "shallow"))
            .and_then(|()| copy(self.git_dir.join("index"), "index"))
            .and_then(|()| self.copy_shared_index());
        made.map_err(|e| GitError::io("the clone cannot be read", &e))?;
        let line = format!("create refs/heads/home {}\n", self.head);
        self.git("update-ref").arg("--stdin").input(Input::Bytes(line.into_bytes())).ok().await?;
        Ok(())
    }

    fn copy_shared_index(&self) -> std::io::Result<()> {
        for entry in std::fs::read_dir(&self.git_dir)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with("sharedindex.") {
                copy_dated(&entry.path(), &self.own.path().join(entry.file_name()))?;
            }
        }
        Ok(())
    }

    /// A git command on our own directory.
    fn git<'a>(&self, verb: &'static str) -> Git<'a> {
        Git::new(verb).at(self.own.path())
    }

    /// A git command on our own directory with the developer's work tree.
    fn over<'a>(&self, verb: &'static str) -> Git<'a> {
        self.over_tree(verb, &self.root)
    }

    fn over_tree<'a>(&self, verb: &'static str, root: &Path) -> Git<'a> {
        let mut git = self.git(verb).over(root);
        for (key, value) in &self.settings {
            git = git.config(key, value);
        }
        git
    }

    /// Root of the work tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The commit that is checked out.
    pub fn head(&self) -> &Commit {
        &self.head
    }

    /// Fetches one object by its id, with its history, into our own directory, with fsck.
    ///
    /// # Errors
    /// [`GitError::Failed`] with git's message when the forge is unreachable, refuses, or does not have the commit.
    pub async fn fetch(&self, url: &RemoteUrl, auth: Option<&Auth>, commit: &Commit) -> Result<(), GitError> {
        let flags = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--end-of-options"];
        let fetch = self.git("fetch").remote(url, auth).timeout(Duration::from_secs(600)).args(flags);
        fetch.arg(url.as_str()).arg(format!("+{commit}:{FETCHED}")).ok().await?;
        let got = self.git("rev-parse").args(["--verify", &format!("{FETCHED}^{{commit}}")]).line().await?;
        if got == commit.as_str() {
            Ok(())
        } else {
            Err(GitError::NotFound(format!("the forge sent {got} for {commit}")))
        }
    }

    /// Whether the clone lacks the history behind some of its commits.
    pub fn is_shallow(&self) -> bool {
        self.common.join("shallow").is_file()
    }

    /// Whether the commit is in the clone, or was fetched.
    ///
    /// # Errors
    /// Only when git cannot be run.
    pub async fn has(&self, commit: &Commit) -> Result<bool, GitError> {
        Ok(self.git("cat-file").args(["-e", &format!("{commit}^{{commit}}")]).run().await?.code == 0)
    }

    /// Whether what is checked out and `commit` have a common ancestor; `false` also when `commit` is missing.
    ///
    /// # Errors
    /// Only when git cannot be run.
    pub async fn shares_history(&self, commit: &Commit) -> Result<bool, GitError> {
        Ok(self.git("merge-base").args([self.head.as_str(), commit.as_str()]).run().await?.code == 0)
    }

    /// Whether `old` is `new` or one of its ancestors; `false` also when `old` is missing.
    ///
    /// # Errors
    /// Only when git cannot be run.
    pub async fn is_ancestor(&self, old: &Commit, new: &Commit) -> Result<bool, GitError> {
        Ok(self.git("merge-base").args(["--is-ancestor", old.as_str(), new.as_str()]).run().await?.code == 0)
    }

    /// Merges the commit's changes since `base` with what is checked out.
    ///
    /// # Errors
    /// [`GitError::Failed`] when the base or another object is missing.
    pub async fn merged(&self, base: &Commit, commit: &Commit) -> Result<Merged, GitError> {
        if *base == self.head {
            return Ok(Merged::Tree(self.tree(commit).await?));
        }
        // Two commits with one common root give a three-way merge with exactly `base` as its base, whatever the history is.
        let root = self.bare_commit(&self.tree(base).await?, None).await?;
        let theirs = self.bare_commit(&self.tree(commit).await?, Some(&root)).await?;
        let ours = self.bare_commit(&self.tree(&self.head).await?, Some(&root)).await?;
        let merge = self.git("merge-tree").args(["--write-tree", "--name-only", "--no-messages", "-z", &ours, &theirs]);
        let done = merge.cap(LISTING).ok_or_one().await?;
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        let mut parts = text.split('\0').filter(|part| !part.is_empty());
        let tree = Tree::parse(parts.next().unwrap_or_default().trim())?;
        if done.code == 0 {
            return Ok(Merged::Tree(tree));
        }
        let mut paths: Vec<String> = parts.map(str::to_owned).collect();
        paths.dedup();
        Ok(Merged::Conflict(paths))
    }

    /// The tree of a commit.
    ///
    /// # Errors
    /// [`GitError::Failed`] when the commit is missing.
    pub async fn tree(&self, commit: &Commit) -> Result<Tree, GitError> {
        let line = self.git("rev-parse").args(["--verify", &format!("{commit}^{{tree}}")]).line().await?;
        Tree::parse(&line)
    }

    /// One commit with the tree of `commit` behind `parent`; the same arguments give the same commit.
    ///
    /// # Errors
    /// [`GitError::Failed`] when one of the two is missing.
    pub async fn squashed(&self, commit: &Commit, parent: &Commit, message: &str) -> Result<Commit, GitError> {
        let tree = self.tree(commit).await?;
        let made = self.new_commit(&tree, Some(parent.as_str()), ("1700000000 +0000", message)).await?;
        Commit::parse(&made).map_err(|_| GitError::Invalid(format!("git named no commit: {made:?}")))
    }

    /// Whether the tip of a branch of another repository has `commit` among its ancestors, or is it.
    ///
    /// # Errors
    /// [`GitError::Failed`] when the other side is unreachable or refuses, [`GitError::NotFound`] when it has no such branch.
    pub async fn is_on(
        &self,
        commit: &Commit,
        url: &RemoteUrl,
        auth: Option<&Auth>,
        branch: &Branch,
    ) -> Result<bool, GitError> {
        let tip = super::repos::tip(url, auth, branch).await?;
        let tip = tip.ok_or_else(|| GitError::NotFound(format!("{} has no branch {branch}", url.as_str())))?;
        if tip != *commit {
            self.fetch(url, auth, &tip).await?;
        }
        self.is_ancestor(commit, &tip).await
    }

    async fn bare_commit(&self, tree: &Tree, parent: Option<&str>) -> Result<String, GitError> {
        self.new_commit(tree, parent, ("@0 +0000", "")).await
    }

    async fn new_commit(
        &self,
        tree: &Tree,
        parent: Option<&str>,
        (date, message): (&str, &str),
    ) -> Result<String, GitError> {
        let mut make = self.git("commit-tree").arg(tree.as_str());
        if let Some(parent) = parent {
            make = make.args(["-p", parent]);
        }
        for role in ["AUTHOR", "COMMITTER"] {
            make =
                make.env(&format!("GIT_{role}_NAME"), "caisson").env(&format!("GIT_{role}_EMAIL"), "caisson@localhost");
            make = make.env(&format!("GIT_{role}_DATE"), date);
        }
        make.input(Input::Bytes(message.as_bytes().to_vec())).line().await
    }

    /// Differences between two trees.
    ///
    /// # Errors
    /// [`GitError::TooLarge`] if the list is too long.
    pub async fn changes(&self, from: &Tree, to: &Tree) -> Result<Vec<Change>, GitError> {
        let list = self.git("diff-tree").args([
            "-r",
            "--raw",
            "-z",
            "--no-abbrev",
            "--no-renames",
            from.as_str(),
            to.as_str(),
        ]);
        let out = list.cap(LISTING).timeout(Duration::from_secs(20)).ok().await?;
        parse_changes(&out).map_err(GitError::Io)
    }

    /// All entries of a tree, directories included.
    ///
    /// # Errors
    /// [`GitError::TooLarge`] if the list is too long.
    pub async fn entries(&self, tree: &Tree) -> Result<Vec<Entry>, GitError> {
        let list = self.git("ls-tree").args(["-r", "-t", "-z", "--full-tree", tree.as_str()]);
        parse_entries(&list.cap(LISTING).timeout(Duration::from_secs(20)).ok().await?).map_err(GitError::Io)
    }

    /// Targets of symbolic links among `entries`, by path.
    ///
    /// # Errors
    /// When one of them cannot be read.
    pub async fn links(&self, entries: &[Entry]) -> Result<HashMap<Vec<u8>, Vec<u8>>, GitError> {
        let links: Vec<&Entry> = entries.iter().filter(|e| e.mode == LINK).collect();
        let ids: Vec<&str> = links.iter().map(|e| e.id.as_str()).collect();
        let targets = parse_batch(&self.cat("--batch", &ids).await?).map_err(GitError::Io)?;
        Ok(links.into_iter().map(|e| e.path.clone()).zip(targets).collect())
    }

    /// What `cat-file` says of these objects, all of them at once.
    async fn cat(&self, how: &str, ids: &[&str]) -> Result<Vec<u8>, GitError> {
        let ids: String = ids.iter().map(|id| format!("{id}\n")).collect();
        self.git("cat-file").args([how, "--buffer"]).input(Input::Bytes(ids.into_bytes())).cap(LISTING).ok().await
    }

    /// Pushes the fetched commit to another repository; the clone stays as it is.
    ///
    /// # Errors
    /// [`GitError::Failed`] when the other side is unreachable or refuses.
    pub async fn push(&self, spec: PushSpec<'_>) -> Result<Pushed, GitError> {
        super::repos::push(self.own.path(), spec).await
    }

    /// Creates a branch in the clone at `commit`, with its objects, without changing the work tree.
    ///
    /// # Errors
    /// [`GitError::Invalid`] when a branch of that name is at another commit.
    pub async fn branch(&self, name: &Branch, commit: &Commit) -> Result<(), GitError> {
        let full = name.full();
        let found = Git::new("rev-parse").at(&self.git_dir).args(["--verify", "--quiet", &full]).run().await?;
        let found = String::from_utf8_lossy(&found.stdout).trim().to_owned();
        if found == commit.as_str() {
            return Ok(());
        }
        if !found.is_empty() {
            return Err(GitError::Invalid(format!(
                "the clone already has a branch {name} at {found}; rename or delete it first"
            )));
        }
        let mut pack = super::temporary()?;
        let revs = format!("{commit}\n^{}\n", self.head);
        let make = self.git("pack-objects").args(["--revs", "--stdout", "-q"]).input(Input::Bytes(revs.into_bytes()));
        let (code, said) = make.cap(4 << 30).timeout(Duration::from_secs(600)).run_into(&mut pack).await?;
        if code != 0 {
            return Err(GitError::failed("pack-objects", code, &said));
        }
        tokio::io::AsyncSeekExt::rewind(&mut pack).await.map_err(|e| GitError::io("the temporary pack", &e))?;
        let take =
            Git::new("index-pack").at(&self.git_dir).args(["--stdin", "--strict"]).input(Input::Stream(&mut pack));
        take.timeout(Duration::from_secs(600)).ok().await?;
        let line = format!("create {full} {commit}\n");
        Git::new("update-ref").at(&self.git_dir).arg("--stdin").input(Input::Bytes(line.into_bytes())).ok().await?;
        Ok(())
    }
}

/// A path of a tree for the file system.
pub fn os_path(path: &[u8]) -> &Path {
    Path::new(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(path))
}

fn no_clone(path: &Path, said: &str) -> GitError {
    let why = if said.contains("dubious ownership") {
        "it belongs to another user; run this as its owner".to_owned()
    } else if said.contains("work tree") {
        "it has no work tree".to_owned()
    } else {
        "it is no git clone; name the directory of your clone".to_owned()
    };
    GitError::Invalid(format!("{} cannot be used: {why}", path.display()))
}

/// Copies an index with its modification time. A file changed at the time its entry was written, with equal size, is recognised only by
/// that time (git's "racy" entries), and would otherwise be taken for unchanged and overwritten.
fn copy_dated(from: &Path, to: &Path) -> std::io::Result<()> {
    let when = from.metadata()?.modified()?;
    std::fs::copy(from, to)?;
    std::fs::OpenOptions::new().write(true).open(to)?.set_modified(when)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_copied_index_keeps_its_own_time() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("index"), "DIRC").unwrap();
        let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::new(1_700_000_000, 123_456_789);
        std::fs::File::options().write(true).open(at("index")).unwrap().set_modified(old).unwrap();
        super::copy_dated(&at("index"), &at("copy")).unwrap();
        assert_eq!(std::fs::read(at("copy")).unwrap(), b"DIRC");
        assert_eq!(at("copy").metadata().unwrap().modified().unwrap(), old);
    }
}
