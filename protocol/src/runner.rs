//! What the host and the runner (PID 1 of a sandbox) say to each other.
//!
//! Frames as in `frame`, each a `Message<Order>` on the way in and a `Message<FromRunner>` on the way out, over any byte stream;
//! with Docker it is the container's own stdin and stdout. Facts that shaped it, all tried on Engine 20.10:
//! * a half-written frame stays in the runner's stdin and the next host's bytes continue it, so an attach begins with a zero byte;
//! * two attached hosts both write and both read everything, so every order carries its host's epoch and every answer that is
//!   meant for one of them too; the runner obeys the highest epoch it ever saw;
//! * output sent while nobody is attached is lost, so a result is kept until it is acknowledged, and a request whose bytes
//!   streamed does not survive the connection it was made on.

use serde::{Deserialize, Serialize};

use crate::edit::Edit;
use crate::touched::Touched;

macro_rules! version {
    () => {
        2
    };
}

/// Version of this page. Both sides say theirs first; a different one is refused. Rises with every change that an older runner would not read: a frame
/// that it cannot read it skips without a word.
pub const VERSION: u32 = version!();
/// One word for the sources that this crate, the runner and the `locate` in it were built from.
pub const BUILD: &str = env!("CAISSON_RUNNER_BUILD");
/// Stands in the runner's binary, so that an outdated one is known before it is started.
pub const MARK: &str = concat!("caisson-runner protocol=", version!(), " build=", env!("CAISSON_RUNNER_BUILD"), ";");

/// What a runner's binary says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Its [`VERSION`].
    pub version: u32,
    /// Its [`BUILD`].
    pub build: String,
}

impl Mark {
    /// The mark of the runner that fits this side.
    pub fn own() -> Mark {
        Mark { version: VERSION, build: BUILD.to_owned() }
    }

    /// The mark in a program; none in one that is no runner, or one from before there were marks.
    pub fn find(program: &[u8]) -> Option<Mark> {
        const BEGIN: &[u8] = b"caisson-runner protocol=";
        let at = |place: usize| {
            let rest = program.get(place + BEGIN.len()..)?;
            let text = std::str::from_utf8(rest.get(..rest.iter().take(64).position(|&byte| byte == b';')?)?).ok()?;
            let (version, build) = text.split_once(" build=")?;
            Some(Mark { version: version.parse().ok()?, build: build.to_owned() })
        };
        let mut places = program.windows(BEGIN.len()).enumerate().filter(|(_, window)| *window == BEGIN);
        places.find_map(|(place, _)| at(place))
    }
}

/// Longest payload of a frame, in bytes: head and body.
pub const MAX_PAYLOAD: usize = 1 << 20;
/// Longest body of an `Input` or `Output`, in bytes.
pub const CHUNK: usize = 256 << 10;
/// Bytes of one stream that may be under way: sent and not yet reported as `Taken`.
pub const WINDOW: u64 = 1 << 20;
/// Longest `Outcome::text`, in bytes, whatever `Limits::output_bytes` says. (JSON may write a byte as six: it still fits a frame.)
pub const MAX_TEXT: u64 = 128 << 10;
/// Requests that may be unacknowledged at once.
pub const MAX_REQUESTS: usize = 64;

/// One order of one host. Orders of an epoch lower than the highest seen are refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Number of the host's life, higher for each later one.
    pub epoch: u64,
    /// The order itself.
    pub say: ToRunner,
}

/// Orders of the host to the runner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToRunner {
    /// Begins every connection. Running requests go on, except those whose bytes stream: they are cancelled.
    Hello {
        /// The host's [`VERSION`].
        version: u32,
    },
    /// Runs `op` unless `id` was seen before: a running one goes on, a finished one is reported again.
    Run {
        /// Id of the request, given by the host; each is run at most once.
        id: u64,
        /// What is to be done.
        op: Op,
        /// Limits of time and output.
        limits: Limits,
    },
    /// Body: bytes for the request's stdin. `offset`: bytes sent before them. `last`: the end of the input.
    Input {
        /// Id of the request.
        id: u64,
        /// Bytes of the input that were sent before this body.
        offset: u64,
        /// Whether the input ends with this body.
        last: bool,
    },
    /// The host has taken `bytes` bytes of the request's output, counted from its beginning.
    Taken {
        /// Id of the request.
        id: u64,
        /// Bytes taken so far; `WINDOW` more may be under way.
        bytes: u64,
    },
    /// Ends the request as `Status::Cancelled`, with its process group.
    Cancel {
        /// Id of the request.
        id: u64,
    },
    /// The host has stored the result: the runner may forget it. The id stays spent.
    Ack {
        /// Id of the request.
        id: u64,
    },
}

