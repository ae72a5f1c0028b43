//! A line of the router's log as it is kept: with the task that held the subnet, and the action during which it began.
//!
//! Only the bot knows tasks and actions; the router knows subnets. Tests: `src/bot/way_out.rs`.

use protocol::router::LogEntry;
use serde::{Deserialize, Serialize};

/// One line of the router's log as the store keeps it, in JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Number of the task that held the subnet; 0 in a line that is too old to have it.
    #[serde(default)]
    pub task: i64,
    /// None: nothing was under way, so a process did it that an action had left behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<u32>,
    /// What the router wrote.
    #[serde(flatten)]
    pub entry: LogEntry,
}

/// When a connection was opened, or a name first asked for, in Unix milliseconds; a line is written at the end of it.
#[must_use]
pub fn began(entry: &LogEntry) -> i64 {
    entry.ts.saturating_sub(i64::try_from(entry.ms).unwrap_or(i64::MAX))
}
