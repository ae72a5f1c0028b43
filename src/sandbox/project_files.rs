//! What is read of a commit to tell the toolchain and the test command of a project.
//!
//! Owns the reading, so that both are told by the same files. Tests: `tests/stories/toolchains.rs`, `tests/trees/verify.rs`.

use std::collections::HashMap;

use domain::Commit;

use super::{detect, need};
use crate::git::{GitError, Repos};

/// The most bytes of all names, and of one file.
const MOST_NAMES: u64 = 32 << 20;
const MOST_TEXT: u64 = 256 << 10;

/// The names of a project's files, and the texts of those that tell of toolchain and test command.
pub struct ProjectFiles {
    /// Paths relative to the root; of a project with too many the names at its root.
    pub names: Vec<String>,
    texts: HashMap<&'static str, String>,
}

impl ProjectFiles {
    /// Reads them at a commit. A file that is too large is left out.
    ///
    /// # Errors
    /// When the commit is missing.
    pub async fn read(repos: &Repos, key: &str, commit: &Commit) -> Result<Self, GitError> {
        let names = match repos.files(key, commit, MOST_NAMES).await {
            Err(GitError::TooLarge { .. }) => repos.root(key, commit).await?,
            names => names?,
        };
        let mut texts = HashMap::new();
        let wanted = detect::WANTED.iter().chain(&need::WANTED);
        for &name in wanted.filter(|name| names.iter().any(|there| there == *name)) {
            if let Ok(Some(text)) = repos.show(key, commit, name, MOST_TEXT).await {
                texts.insert(name, String::from_utf8_lossy(&text).into_owned());
            }
        }
        Ok(Self { names, texts })
    }

    /// The text of one of these files.
    pub fn text(&self, name: &str) -> Option<String> {
        self.texts.get(name).cloned()
    }
}
