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

macro_rules! version {
    () => {
        1
    };
}

/// Version of this page. Both sides say theirs first; a different one is refused.
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
    pub epoch: u64,
    pub say: ToRunner,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToRunner {
    /// Begins every connection. Running requests go on, except those whose bytes stream: they are cancelled.
    Hello { version: u32 },
    /// Runs `op` unless `id` was seen before: a running one goes on, a finished one is reported again.
    Run { id: u64, op: Op, limits: Limits },
    /// Body: bytes for the request's stdin. `offset`: bytes sent before them. `last`: the end of the input.
    Input { id: u64, offset: u64, last: bool },
    /// The host has taken `bytes` bytes of the request's output, counted from its beginning.
    Taken { id: u64, bytes: u64 },
    /// Ends the request as `Status::Cancelled`, with its process group.
    Cancel { id: u64 },
    /// The host has stored the result: the runner may forget it. The id stays spent.
    Ack { id: u64 },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromRunner {
    /// Answers `Hello`. `boot`: random for each process. `runner`: SHA-256 of the runner's own binary, in hex.
    /// `requests`: all that are not acknowledged; the finished ones are reported again right after this. `lacks`: a sentence if
    /// the workspace lies on a disk with so little left that no work should begin.
    Hello {
        version: u32,
        epoch: u64,
        boot: String,
        runner: String,
        requests: Vec<Known>,
        #[serde(default)]
        lacks: Option<String>,
    },
    /// Body: bytes of the request's stdout. `offset`: bytes sent before them. `last`: nothing follows.
    Output { id: u64, offset: u64, last: bool },
    /// The request has taken `bytes` bytes of its input, counted from its beginning.
    Taken { id: u64, bytes: u64 },
    /// Comes after all of the request's output.
    Finished { id: u64, outcome: Outcome },
    /// The host that spoke with `epoch` is not obeyed.
    Refused { epoch: u64, reason: String },
}

/// A request that the runner holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    pub id: u64,
    pub finished: bool,
}

/// What is to be done. Paths are relative to the workspace, or absolute inside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// `bash -c` (or `sh -c`) in the workspace, in a process group of its own. stdin is empty, stdout and stderr are one text.
    Bash { command: String },
    /// The host's own work, such as git. `env` comes on top of the container's. `input` and `output`: stdin and stdout stream as
    /// frames (then `Outcome::text` is stderr alone); otherwise stdin is empty and both outputs are one text.
    Exec { argv: Vec<String>, env: Vec<(String, String)>, cwd: String, input: bool, output: bool },
    /// Lines `from` (the first is 1) and on, at most `lines` (0: as many as fit), each with its number.
    ReadFile { path: String, from: u64, lines: u64 },
    /// Makes or replaces a file, with its parent directories.
    WriteFile { path: String, content: String },
    /// Makes or replaces all of these (path, content), or none of them.
    WriteFiles { files: Vec<(String, String)> },
    /// Replaces `old` by `new`: the only occurrence, or with `all` every one.
    EditFile { path: String, old: String, new: String, all: bool },
    /// Files below `path`, as deep as `depth` (0: without end), without what `.gitignore` names.
    ListFiles { path: String, glob: Option<String>, depth: u32 },
    /// Lines that match a regular expression, without what `.gitignore` names.
    Search { pattern: String, path: String, glob: Option<String> },
    /// A page as Markdown, fetched from inside the sandbox like everything else.
    WebFetch { url: String },
    /// Kills every process but the runner and returns when none is left.
    Quiesce,
}

impl Op {
    /// Whether bytes of this request stream in either direction.
    pub fn streams(&self) -> bool {
        matches!(self, Op::Exec { input, output, .. } if *input || *output)
    }
}

/// `wall_ms`: milliseconds until the process group is ended. `output_bytes`: cap of `Outcome::text`; 0 means `MAX_TEXT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub wall_ms: u64,
    pub output_bytes: u64,
}

/// How a request ended. `text`: its output, lossy UTF-8, head and tail where it was too long; `dropped_bytes` is what lay between.
/// `note`: what else happened that explains it, for the model to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    pub status: Status,
    pub text: String,
    pub dropped_bytes: u64,
    pub duration_ms: u64,
    pub note: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Exit code 0, or the tool did what was asked.
    Ok,
    Exited {
        code: i32,
    },
    Signaled {
        signal: i32,
    },
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
        what: String,
    },
    /// It could not be done; the reason is written for the model.
    Failed {
        reason: String,
    },
    Cancelled,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_told_by_the_mark_in_it() {
        let program = [b"\x7fELF\0caisson-runner protocol=?;\0".as_slice(), MARK.as_bytes(), b"\xff\0"].concat();
        assert_eq!(Mark::find(&program), Some(Mark::own()));
        let other = MARK.replace(BUILD, "0").replace("protocol=1", "protocol=7");
        assert_eq!(Mark::find(other.as_bytes()), Some(Mark { version: 7, build: "0".to_owned() }));
        assert_eq!(Mark::find(b"#!/bin/sh\n"), None);
    }
}
