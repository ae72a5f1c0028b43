//! Inspects a task's sandbox: its neighbours' addresses, findings of its runner's probe, and files.
//!
//! Must not judge, which the barrier does. Tests: `tests/barrier/own.rs`, `tests/trees/losses.rs`.

use std::net::Ipv4Addr;
use std::sync::Arc;

use protocol::broker::RUNNER;
use protocol::runner::{Op, Outcome, Status};

use super::core::Core;
use super::session::{self, Work};
use super::sessions::Sessions;
use super::{Result, SandboxError};

/// More lines than one look returns.
const LINES: u64 = 1 << 20;
/// Limit of reading a file, in milliseconds.
const READING_MS: u64 = 30_000;

/// SandboxAddresses as the engine reports them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxAddresses {
    /// The sandbox's own; none without a network.
    pub own: Option<Ipv4Addr>,
    /// Those of this installation's other sandboxes.
    pub others: Vec<Ipv4Addr>,
}

/// Inspects tasks' sandboxes.
pub struct Looks {
    pub(super) core: Arc<Core>,
    pub(super) sessions: Arc<Sessions>,
}

impl Looks {
    /// SandboxAddresses of a task's sandbox and of the others.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] when the engine is unreachable, or reports no address for a sandbox with a subnet.
    pub async fn around(&self, task: i64) -> Result<SandboxAddresses> {
        let record = self.core.records.ready(task)?;
        let mut around = SandboxAddresses::default();
        for container in self.core.broker.list().await.map_err(session::from_broker)? {
            let address = container.address.and_then(|text| text.parse().ok());
            match container.name == record.name {
                true => around.own = address,
                false => around.others.extend(address),
            }
        }
        if record.subnet.is_some() != around.own.is_some() {
            let why = format!("the engine says nothing of the network of {}", record.name);
            return Err(SandboxError::Unavailable(why));
        }
        Ok(around)
    }

    /// The first `cap` bytes of a file in a task's workspace as lossy text; none where there is no such file. Untrusted.
    ///
    /// # Errors
    /// As [`Actions::act`](super::Actions::act).
    pub async fn text(&self, task: i64, path: &str, cap: u64) -> Result<Option<String>> {
        self.core.must_be_current(task)?;
        let session = self.sessions.of(task).await?;
        let script = r#"[ -f "$1" ] && exec head -c "$2" -- "$1""#;
        let work = Work::new(["sh", "-c", script, "sh", path, &cap.to_string()]);
        let mut out = Vec::new();
        let done = session.spool(work, &mut out, cap).await?;
        Ok((done.status == Status::Ok).then(|| String::from_utf8_lossy(&out).into_owned()))
    }

    /// A file's lines from `from` on, numbered as in the agent's own reading: at most `cap` bytes, with a last line that says where it
    /// continues. A failed outcome has the reason. Untrusted.
    ///
    /// # Errors
    /// As [`Actions::act`](super::Actions::act).
    pub async fn lines(&self, task: i64, path: &str, from: u64, cap: u64) -> Result<Outcome> {
        self.core.must_be_current(task)?;
        let op = Op::ReadFile { path: path.to_owned(), from, lines: LINES };
        self.sessions.of(task).await?.capped(op, READING_MS, cap).await
    }

    /// Runs the probe of a task's runner with these arguments.
    ///
    /// # Errors
    /// As [`Actions::act`](super::Actions::act).
    pub async fn probe(&self, task: i64, words: &[&str]) -> Result<Outcome> {
        let session = self.sessions.of(task).await?;
        session.outcome(Work::new([RUNNER, "probe"].iter().chain(words).copied())).await
    }
}
