//! Commits made by the bot in a bare repository: files on top of a commit (or of nothing), or a patch applied to one.
//!
//! Owns how such a commit is written. Nothing is checked out: files are streamed, a patch is applied to a temporary index. Must not be
//! given content of a sandbox, only files of the operator's own disk.
//! Tests: below.

use super::fetching::PackWriter;
use super::repos::Repos;
use super::run::{Git, Input};
use super::{Branch, GitError};
use domain::Commit;

/// Author and fixed time, so that the same files give the same commit.
const WHO: &str = "Caisson <caisson@localhost> 1700000000 +0000";

/// One file of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainFile {
    /// Relative path with `/` between its parts.
    pub path: String,
    /// The file's content.
    pub bytes: Vec<u8>,
    /// Whether the mode is 100755 instead of 100644.
    pub executable: bool,
}

impl Repos {
    /// Commits `files` on top of `onto` (none: a first commit) as `branch`; HEAD is set to that branch when it is the first.
    ///
    /// # Errors
    /// [`GitError::Invalid`] for an unusable path, [`GitError::Failed`] when git refuses.
    pub async fn commit_files(
        &self,
        key: &str,
        onto: Option<&Commit>,
        files: &[PlainFile],
        branch: &Branch,
        message: &str,
    ) -> Result<Commit, GitError> {
        let dir = self.ensure(key).await?;
        let from = onto.map(|onto| format!("from {onto}\n")).unwrap_or_default();
        let made = import(&dir, &from, files, branch, message).await?;
        if onto.is_none() {
            Git::new("symbolic-ref").at(&dir).args(["HEAD", &branch.full()]).ok().await?;
        }
        Ok(made)
    }

    /// Commits exactly `files` after `onto`, as `branch`.
    ///
    /// # Errors
    /// As [`Repos::commit_files`].
    pub async fn commit_tree(
        &self,
        key: &str,
        onto: &Commit,
        files: &[PlainFile],
        branch: &Branch,
        message: &str,
    ) -> Result<Commit, GitError> {
        import(&self.path(key)?, &format!("from {onto}\ndeleteall\n"), files, branch, message).await
    }

    /// Commits `onto` with a patch applied, as `branch`. The patch must apply exactly.
    ///
    /// # Errors
    /// [`GitError::Failed`] with git's message when it does not apply.
    pub async fn commit_patch(
        &self,
        key: &str,
        onto: &Commit,
        patch: Vec<u8>,
        branch: &Branch,
        message: &str,
    ) -> Result<Commit, GitError> {
        let dir = self.path(key)?;
        let beside = tempfile::tempdir().map_err(|e| GitError::Io(format!("no temporary directory: {e}")))?;
        let index = beside.path().join("index");
        let git = |verb| Git::new(verb).at(&dir).env("GIT_INDEX_FILE", index.as_os_str());
        git("read-tree").arg(onto.as_str()).ok().await?;
        git("apply").args(["--cached", "--whitespace=nowarn", "-"]).input(Input::Bytes(patch)).ok().await?;
        let tree = git("write-tree").line().await?;
        let (name, date) = ("Caisson", "1700000000 +0000");
        let mut commit = git("commit-tree").args([&tree, "-p", onto.as_str(), "-m", message]);
        for part in ["AUTHOR", "COMMITTER"] {
            commit = commit.env(&format!("GIT_{part}_NAME"), name).env(&format!("GIT_{part}_DATE"), date);
            commit = commit.env(&format!("GIT_{part}_EMAIL"), "caisson@localhost");
        }
        let made = parsed(&commit.line().await?)?;
        Git::new("update-ref").at(&dir).args([&branch.full(), made.as_str()]).ok().await?;
        Ok(made)
    }
}

/// The commit checked out in the repository around a directory; none outside of a repository.
pub fn head_around(folder: &std::path::Path) -> Option<String> {
    let repository = git2::Repository::discover(folder).ok()?;
    let head = repository.head().ok()?.peel_to_commit().ok()?;
    Some(head.id().to_string())
}

