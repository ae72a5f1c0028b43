//! The only module that runs git.
//!
//! Owns how git is started (`run.rs`: fixed environment, no hooks, no prompts, one transport at a time, time-outs, limits, killed as a
//! group; `spawn.rs`: ends with the bot; `proxies.rs`: whom it asks on the way; `locks.rs`: what a killed one locked), the names it is given (`name.rs`), and the bot's bare repositories (`repos.rs`, `pack.rs`,
//! `diff.rs`, `difference.rs`, `forget.rs`, `made.rs`, `upstream.rs`; fetched within limits, `fetching.rs`, one after the other, `turns.rs`; read in this process with libgit2, `read.rs`, `blobs.rs`, `changes.rs`, `links.rs`, `reach.rs`, `own_commands.rs`, `project_file.rs`). A credential reaches git only through its
//! environment, limited to one URL. Must not parse what comes from a sandbox before a quarantine container has checked it
//! (`sandbox/capture` does that and passes a checked pack to [`Repos::import`]), check anything out on the host, or know forges or tasks.
//! Writing, remotes and checks of untrusted objects use git's command line: docs/decisions/0004.
//! Tests: beside each file, and `tests/trees.rs`.

mod blobs;
mod changes;
mod copy;
pub(crate) mod diff;
mod difference;
mod elsewhere;
mod failure;
mod fetching;
mod folders;
mod forget;
mod home;
mod links;
pub mod listing;
mod locks;
mod made;
mod name;
mod own_commands;
mod pack;
mod project_file;
mod proxies;
mod reach;
mod read;
mod repos;
pub(crate) mod run;
mod secrets;
mod spawn;
mod turns;
mod upstream;

pub use blobs::{FilesRead, ReadLimits, WhichFiles};
pub use diff::{CappedText, capped_text};
pub use difference::{Counted, added_lines, shown_lines};
pub use elsewhere::Elsewhere;
pub use failure::Meaning;
pub use fetching::FetchLimits;
pub use forget::UNBORN;
pub use home::{Home, Merged, Uncommitted, os_path};
pub use made::{PlainFile, head_around};
pub use name::{Auth, Branch, RemoteUrl, Tree};
pub(crate) use pack::temporary;
pub use pack::{PackBase, PackFile, PackLimits};
pub use project_file::ProjectFile;
pub(crate) use read::{blob_id, commit_id};
pub use repos::{PushSpec, Pushed, Repos, checkpoint_ref};
pub use secrets::{Leak, Leaks};
pub use upstream::Listing;

/// An error of git, with a message for a person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// No program `git` was found, or none of `setpriv` and `sh`, which start it.
    #[error("git is not installed: install the packages `git` (2.38 or newer) and `util-linux` and try again")]
    Missing,
    /// A name, path or repository that git must not be given or is in the wrong state; the sentence says which.
    #[error("{0}")]
    Invalid(String),
    /// `git <verb>` took longer than `seconds` and was killed.
    #[error("git {verb} did not end within {seconds} s and was stopped")]
    TimedOut {
        /// git's subcommand.
        verb: &'static str,
        /// Its time limit in seconds.
        seconds: u64,
    },
    /// Git's output was, or would have been, more than `cap` bytes.
    #[error("git {verb} gave more than {cap} bytes and was stopped")]
    TooLarge {
        /// git's subcommand.
        verb: &'static str,
        /// The limit in bytes.
        cap: u64,
    },
    /// The other side sent more than the limit of a fetch.
    #[error(
        "git {verb} was stopped: the other side sent more than {mib} MiB; raise `git.max_pack_mib` if that is right"
    )]
    Oversized {
        /// git's subcommand.
        verb: &'static str,
        /// The limit in MiB.
        mib: u64,
    },
    /// Git ended with an error.
    #[error("git {verb} failed (exit code {code}): {stderr}")]
    Failed {
        /// git's subcommand.
        verb: &'static str,
        /// Its exit code; 128 + n after signal n.
        code: i32,
        /// The end of git's stderr. Untrusted.
        stderr: String,
    },
    /// The object or ref does not exist.
    #[error("{0}")]
    NotFound(String),
    /// Files or pipes failed, or git's output could not be parsed.
    #[error("{0}")]
    Io(String),
}

/// Lines of git's stderr that are kept.
const STDERR_LINES: usize = 6;

impl GitError {
    fn spawn(e: &std::io::Error) -> Self {
        match e.kind() {
            std::io::ErrorKind::NotFound => Self::Missing,
            _ => Self::Io(format!("git cannot be started: {e}")),
        }
    }

    pub(crate) fn failed(verb: &'static str, code: i32, stderr: &str) -> Self {
        let lines: Vec<&str> = stderr.lines().map(str::trim).filter(|line| !says_nothing(line)).collect();
        let stderr = lines[lines.len().saturating_sub(STDERR_LINES)..].join("; ");
        Self::Failed { verb, code, stderr }
    }

    pub(crate) fn io(what: &str, e: &std::io::Error) -> Self {
        Self::Io(format!("{what}: {e}"))
    }
}

/// Whether a line is empty, only sets others apart, or is what git adds to whatever failed over ssh.
fn says_nothing(line: &str) -> bool {
    let words = line.strip_prefix("remote:").unwrap_or(line).trim();
    words.chars().all(|c| "=-—".contains(c))
        || ["Please make sure you have the correct access rights", "and the repository exists."].contains(&words)
}
