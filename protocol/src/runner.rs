//! The protocol between the host and the runner (PID 1 of a sandbox).
//!
//! Frames as in `frame`, each a `Message<Order>` to the runner and a `Message<FromRunner>` from it, over any byte stream; with Docker that
//! is the container's stdin and stdout. Behaviour of Docker 20.10 that shaped the protocol:
//! * a half-written frame stays in the runner's stdin and the next host's bytes continue it, so an attach begins with a zero byte;
//! * two attached hosts both write and both read everything, and a slow runner may answer a Hello whose host has given up, so every order
//!   carries the epoch of its connection, and so does every answer that is meant for one; the runner obeys the highest it ever saw;
//! * output sent while nobody is attached is lost, so a result is kept until it is acknowledged, and a request whose bytes
//!   stream does not survive the connection it was made on.

use serde::{Deserialize, Serialize};

use crate::edit::Edit;
use crate::touched::Touched;

macro_rules! version {
    () => {
        4
    };
}

/// Version of this protocol; each side sends its own first and refuses another one. It rises with every change that an older runner could
/// not read, because a runner skips unreadable frames silently, and with a field that it would leave out where that loses something.
pub const VERSION: u32 = version!();
/// Hash over the sources of this crate, the runner and its `locate`.
pub const BUILD: &str = env!("CAISSON_RUNNER_BUILD");
/// Text in the runner's binary by which an outdated runner is recognised before it is started.
pub const MARK: &str = concat!("caisson-runner protocol=", version!(), " build=", env!("CAISSON_RUNNER_BUILD"), ";");

/// Version and build of a runner, as its binary contains them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Its [`VERSION`].
    pub version: u32,
    /// Its [`BUILD`].
    pub build: String,
}

impl Mark {
    /// The mark of a runner that fits this host.
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
/// The most bytes of one stream that are sent and not yet reported as `Taken`.
pub const WINDOW: u64 = 1 << 20;
/// Longest `Outcome::text`, in bytes, whatever `Limits::output_bytes` asks for; even with every byte escaped as six in JSON it fits a
/// frame.
pub const MAX_TEXT: u64 = 128 << 10;
/// Longest file that is read, searched or edited, and longest file with a whole output, in bytes.
pub const MAX_FILE: u64 = 16 << 20;
/// Last line of the file that [`Outcome::whole`] names where the output was longer than is kept.
pub const LOG_CUT: &[u8] = b"\n[the rest is not kept]\n";
/// The most requests that are unacknowledged at once.
pub const MAX_REQUESTS: usize = 64;

/// One order of a host; orders of an epoch lower than the highest seen are refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Epoch of the connection: higher than those of all before it, of this life of the host and of earlier ones.
    pub epoch: u64,
    /// The order itself.
    pub say: ToRunner,
}

/// Messages of the host to the runner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToRunner {
    /// Begins every connection. Running requests go on, except those that stream, which are cancelled.
    Hello {
        /// The host's [`VERSION`].
        version: u32,
    },
    /// Runs `op`, at most once per `id`: for a repeated one a running request goes on, and a finished one is reported again.
    Run {
        /// Id of the request, given by the host; each is run at most once.
        id: u64,
        /// What is to be done.
        op: Op,
        /// Limits of time and output.
        limits: Limits,
    },
    /// Bytes for the request's stdin, in the body.
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
    /// The host has stored the result, so that the runner may forget it; the id stays used.
    Ack {
        /// Id of the request.
        id: u64,
    },
}

