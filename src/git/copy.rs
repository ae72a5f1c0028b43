//! Copies a repository to the forge for the first time: its default branch, history and tags. Works in a temporary bare repository. Tests:
//! below, `tests/setup.rs`.

use super::name::no_sha256;
use super::repos::{Repos, TRANSFER};
use super::run::Git;
use super::{Auth, Branch, GitError, RemoteUrl};
use domain::Commit;
use std::time::Duration;

/// Refs under which copied tags are kept meanwhile.
const TAGS: &str = "refs/caisson/copied/tags";

impl Repos {
    /// The branch that HEAD names at `url`, with its commit.
    ///
    /// # Errors
    /// [`GitError::NotFound`] for an empty repository or a detached HEAD; [`GitError::Invalid`] for one with SHA-256; [`GitError::Failed`]
    /// when the other side is unreachable.
    pub async fn remote_head(&self, url: &RemoteUrl, auth: Option<&Auth>) -> Result<(Branch, Commit), GitError> {
        let ask = Git::new("ls-remote").remote(url, auth).timeout(Duration::from_secs(60));
        let out = ask.args(["--quiet", "--symref", "--end-of-options", url.as_str(), "HEAD"]).ok().await?;
        let text = String::from_utf8_lossy(&out);
        let mut branch = None;
        let mut commit = None;
        for (left, _) in text.lines().filter_map(|line| line.split_once('\t')).filter(|(_, name)| *name == "HEAD") {
            match left.strip_prefix("ref: refs/heads/") {
                Some(found) => branch = Some(Branch::parse(found)?),
                None => {
                    no_sha256(left, url.as_str())?;
                    commit = Commit::parse(left).ok();
                }
            }
        }
        match (branch, commit) {
            (Some(branch), Some(commit)) => Ok((branch, commit)),
            _ => Err(GitError::NotFound(format!("{} has no commit on its HEAD branch", url.as_str()))),
        }
    }

    /// Fetches one branch and all tags of `from` (checked by fsck), as the first half of a copy; returns the branch's commit.
    ///
    /// # Errors
    /// As [`Repos::fetch`].
    pub async fn copy_in(
        &self,
        key: &str,
        from: &RemoteUrl,
        auth: Option<&Auth>,
        branch: &Branch,
    ) -> Result<Commit, GitError> {
        let dir = self.ensure(key).await?;
        let fetch = Git::new("fetch").at(&dir).remote(from, auth).timeout(TRANSFER);
        let flags =
            ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--end-of-options", from.as_str()];
        let specs = [format!("+{}:refs/remotes/origin/{branch}", branch.full()), format!("+refs/tags/*:{TAGS}/*")];
        self.limits.run(&dir, fetch.args(flags).args(specs)).await?;
        self.resolve(key, branch).await
    }

    /// Pushes what [`Repos::copy_in`] fetched to an empty repository: the branch and all tags, in one push.
    ///
    /// # Errors
    /// [`GitError::Failed`] when the forge refuses or is unreachable.
    pub async fn copy_out(&self, key: &str, to: &RemoteUrl, auth: &Auth, branch: &Branch) -> Result<(), GitError> {
        let dir = self.path(key)?;
        let push = Git::new("push").at(&dir).remote(to, Some(auth)).timeout(TRANSFER);
        let flags = ["--quiet", "--no-verify", "--recurse-submodules=no", "--end-of-options", to.as_str()];
        let specs = [format!("refs/remotes/origin/{branch}:{}", branch.full()), format!("{TAGS}/*:refs/tags/*")];
        push.args(flags).args(specs).ok().await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::Home;
    use std::process::Command;

    #[tokio::test]
    async fn a_repository_with_sha256_is_called_that_and_not_empty() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("shop");
        let git = |args: &[&str]| {
            let mut git = Command::new("git");
            git.args(args).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
            assert!(git.status().unwrap().success(), "git {args:?}");
        };
        let place = at.to_str().unwrap();
        git(&["init", "-q", "--object-format=sha256", place]);
        let me = ["-C", place, "-c", "user.name=a", "-c", "user.email=a@b"];
        git(&[&me[..], &["commit", "-q", "--allow-empty", "-m", "one"]].concat());
        let url = RemoteUrl::parse(place).unwrap();
        let copied = Repos::new(dir.path().join("repos")).remote_head(&url, None).await.unwrap_err();
        let opened = Home::open(&at).await.unwrap_err();
        for error in [copied, opened] {
            assert!(error.to_string().contains("names its commits by SHA-256, which is not supported"), "{error}");
        }
    }
}
