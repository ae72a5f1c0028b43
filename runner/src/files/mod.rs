//! File operations of the agent, confined to the workspace.
//!
//! Owns paths, reading, writing, listing and searching. They run in the runner's process, which could read its own `/proc`; so no path may
//! leave the workspace, neither by `..` nor by a link. Errors are sentences that a model can act on.

mod edit;
mod list;
mod moved;
mod nearest;
mod path;
mod read;
mod search;
mod several;
mod shown;
mod suggest;
mod walker;
mod write;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use protocol::runner::{Limits, Op, Picture, Status};
use tokio_util::sync::CancellationToken;

use crate::done::Done;
use crate::handle::Handle;
use crate::output::cap;
use crate::pressure;
use crate::written::Written;

pub use self::path::Workspace;

/// Why a file operation failed.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{0}")]
    Sentence(String),
    /// With lines of the file that help to correct the request.
    #[error("{sentence}")]
    Near { sentence: String, lines: String },
    #[error("{what}: {error}")]
    Io { what: String, error: std::io::Error },
}

impl FileError {
    fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |error| Self::Io { what, error }
    }

    fn sentence<T>(text: impl Into<String>) -> Result<T, Self> {
        Err(Self::Sentence(text.into()))
    }

    fn is_full(&self) -> bool {
        matches!(self, Self::Io { error, .. } if error.kind() == std::io::ErrorKind::StorageFull)
    }
}

/// What a file operation works on.
struct Scope<'a> {
    workspace: &'a Workspace,
    /// Bytes that its text should not exceed.
    cap: usize,
    stop: &'a CancellationToken,
}

impl Scope<'_> {
    /// An error once the operation was stopped; called before each change.
    fn go_on(&self) -> Result<(), FileError> {
        if self.stop.is_cancelled() { FileError::sentence("it was stopped") } else { Ok(()) }
    }
}

/// Result text of a file operation, and the written files that can be checked for mistakes.
#[derive(Debug, Default)]
struct FileResult {
    text: String,
    written: Vec<Written>,
    picture: Option<Picture>,
}

impl From<String> for FileResult {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

/// The directory an operation works on: the workspace, or, for reading, the folder of whole outputs.
pub fn place(workspace: &Arc<Workspace>, logs: &Path, op: &Op) -> Arc<Workspace> {
    let (Op::ReadFile { path, .. } | Op::ReadRanges { path, .. } | Op::Search { path, .. }) = op else {
        return Arc::clone(workspace);
    };
    let there = Path::new(path).starts_with(logs).then(|| Workspace::unlinked(logs).ok()).flatten();
    there.map_or_else(|| Arc::clone(workspace), Arc::new)
}

/// How long a stopped operation may take to notice it.
const STUCK: Duration = Duration::from_secs(3);

/// Carries out a file operation on its own thread, because any path may be on slow storage. Returns also the files that it wrote.
pub async fn run(workspace: Arc<Workspace>, handle: &Arc<Handle>, op: Op, limits: Limits) -> (Done, Vec<Written>) {
    let stop = handle.cancel.child_token();
    let cap = cap(limits);
    let mut work = {
        let (workspace, stop) = (Arc::clone(&workspace), stop.clone());
        tokio::task::spawn_blocking(move || act(&Scope { workspace: &workspace, cap, stop: &stop }, op))
    };
    let result = tokio::select! {
        biased;
        result = &mut work => result,
        () = handle.cancel.cancelled() => {
            // A stopped operation is waited for, so that it changes nothing afterwards, unless it is stuck in the kernel.
            let _ = tokio::time::timeout(STUCK, work).await;
            return (Done::bare(Status::Cancelled), Vec::new());
        }
        () = tokio::time::sleep(Duration::from_millis(limits.wall_ms)) => {
            stop.cancel();
            let _ = tokio::time::timeout(STUCK, work).await;
            return (Done::bare(Status::TimedOut), Vec::new());
        }
    };
    let done = match result {
        Ok(Ok(said)) => return (Done { picture: said.picture, ..Done::ok(said.text) }, said.written),
        Ok(Err(error)) if error.is_full() => {
            Done { note: pressure::full(workspace.root()), ..Done::bare(Status::DiskFull) }
        }
        Ok(Err(FileError::Near { sentence, lines })) => Done { text: lines, ..Done::failed(sentence) },
        Ok(Err(error)) => Done::failed(error.to_string()),
        Err(_) => Done::failed("the runner failed while it carried this out"),
    };
    (done, Vec::new())
}

fn act(scope: &Scope<'_>, op: Op) -> Result<FileResult, FileError> {
    match op {
        Op::ReadFile { path, from, lines } => read::shown(scope, &path, from, lines),
        Op::WriteFile { path, content } => write::write_file(scope, &path, &content),
        Op::WriteFiles { files, create } => several::write_files(scope, &files, &create),
        Op::ReadRanges { path, ranges } => read::read_ranges(scope, &path, &ranges).map(FileResult::from),
        Op::EditFile { path, edits } => edit::edit_file(scope, &path, &edits),
        Op::MoveFile { from, to } => moved::move_file(scope, &from, &to).map(FileResult::from),
        Op::DeleteFile { path, recursive } => moved::delete_file(scope, &path, recursive).map(FileResult::from),
        Op::ListFiles { path, glob, depth } => {
            list::list_files(scope, &path, glob.as_deref(), depth).map(FileResult::from)
        }
        Op::Search { pattern, path, glob } => {
            search::search(scope, &pattern, &path, glob.as_deref()).map(FileResult::from)
        }
        Op::Bash { .. } | Op::Shell { .. } | Op::Exec { .. } | Op::WebFetch { .. } | Op::Quiesce => {
            FileError::sentence("this is no file operation")
        }
    }
}