/// Answers and results of the runner to the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromRunner {
    /// Answers `Hello`. `boot`: random for each process. `runner`: SHA-256 of the runner's own binary, in hex.
    /// `requests`: all that are not acknowledged; the finished ones are reported again right after this. `lacks`: a sentence if
    /// the workspace lies on a disk with so little left that no work should begin.
    Hello {
        /// The runner's [`VERSION`].
        version: u32,
        /// Epoch of the host whose `Hello` this answers.
        epoch: u64,
        /// 16 random bytes in hexadecimal, new for each runner process.
        boot: String,
        /// SHA-256 of the runner's own binary, in hexadecimal.
        runner: String,
        /// The requests that are not acknowledged yet, running and finished ones.
        requests: Vec<Known>,
        /// Says how much of the disk is left if no work should begin; `None` = enough, or nothing is watched.
        #[serde(default)]
        lacks: Option<String>,
    },
    /// Body: bytes of the request's stdout. `offset`: bytes sent before them. `last`: nothing follows.
    Output {
        /// Id of the request.
        id: u64,
        /// Bytes of the output that were sent before this body.
        offset: u64,
        /// Whether this ends the output.
        last: bool,
    },
    /// The request has taken `bytes` bytes of its input, counted from its beginning.
    Taken {
        /// Id of the request.
        id: u64,
        /// Bytes taken so far; `WINDOW` more may be under way.
        bytes: u64,
    },
    /// Comes after all of the request's output.
    Finished {
        /// Id of the request.
        id: u64,
        /// How it ended, repeated until `Ack`.
        outcome: Outcome,
    },
    /// The host that spoke with `epoch` is not obeyed.
    Refused {
        /// The epoch of the order that was refused.
        epoch: u64,
        /// Why, for a person.
        reason: String,
    },
}

/// A request that the runner holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// Id of the request, given by the host.
    pub id: u64,
    /// Whether its result is there and waits for `Ack`.
    pub finished: bool,
}

/// What is to be done. Paths are relative to the workspace, or absolute inside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// `bash -c` (or `sh -c`) in the workspace, in a process group of its own. stdin is empty, stdout and stderr are one text.
    Bash {
        /// The command line, as the shell reads it.
        command: String,
    },
    /// The agent's own command: as `Bash`, but it begins in the directory that the last one ended in, with the variables it exported. What
    /// is carried over is forgotten with the runner, and nothing else sees it.
    Shell {
        /// The command line, as the shell reads it.
        command: String,
        /// Whether it goes on in a process group of its own until the next [`Op::Quiesce`], with its output in a file. The outcome comes at
        /// once and names both; nothing is carried over from it.
        background: bool,
    },
    /// The host's own work, such as git. `env` comes on top of the container's. `input` and `output`: stdin and stdout stream as
    /// frames (then `Outcome::text` is stderr alone); otherwise stdin is empty and both outputs are one text.
    Exec {
        /// Program and arguments; a program without a slash is looked for in `PATH`.
        argv: Vec<String>,
        /// Variables (name, value) on top of the runner's own environment.
        env: Vec<(String, String)>,
        /// Working directory, relative to the workspace or absolute.
        cwd: String,
        /// Whether stdin streams from the host; otherwise it is empty.
        input: bool,
        /// Whether stdout streams to the host; otherwise it becomes part of `Outcome::text`.
        output: bool,
    },
    /// Lines `from` (the first is 1) and on, at most `lines` (0: as many as fit), each with its number.
    ReadFile {
        /// Path relative to the workspace, or absolute inside it.
        path: String,
        /// First line that is read, counted from 1; 0 counts as 1.
        from: u64,
        /// Most lines that are read; 0 means 2000. Fewer if the text would grow too long.
        lines: u64,
    },
    /// Makes or replaces a file, with its parent directories.
    WriteFile {
        /// Path relative to the workspace, or absolute inside it.
        path: String,
        /// The whole new content.
        content: String,
    },
    /// Makes or replaces all of these (path, content), or none of them.
    WriteFiles {
        /// Path, as in `WriteFile`, and whole new content of each file.
        files: Vec<(String, String)>,
    },
    /// Several parts of a file, each as [`Op::ReadFile`] has it.
    ReadRanges {
        /// Path relative to the workspace, or absolute inside it.
        path: String,
        /// `from` and `lines` of each.
        ranges: Vec<(u64, u64)>,
    },
    /// Makes all of these replacements, each in what the one before it left, or none of them.
    EditFile {
        /// Path relative to the workspace, or absolute inside it.
        path: String,
        /// What is replaced, as [`crate::edit::apply`] has it; never empty.
        edits: Vec<Edit>,
    },
    /// Gives a file or a directory another path, with its parent directories; what is there already is never replaced.
    MoveFile {
        /// Path relative to the workspace, or absolute inside it.
        from: String,
        /// The whole new path.
        to: String,
    },
    /// Deletes a file, or a directory. Never the workspace itself, nor anything of `.git`.
    DeleteFile {
        /// Path relative to the workspace, or absolute inside it.
        path: String,
        /// Whether a directory goes with all that is in it; otherwise a directory is an error.
        recursive: bool,
    },
    /// Files below `path`, as deep as `depth` (0: without end), without what `.gitignore` names.
    ListFiles {
        /// Directory or file to begin at: relative to the workspace, or absolute inside it.
        path: String,
        /// Glob over paths below `path`, or over names alone if it has no slash; only files are listed then. `None` =
        /// everything.
        glob: Option<String>,
        /// Levels below `path`; 0 = all.
        depth: u32,
    },
    /// Lines that match a regular expression, without what `.gitignore` names.
    Search {
        /// Regular expression that is matched line by line.
        pattern: String,
        /// Directory or file to search: relative to the workspace, or absolute inside it.
        path: String,
        /// Glob over paths below `path`, or over names alone if it has no slash; `None` or empty = all files.
        glob: Option<String>,
    },
    /// A page as Markdown, fetched from inside the sandbox like everything else.
    WebFetch {
        /// Address of the page.
        url: String,
    },
    /// Kills every process but the runner and returns when none is left.
    Quiesce,
}

