//! Moves uncommitted work from a sandbox whose runner has another version into its replacement.
//!
//! Asks such a runner only for what a checkpoint's tree needs (Hello, Quiesce, Exec and their streams), in its own version; later versions
//! keep these unchanged (`docs/decisions/0014-a-runner-of-another-version.md`). This process does not parse the pack: only the task's next
//! sandbox unpacks it. It is kept in the state directory until then, so that an interruption loses nothing. Tests: `tests/trees/carry.rs`.

use std::path::PathBuf;
use std::sync::Arc;

use domain::Commit;
use protocol::runner::VERSION;

use crate::git::Tree;
use crate::sandbox::capture::take::{Taken, Trees};
use crate::sandbox::core::Core;
use crate::sandbox::record::{Record, write_whole};
use crate::sandbox::session::{Session, Work};
use crate::sandbox::sessions::Sessions;
use crate::sandbox::{CaptureSpec, PrepareSpec, Result, SandboxError, Segment};

const UNPACK_MS: u64 = 600_000;

/// Work that is being carried over, by task.
pub(in crate::sandbox) struct Carried {
    core: Arc<Core>,
    sessions: Arc<Sessions>,
    trees: Arc<Trees>,
}

impl Carried {
    pub fn new(core: Arc<Core>, sessions: Arc<Sessions>, trees: Arc<Trees>) -> Self {
        Self { core, sessions, trees }
    }

    /// Takes the work out of a sandbox of another version that will be removed; does nothing for any other sandbox.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`]: to be repeated. Work that cannot be taken out at all is given up and logged.
    pub async fn take_out(&self, spec: &PrepareSpec) -> Result<()> {
        let Ok(record) = self.core.records.ready(spec.task) else { return Ok(()) };
        if record.runner == VERSION {
            return Ok(());
        }
        match self.taken_out(spec, record).await {
            Err(error @ SandboxError::Unavailable(_)) => Err(error),
            Err(error) => {
                tracing::warn!(task = spec.task, %error, "a sandbox of another version did not hand out its work");
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    async fn taken_out(&self, spec: &PrepareSpec, record: Record) -> Result<()> {
        if record.stopped {
            self.sessions.wake(&record).await?;
        }
        let session = self.sessions.of(spec.task).await?;
        let base = Commit::parse(&record.base).map_err(|e| SandboxError::Refused(e.to_string()))?;
        let segment = Segment { task: spec.task, n: 0, repo_key: spec.repo_key.clone(), parent: base.clone(), base };
        let capture = CaptureSpec { segment, message: String::new(), date_ms: 0, protected: Vec::new() };
        let Taken { tree, pack, .. } = self.trees.stop_and_take(&session, record, &capture).await?;
        let mut text = format!("{} {}\n", tree.as_str(), spec.base).into_bytes();
        let read = pack.into_std().await;
        let whole =
            tokio::task::spawn_blocking(move || std::io::Read::read_to_end(&mut { read }, &mut text).map(|_| text));
        let text = whole.await.map_err(|e| SandboxError::Unavailable(e.to_string()))?;
        let path = self.path(spec.task);
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all).and(text);
        write_whole(&path, &made.map_err(|e| SandboxError::Unavailable(format!("{}: {e}", path.display())))?)
    }

    /// Puts the work into the new sandbox as uncommitted changes, but only onto the commit it was based on, because over a later one it
    /// would undo work. Whether there was any.
    pub async fn bring_back(&self, session: &Session, task: i64, tip: &Commit) -> Result<bool> {
        let path = self.path(task);
        let text = match std::fs::read(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            read => read.map_err(|e| SandboxError::Unavailable(format!("{}: {e}", path.display())))?,
        };
        let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
        let head = String::from_utf8_lossy(&text[..end]);
        let Some((tree, _)) = head.split_once(' ').filter(|(_, made_for)| *made_for == tip.as_str()) else {
            tracing::warn!(task, %tip, "work of an older sandbox is not for this commit, and is left out");
            return Ok(false);
        };
        let tree = Tree::parse(tree)?;
        let mut pack = &text[end + 1..];
        if !pack.is_empty() {
            let unpack = Work::git(".git", ["index-pack", "--stdin", "--fix-thin"]).wall(UNPACK_MS).input(&mut pack);
            session.must(unpack, "bringing over what was not committed").await?;
        }
        let take = ["--work-tree=.", "read-tree", "-u", "--reset", tree.as_str()];
        session.must(Work::git(".git", take).wall(UNPACK_MS), "bringing over what was not committed").await?;
        session.must(Work::git(".git", ["read-tree", "HEAD"]), "bringing over what was not committed").await?;
        Ok(true)
    }

    /// Deletes the stored work, which is in a sandbox or no longer needed.
    pub fn forget(&self, task: i64) {
        let path = self.path(task);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(task, %error, path = %path.display(), "what was brought over could not be removed; tried again when the sandbox is opened");
            }
            _ => {}
        }
    }

    /// File with a line that names the tree and its base commit, then the tree's pack.
    fn path(&self, task: i64) -> PathBuf {
        self.core.settings.state_dir.join("carried").join(task.to_string())
    }
}
