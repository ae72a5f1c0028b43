//! A line of the router's log as stored: with the task that had the subnet, and the action during which it began.
//!
//! Only the bot knows tasks and actions; the router knows only subnets. Tests: `src/bot/way_out.rs`.

use protocol::router::LogEntry;
use serde::{Deserialize, Serialize};

/// One line of the router's log as the store keeps it, in JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Number of the task that had the subnet; 0 in an old line without it.
    #[serde(default)]
    pub task: i64,
    /// Number of the action; none if none was under way, so that a background process caused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<u32>,
    /// The router's entry.
    #[serde(flatten)]
    pub entry: LogEntry,
}

/// Unix milliseconds at which a connection was opened or a name first asked for; entries are written at the end.
#[must_use]
pub fn began(entry: &LogEntry) -> i64 {
    entry.ts.saturating_sub(i64::try_from(entry.ms).unwrap_or(i64::MAX))
}
