//! A line of the router's log as stored: with the task that had the subnet, and the action during which it began.
//!
//! Only the bot knows tasks and actions; the router knows only subnets. Tests: `src/bot/way_out.rs`.

use protocol::router::{LogEntry, Verdict};
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
    /// Whether it stands for entries that were lost, as many as its count: what was in them is not known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
    /// The router's entry.
    #[serde(flatten)]
    pub entry: LogEntry,
}

impl Line {
    /// A line for `count` entries up to number `seq` that were lost while the task had a subnet; `ts` is when that was noticed.
    #[must_use]
    pub fn lost(task: i64, seq: u64, count: u64, ts: i64) -> Line {
        let (rule, because, sni, ip) = (None, None, None, None);
        let reason = "entries of the router's log were lost".to_owned();
        let (subnet, port, up, down, ms) = (0, 0, 0, 0, 0);
        let (verdict, host) = (Verdict::Failed, String::new());
        let entry =
            LogEntry { seq, ts, subnet, verdict, rule, because, host, port, sni, ip, up, down, ms, reason, count };
        Line { task, action: None, lost: true, entry }
    }
}

/// Unix milliseconds at which a connection was opened or a name first asked for; entries are written at the end.
#[must_use]
pub fn began(entry: &LogEntry) -> i64 {
    entry.ts.saturating_sub(i64::try_from(entry.ms).unwrap_or(i64::MAX))
}