/// Messages of the runner to the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromRunner {
    /// Answers `Hello`; the finished ones among `requests` are reported again right after it.
    Hello {
        /// The runner's [`VERSION`].
        version: u32,
        /// Epoch of the connection whose `Hello` this answers.
        epoch: u64,
        /// 16 random bytes in hexadecimal, new for each runner process.
        boot: String,
        /// SHA-256 of the runner's own binary, in hexadecimal.
        runner: String,
        /// The requests that are not acknowledged yet, running and finished ones.
        requests: Vec<RequestStatus>,
        /// How little of the workspace's disk is left if no work should begin, as a sentence; `None` = enough, or not watched.
        #[serde(default)]
        lacks: Option<String>,
    },
    /// Bytes of the request's stdout, in the body.
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
    /// The request ended; sent after all of its output.
    Finished {
        /// Id of the request.
        id: u64,
        /// How it ended, repeated until `Ack`.
        outcome: Outcome,
    },
    /// The connection with this epoch is not obeyed.
    Refused {
        /// The epoch of the order that was refused.
        epoch: u64,
        /// Why, for a person; begins with [`LATER_EPOCH`] where a host of a later epoch is obeyed.
        reason: String,
    },
}

/// How the reason begins for which a runner refuses a host of an earlier epoch than the one that it obeys.
pub const LATER_EPOCH: &str = "a host with epoch ";

/// A request that the runner still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestStatus {
    /// Id of the request, given by the host.
    pub id: u64,
    /// Whether its result is ready and waits for `Ack`.
    pub finished: bool,
}

/// An operation. Paths are relative to the workspace, or absolute inside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Runs `bash -c` (or `sh -c`) in the workspace, in its own process group; stdin is empty, stdout and stderr are captured together.
    Bash {
        /// The command line, as the shell reads it.
        command: String,
        /// Whether output that is not short is also kept whole in a file, which [`Outcome::whole`] names.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        whole: bool,
    },
    /// Runs the agent's command: as `Bash`, but it begins in the directory that the last one ended in, with its exported variables. That
    /// state is lost with the runner and used by nothing else.
    Shell {
        /// The command line, as the shell reads it.
        command: String,
        /// Whether it continues in its own process group until the next [`Op::Quiesce`], with its output in a file. The outcome, which
        /// names both, comes at once; nothing is carried over from it.
        background: bool,
    },
    /// Runs a program of the host, such as git. With `input` or `output` its stdin or stdout streams as frames (with `output`,
    /// `Outcome::text` is only stderr); otherwise stdin is empty and both outputs are captured together.
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
    /// Reads lines of a file, each with its number.
    ReadFile {
        /// Path relative to the workspace, or absolute inside it.
        path: String,
        /// First line that is read, counted from 1; 0 counts as 1.
        from: u64,
        /// Most lines that are read; 0 means 2000. Fewer if the text would grow too long.
        lines: u64,
    },
    /// Creates or replaces a file, with its parent directories.
    WriteFile {
        /// Path relative to the workspace, or absolute inside it.
        path: String,
        /// The whole new content.
        content: String,
    },
    /// Creates or replaces all of these files, or none.
    WriteFiles {
        /// Path, as in `WriteFile`, and whole new content of each file.
        files: Vec<(String, String)>,
        /// Those of the paths that may only be made: if anything has one of them, even a directory or a link, no file is written.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        create: Vec<String>,
    },
    /// Reads several parts of a file, each as [`Op::ReadFile`] does.
    ReadRanges {
        /// Path relative to the workspace, or absolute inside it.
        path: String,
        /// `from` and `lines` of each.
        ranges: Vec<(u64, u64)>,
    },
    /// Makes all of these replacements, each in the result of the one before it, or none.
    EditFile {
        /// Path relative to the workspace, or absolute inside it.
        path: String,
        /// What is replaced, as [`crate::edit::apply`] has it; never empty.
        edits: Vec<Edit>,
    },
    /// Moves a file or a directory, creating parent directories; an existing target is never replaced.
    MoveFile {
        /// Path relative to the workspace, or absolute inside it.
        from: String,
        /// The whole new path.
        to: String,
    },
    /// Deletes a file or a directory; never the workspace itself or anything of `.git`.
    DeleteFile {
        /// Path relative to the workspace, or absolute inside it.
        path: String,
        /// Whether a directory goes with all that is in it; otherwise a directory is an error.
        recursive: bool,
    },
    /// Lists files below `path`, without those that `.gitignore` matches.
    ListFiles {
        /// Directory or file to begin at: relative to the workspace, or absolute inside it.
        path: String,
        /// Glob over paths below `path`, or over names alone if it has no slash; only files are listed then. `None` =
        /// everything.
        glob: Option<String>,
        /// Levels below `path`; 0 = all.
        depth: u32,
    },
    /// Finds lines that match a regular expression, in files that `.gitignore` does not match.
    Search {
        /// Regular expression that is matched line by line.
        pattern: String,
        /// Directory or file to search: relative to the workspace, or absolute inside it.
        path: String,
        /// Glob over paths below `path`, or over names alone if it has no slash; `None` or empty = all files.
        glob: Option<String>,
    },
    /// Fetches a page as Markdown, from inside the sandbox.
    WebFetch {
        /// Address of the page.
        url: String,
    },
    /// Kills every process but the runner, and ends when none is left.
    Quiesce,
}