impl Op {
    /// Whether an agent asked for it, and not the host for itself.
    pub fn is_agents(&self) -> bool {
        !matches!(self, Op::Bash { .. } | Op::Exec { .. } | Op::Quiesce)
    }

    /// Whether bytes of this request stream in either direction.
    pub fn streams(&self) -> bool {
        matches!(self, Op::Exec { input, output, .. } if *input || *output)
    }
}

/// `wall_ms`: milliseconds until the process group is ended. `output_bytes`: cap of `Outcome::text`; 0 means `MAX_TEXT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Milliseconds until the request is ended as [`Status::TimedOut`].
    pub wall_ms: u64,
    /// Cap of [`Outcome::text`] in bytes, at most [`MAX_TEXT`]; 0 means [`MAX_TEXT`].
    pub output_bytes: u64,
}

/// How a request ended. `text`: its output, lossy UTF-8, head and tail where it was too long; `dropped_bytes` is what lay between.
/// `note`: what else happened that explains it, for the model to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// How the request ended.
    pub status: Status,
    /// Its output in lossy UTF-8, with a mark in the middle where bytes were left out.
    pub text: String,
    /// Bytes that were left out of `text`.
    pub dropped_bytes: u64,
    /// Milliseconds from the start of the request to its result.
    pub duration_ms: u64,
    /// What else happened, in a sentence for the model, at most 8 KiB; `None` = nothing.
    pub note: Option<String>,
    /// File in the sandbox, outside the workspace, that holds the whole output of an [`Op::Shell`]; `None` where it was short or could not be
    /// kept. [`Op::ReadFile`] and [`Op::Search`] read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<String>,
    /// The file that an [`Op::ReadFile`] looked at is a picture; `None` as well where it is larger than a model is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<Picture>,
    /// What an agent's operation did to the workspace; `None` for the host's own, and from an older runner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touched: Option<Touched>,
}

/// A picture in the workspace, as the runner found it. Its bytes are asked for apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// SHA-256 of its bytes, in lower-case hex.
    pub digest: String,
    /// Its length, at most [`crate::picture::MOST_BYTES`].
    pub bytes: u64,
}

impl Outcome {
    /// One of which nothing else is known.
    pub fn new(status: Status, text: impl Into<String>) -> Self {
        Self {
            status,
            text: text.into(),
            dropped_bytes: 0,
            duration_ms: 0,
            note: None,
            whole: None,
            picture: None,
            touched: None,
        }
    }
}

/// How a request ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Exit code 0, or the tool did what was asked.
    Ok,
    /// The process ended by itself with an exit code other than 0.
    Exited {
        /// The exit code.
        code: i32,
    },
    /// A signal ended the process.
    Signaled {
        /// Number of the signal on Linux; 0 = the runner could not tell.
        signal: i32,
    },
    /// [`Limits::wall_ms`] was over before it ended.
    TimedOut,
    /// The kernel killed a process of the sandbox for lack of memory meanwhile.
    OutOfMemory,
    /// The kernel refused a new process.
    OutOfPids,
    /// It failed and no space is left in the workspace.
    DiskFull,
    /// The watchdog over a workspace on disk ended it, and whatever else ran: it took more than its budget, or the disk is about
    /// to be full. `what` says how much of what.
    DiskSpent {
        /// How much of what was used, in a sentence for the model, at most 8 KiB.
        what: String,
    },
    /// It could not be done; the reason is written for the model.
    Failed {
        /// Why, in a sentence for the model, at most 8 KiB.
        reason: String,
    },
    /// Ended by `Cancel`, by [`Op::Quiesce`], or by a new connection because its bytes streamed.
    Cancelled,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_told_by_the_mark_in_it() {
        let program = [b"\x7fELF\0caisson-runner protocol=?;\0".as_slice(), MARK.as_bytes(), b"\xff\0"].concat();
        assert_eq!(Mark::find(&program), Some(Mark::own()));
        let other = MARK.replace(BUILD, "0").replace("protocol=2", "protocol=7");
        assert_eq!(Mark::find(other.as_bytes()), Some(Mark { version: 7, build: "0".to_owned() }));
        assert_eq!(Mark::find(b"#!/bin/sh\n"), None);
    }
}
