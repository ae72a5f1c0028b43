//! The index of a large check-out, kept on the host from before the agent enters until its tree is taken.
//!
//! Owns one file per task in the state directory: a line with a second, then the index. (A layered workspace has none, because its changes
//! are read from the layer, or compared with the index of the mirror's tree.) The index holds each file's size and times from the kernel,
//! so that a checkpoint reads only changed files instead of 50,000. Git may compare times in whole seconds and could not distinguish files
//! changed in the second of the check-out, so the agent enters in a later one. This process does not parse the file; only git in the task's
//! own sandbox does. A change that does not show in a file's times is missed: on a file system in memory, a write through a shared mapping
//! that was read before. Such a change is missing in the review and the commit alike. Tests: `tests/trees/mirror.rs`.

use std::path::PathBuf;
use std::sync::Arc;

use super::Result;
use super::core::Core;
use super::record::Record;
use super::session::{Session, Work};

/// A smaller index is of a tree that is read as fast: about 2,000 files.
const LEAST: u64 = 200 << 10;
/// The largest index that is kept: about half a million files.
const MOST: u64 = 64 << 20;

/// Prints the index if it has at least `$1` bytes, after the present second, which none of its files has.
const KEEP: &str = r#"
test "$(stat -c %s .git/index)" -ge "$1" || exit 0
GIT_INDEX_FILE=.git/index
later
date +%s
cat .git/index
"#;

/// A shell function for a new check-out and its index (`$GIT_INDEX_FILE`): waits for a second that none of its files has.
pub(super) const LATER: &str = r#"
later() {
    last=$(stat -c %Y "$GIT_INDEX_FILE")
    while [ "$(date +%s)" -le "$last" ]; do sleep 0.02; done
    # The clock of files is a few milliseconds behind.
    sleep 0.02
}
"#;

/// The index that a checkpoint's git begins with.
pub(super) enum Kept {
    Nothing,
    /// A line with its second, and the index.
    Here(Vec<u8>),
    /// The index of the mirror's tree, with which the workspace began.
    WithTree,
}

/// The kept indexes, by task.
pub(super) struct Indexes {
    core: Arc<Core>,
}

impl Indexes {
    pub fn new(core: Arc<Core>) -> Self {
        Self { core }
    }

    fn path(&self, task: &str) -> PathBuf {
        self.core.settings.state_dir.join("index").join(task)
    }

    /// Keeps the index of a new check-out, if it is large. It only saves time: without it all files are read.
    pub async fn keep(&self, session: &Session, task: i64) -> Result<()> {
        let words = ["sh", "-c", &format!("{LATER}{KEEP}"), "keep", &LEAST.to_string()];
        let index = session.read(Work::new(words), MOST, "keeping the index").await?;
        let path = self.path(&task.to_string());
        if !index.is_empty()
            && let Err(error) = std::fs::create_dir_all(self.core.settings.state_dir.join("index"))
                .and_then(|()| std::fs::write(&path, index))
        {
            tracing::warn!(task, %error, "the index was not kept; checkpoints read every file");
        }
        Ok(())
    }

    /// The index kept for this very sandbox.
    pub fn kept(&self, record: &Record) -> Kept {
        if record.mirror.as_ref().is_some_and(|generation| generation.begins_as(&record.base)) {
            return Kept::WithTree;
        }
        let read = std::fs::read(self.path(&record.task.to_string()));
        read.ok().filter(|index| index.len() as u64 >= LEAST).map_or(Kept::Nothing, Kept::Here)
    }

    /// Removes indexes of unknown sandboxes, left by an interrupted life.
    pub fn sweep(&self) {
        let owners: Vec<String> = self.core.records.all().iter().map(|record| record.task.to_string()).collect();
        for entry in std::fs::read_dir(self.core.settings.state_dir.join("index")).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if !owners.contains(&name) {
                self.forget(&name);
            }
        }
    }

    pub fn forget(&self, task: &str) {
        // Usually there is none.
        drop(std::fs::remove_file(self.path(task)));
    }
}