impl Op {
    /// Whether it is an operation of the agent; the others are the host's own.
    pub fn is_agents(&self) -> bool {
        !matches!(self, Op::Bash { .. } | Op::Exec { .. } | Op::Quiesce)
    }

    /// Whether stdin or stdout of this request streams.
    pub fn streams(&self) -> bool {
        matches!(self, Op::Exec { input, output, .. } if *input || *output)
    }
}

/// Limits of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Milliseconds until the request is ended as [`Status::TimedOut`].
    pub wall_ms: u64,
    /// Cap of [`Outcome::text`] in bytes, at most [`MAX_TEXT`]; 0 means [`MAX_TEXT`].
    pub output_bytes: u64,
}

/// Result of a request.
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
    /// File in the sandbox, outside the workspace, with the whole output of an [`Op::Shell`] or [`Op::WebFetch`], or of an [`Op::Bash`] that asks for it; `None`
    /// if it was short or could not be kept.
    /// [`Op::ReadFile`] and [`Op::Search`] can read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<String>,
    /// The picture that an [`Op::ReadFile`] read; `None` for any other file, and for a picture larger than a model is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<Picture>,
    /// What an operation of the agent changed in the workspace; `None` for the host's own, and from an older runner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touched: Option<Touched>,
}

/// A picture in the workspace; its bytes are requested separately.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// SHA-256 of its bytes, in lower-case hex.
    pub digest: String,
    /// Its length, at most [`crate::picture::MOST_BYTES`].
    pub bytes: u64,
}

impl Outcome {
    /// An outcome with only status and text.
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
    /// The kernel killed a process of the sandbox for lack of memory while it ran.
    OutOfMemory,
    /// The kernel refused a new process for lack of PIDs.
    OutOfPids,
    /// It failed, and no space is left in the workspace.
    DiskFull,
    /// The disk watchdog killed it and everything else that ran, because the workspace exceeded its budget or the disk is nearly full.
    DiskSpent {
        /// How much of what was used, in a sentence for the model, at most 8 KiB.
        what: String,
    },
    /// The operation failed; the reason is written for the model.
    Failed {
        /// Why, in a sentence for the model, at most 8 KiB.
        reason: String,
    },
    /// Cancelled by `Cancel`, by [`Op::Quiesce`], or, if it streams, by a new connection.
    Cancelled,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_without_a_word_about_new_ones_are_read_and_written_as_before() {
        let old = r#"{"write_files":{"files":[["a.py","x"]]}}"#;
        let op: Op = serde_json::from_str(old).expect("read");
        assert_eq!(op, Op::WriteFiles { files: vec![("a.py".to_owned(), "x".to_owned())], create: Vec::new() });
        assert_eq!(serde_json::to_string(&op).expect("written"), old);
    }

    #[test]
    fn a_program_is_told_by_the_mark_in_it() {
        let program = [b"\x7fELF\0caisson-runner protocol=?;\0".as_slice(), MARK.as_bytes(), b"\xff\0"].concat();
        assert_eq!(Mark::find(&program), Some(Mark::own()));
        let other = MARK.replace(BUILD, "0").replace("protocol=4", "protocol=7");
        assert_eq!(Mark::find(other.as_bytes()), Some(Mark { version: 7, build: "0".to_owned() }));
        assert_eq!(Mark::find(b"#!/bin/sh\n"), None);
    }
}
