//! What is read of a commit to tell the toolchain and the test command of a project.
//!
//! Owns the reading, so that both are told by the same files. Tests: below, `tests/stories/toolchains.rs`, `tests/trees/verify.rs`.

use std::collections::{BTreeSet, HashMap};

use domain::Commit;

use super::{commands, detect, need};
use crate::git::{GitError, Repos};

/// The most bytes of all names, and of one file.
const MOST_NAMES: u64 = 32 << 20;
const MOST_TEXT: u64 = 256 << 10;

/// The names of a project's files, and the texts of those that tell of toolchain and test command.
pub struct ProjectFiles {
    /// Paths relative to the root; of a project with too many the names at its root, and those deeper ones of which texts are read.
    pub names: Vec<String>,
    texts: HashMap<String, String>,
}

impl ProjectFiles {
    /// Reads them at a commit. A file that is too large is left out.
    ///
    /// # Errors
    /// When the commit is missing.
    pub async fn read(repos: &Repos, key: &str, commit: &Commit) -> Result<Self, GitError> {
        Self::within(repos, (key, commit), MOST_NAMES, |_| Vec::new()).await
    }

    /// As [`ProjectFiles::read`], with the texts that [`commands::commands`] needs.
    ///
    /// # Errors
    /// As [`ProjectFiles::read`].
    pub async fn with_commands(repos: &Repos, key: &str, commit: &Commit) -> Result<Self, GitError> {
        Self::within(repos, (key, commit), MOST_NAMES, commands::files_to_read).await
    }

    async fn within(
        repos: &Repos,
        (key, commit): (&str, &Commit),
        most_names: u64,
        more: fn(&[String]) -> Vec<&str>,
    ) -> Result<Self, GitError> {
        let wanted: Vec<&str> = detect::WANTED.iter().chain(&need::WANTED).copied().collect();
        let names = match repos.files(key, commit, most_names).await {
            Err(GitError::TooLarge { .. }) => {
                let mut names = repos.root(key, commit).await?;
                for &name in wanted.iter().filter(|name| name.contains('/')) {
                    if repos.has_path(key, commit, name).await? {
                        names.push(name.to_owned());
                    }
                }
                names
            }
            names => names?,
        };
        let mut texts = HashMap::new();
        let there = wanted.into_iter().filter(|name| names.iter().any(|there| there == name));
        let read: BTreeSet<&str> = there.chain(more(&names)).collect();
        for name in read {
            if let Ok(Some(text)) = repos.show(key, commit, name, MOST_TEXT).await {
                texts.insert(name.to_owned(), String::from_utf8_lossy(&text).into_owned());
            }
        }
        Ok(Self { names, texts })
    }

    /// The text of one of these files.
    pub fn text(&self, name: &str) -> Option<String> {
        self.texts.get(name).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::Branch;

    #[tokio::test]
    async fn of_a_project_with_too_many_names_a_devcontainer_in_its_folder_is_read_too() {
        let dir = tempfile::tempdir().expect("a folder");
        let repos = Repos::new(dir.path());
        let flow = ".github/workflows/ci.yaml";
        let files = [(".devcontainer/devcontainer.json", "{}"), ("Cargo.toml", "[package]"), (flow, "on: push")];
        let file = |(name, text): &(&str, &str)| format!("M 100644 inline {name}\ndata {}\n{text}\n", text.len());
        let all: String = files.iter().map(file).collect();
        let head = "commit refs/remotes/origin/main\ncommitter a <a@b> 1 +0000\ndata 1\nx\n";
        repos.fast_import("shop", format!("{head}{all}")).await.expect("imported");
        let main = repos.resolve("shop", &Branch::parse("main").expect("a branch")).await.expect("a commit");
        let nested = ".devcontainer/devcontainer.json";
        for (most_names, listed) in [(MOST_NAMES, true), (40, false)] {
            let read = ProjectFiles::within(&repos, ("shop", &main), most_names, commands::files_to_read).await;
            let read = read.expect("read");
            assert_eq!(read.text(flow).is_some(), listed, "{:?}", read.names);
            assert_eq!((read.text(nested).as_deref(), read.text("Cargo.toml").is_some()), (Some("{}"), true));
        }
        let read = ProjectFiles::read(&repos, "shop", &main).await.expect("read");
        assert!(read.text(flow).is_none() && read.text(nested).is_some());
    }
}
