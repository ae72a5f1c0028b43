//! The index of a large check-out, kept on the host from before the agent enters until its tree is taken.
//!
//! Owns one file for each task in the state directory: a line with a second, then the index. (A workspace that is a layer has none: what changed
//! in it is read off the layer, and where that does not do and it began with just the files of the mirror's tree, with that tree's.) The index holds each file's size and times
//! as the kernel gave them, so that a checkpoint reads what changed and not 50,000 files. git may know times by whole seconds, and
//! could not tell what the agent changes at once from what was checked out in that same second: so the agent enters in a later one.
//! Bytes to this process: only git in the task's own sandbox reads them.
//! A change that leaves no trace in a file's times is not seen and so not in the commit: on a file system in memory, a write through a
//! shared mapping that was read through before. Such a change is kept from the review and from the commit alike. Tests: `tests/trees/mirror.rs`.

use std::path::PathBuf;
use std::sync::Arc;

use super::Result;
use super::core::Core;
use super::record::Record;
use super::session::{Session, Work};

/// A smaller index is a tree that is read as quickly: about 2,000 files.
const LEAST: u64 = 200 << 10;
/// About half a million files.
const MOST: u64 = 64 << 20;

/// Of an index of `$1` bytes at least: the second that has begun, which is none that it knows, and the index.
const KEEP: &str = r#"
test "$(stat -c %s .git/index)" -ge "$1" || exit 0
GIT_INDEX_FILE=.git/index
later
date +%s
cat .git/index
"#;

/// A word for scripts about a fresh check-out and its index (`$GIT_INDEX_FILE`): waits for a second that none of its files bears.
pub(super) const LATER: &str = r#"
later() {
    last=$(stat -c %Y "$GIT_INDEX_FILE")
    while [ "$(date +%s)" -le "$last" ]; do sleep 0.02; done
    # The clock of files is a few milliseconds behind.
    sleep 0.02
}
"#;

/// What a checkpoint's git is given to begin with.
pub(super) enum Kept {
    Nothing,
    /// A line with its second, and the index.
    Here(Vec<u8>),
    /// The index of the mirror's tree, which the workspace began as.
    WithTree,
}

/// The indexes that are kept, by task.
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

    /// Takes a copy of a fresh check-out's index, if it is a large one. It only saves time: without it all is read.
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

    /// What was kept of this very sandbox.
    pub fn kept(&self, record: &Record) -> Kept {
        if record.mirror.as_ref().is_some_and(|lent| lent.begins_as(&record.base)) {
            return Kept::WithTree;
        }
        let read = std::fs::read(self.path(&record.task.to_string()));
        read.ok().filter(|index| index.len() as u64 >= LEAST).map_or(Kept::Nothing, Kept::Here)
    }

    /// Those of sandboxes that nobody remembers: what a life left that was cut off.
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
        // Not there is the usual case.
        drop(std::fs::remove_file(self.path(task)));
    }
}