/// Runs `git fast-import`; `begin` is the part of the stream before the files.
async fn import(
    dir: &std::path::Path,
    begin: &str,
    files: &[PlainFile],
    branch: &Branch,
    message: &str,
) -> Result<Commit, GitError> {
    let full = branch.full();
    let head = format!("commit {full}\ncommitter {WHO}\ndata {}\n{message}\n{begin}", message.len());
    let mut stream = head.into_bytes();
    for file in files {
        checked(&file.path)?;
        let mode = if file.executable { "100755" } else { "100644" };
        stream.extend(format!("M {mode} inline {}\ndata {}\n", file.path, file.bytes.len()).into_bytes());
        stream.extend_from_slice(&file.bytes);
        stream.push(b'\n');
    }
    let _writer = PackWriter::begin(dir);
    let import = Git::new("fast-import").at(dir).args(["--quiet", "--force", "--date-format=raw"]);
    import.input(Input::Bytes(stream)).ok().await?;
    let made = Git::new("rev-parse").at(dir).args(["--verify", "--quiet", &format!("{full}^{{commit}}")]);
    parsed(&made.line().await?)
}

fn parsed(text: &str) -> Result<Commit, GitError> {
    Commit::parse(text).map_err(|_| GitError::Invalid(format!("git named no commit: {text:?}")))
}

/// Checks a path for the stream's grammar, and that it stays in the tree and outside of git's own directory.
fn checked(path: &str) -> Result<(), GitError> {
    let plain = !path.is_empty() && !path.starts_with('"') && !path.chars().any(char::is_control);
    let part = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.eq_ignore_ascii_case(".git");
    if plain && path.split('/').all(part) {
        return Ok(());
    }
    Err(GitError::Invalid(format!("{path:?} is no path that a commit can hold")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> PlainFile {
        PlainFile { path: path.to_owned(), bytes: text.as_bytes().to_vec(), executable: path.ends_with(".sh") }
    }

    #[tokio::test]
    async fn files_and_patches_become_commits() {
        let dir = tempfile::tempdir().expect("dir");
        let repos = Repos::new(dir.path().join("repos"));
        let main = Branch::parse("main").expect("a branch");
        let first = [file("a.txt", "one\ntwo\n"), file("bin/run it.sh", "true\n")];
        let base = repos.commit_files("shop", None, &first, &main, "base").await.expect("made");
        let again = repos.commit_files("other", None, &first, &main, "base").await.expect("made");
        assert_eq!(base, again, "the same files are the same commit");
        let over = Branch::parse("over").expect("a branch");
        let laid =
            repos.commit_files("shop", Some(&base), &[file("t/h.txt", "h\n")], &over, "over").await.expect("laid");
        assert_eq!(repos.files("shop", &laid, 1 << 20).await.expect("read"), ["a.txt", "bin/run it.sh", "t/h.txt"]);
        let whole = Branch::parse("whole").expect("a branch");
        let only = repos.commit_tree("shop", &base, &[file("b.txt", "b\n")], &whole, "whole").await.expect("replaced");
        assert_eq!(
            repos.files("shop", &only, 1 << 20).await.expect("read"),
            ["b.txt"],
            "what it does not hold is gone"
        );
        let patch = b"--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n".to_vec();
        let patched = Branch::parse("patched").expect("a branch");
        let done = repos.commit_patch("shop", &base, patch.clone(), &patched, "patch").await.expect("applied");
        assert_eq!(repos.show("shop", &done, "a.txt", 100).await.expect("read").expect("there"), b"one\nthree\n");
        let unfit = repos.commit_patch("shop", &done, patch, &patched, "patch").await;
        assert!(matches!(unfit, Err(GitError::Failed { .. })), "{unfit:?}");
    }

    #[test]
    fn a_path_stays_in_its_tree() {
        for bad in ["", "/etc/x", "a/../b", "a//b", ".git/config", "a/.GIT/x", "a\nb", "\"a\""] {
            assert!(checked(bad).is_err(), "{bad:?}");
        }
        assert!(checked("src/a b.rs").is_ok());
    }
}
