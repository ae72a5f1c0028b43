//! How the router's log of a task is stored: its first lines since the newest checkpoint one by one, further ones added up.
//!
//! A sum has the key of its first line and is stored again whenever it grows, so that neither bytes nor counts are lost with the process;
//! one that begins before a checkpoint ends with it. Does no I/O. Tests: at the end of this file.

use crate::egress::Line;
use protocol::router::{LogEntry, Verdict};
use std::collections::{BTreeMap, HashMap};

/// The most lines of a task that are stored one by one between two checkpoints.
const ONE_BY_ONE: usize = 2000;
/// The most names of one verdict for which sums are kept apart; those of further names are added up by their rule.
const NAMES: usize = 64;

/// What the lines of one sum have in common.
#[derive(Clone, PartialEq, Eq, Hash)]
struct SumKind {
    action: Option<u32>,
    lost: bool,
    verdict: Verdict,
    rule: Option<String>,
    host: String,
    port: u16,
}

/// What was stored of a task since its newest checkpoint.
#[derive(Clone, Default)]
pub(super) struct TaskLines {
    /// When that was posted, Unix milliseconds.
    since: i64,
    one_by_one: usize,
    /// Sums with their keys.
    sums: HashMap<SumKind, (i64, Line)>,
}

impl TaskLines {
    /// What is to be stored of new lines, by key; `since` is when the task's newest checkpoint was posted, in Unix milliseconds.
    pub fn add(&mut self, since: i64, lines: Vec<Line>) -> BTreeMap<i64, Line> {
        if self.since != since {
            *self = Self { since, ..Self::default() };
        }
        let mut rows = BTreeMap::new();
        for line in lines {
            let (key, line) = if self.one_by_one < ONE_BY_ONE {
                self.one_by_one += 1;
                (key(&line.entry), line)
            } else {
                self.sum(line)
            };
            rows.insert(key, line);
        }
        rows
    }

    /// Adds a line to its sum, and gives that with its key.
    fn sum(&mut self, line: Line) -> (i64, Line) {
        let Line { action, lost, entry, .. } = &line;
        let (verdict, rule, port) = (entry.verdict, entry.rule.clone(), entry.port);
        let mut kind = SumKind { action: *action, lost: *lost, verdict, rule, host: entry.host.clone(), port };
        if !self.sums.contains_key(&kind) && self.sums.keys().filter(|it| it.verdict == verdict).count() >= NAMES {
            (kind.host, kind.port) = (String::new(), 0);
        }
        if let Some((key, sum)) = self.sums.get_mut(&kind) {
            join(&mut sum.entry, entry);
            return (*key, sum.clone());
        }
        let entry = LogEntry { host: kind.host.clone(), port: kind.port, sni: None, ip: None, ..entry.clone() };
        let first = (key(&entry), Line { entry, ..line });
        self.sums.insert(kind, first.clone());
        first
    }
}

/// Key of a line: unique within its task, and the same if the router repeats it.
fn key(entry: &LogEntry) -> i64 {
    (entry.ts << 12) | (entry.seq & 0xFFF) as i64
}

fn join(sum: &mut LogEntry, entry: &LogEntry) {
    let end = sum.ts.max(entry.ts);
    sum.ms = sum.ms.saturating_add(u64::try_from(end - sum.ts).unwrap_or_default());
    sum.ts = end;
    sum.up = sum.up.saturating_add(entry.up);
    sum.down = sum.down.saturating_add(entry.down);
    sum.count = sum.count.saturating_add(entry.count);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(ts: u64, verdict: &str, host: &str) -> Line {
        let value = serde_json::json!({
            "task": 1, "action": 1, "seq": ts, "ts": ts, "berth": 0, "verdict": verdict, "rule": "*.a.test",
            "host": host, "port": 443, "up": 7, "down": 1, "ms": 0, "reason": "", "count": 1
        });
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn beyond_so_many_lines_are_added_up_and_no_byte_is_lost() {
        let (mut lines, mut stored) = (TaskLines::default(), BTreeMap::new());
        let all = ONE_BY_ONE as u64 + 500;
        for ts in 1..=all {
            stored.extend(lines.add(0, vec![line(ts, "allowed", "x.a.test")]));
        }
        assert_eq!(stored.len(), ONE_BY_ONE + 1);
        assert_eq!(stored.values().map(|line| line.entry.up).sum::<u64>(), all * 7);
        let (key, sum) = stored.last_key_value().unwrap();
        assert_eq!((key >> 12, sum.entry.ts, sum.entry.count), (ONE_BY_ONE as i64 + 1, all as i64, 500));
        assert_eq!((sum.entry.ms, sum.entry.host.as_str()), (499, "x.a.test"), "from the first of them on");
        // After the next checkpoint lines are stored one by one again, and no sum grows across it.
        let more = [all + 1, all + 2].map(|ts| line(ts, "allowed", "x.a.test")).to_vec();
        let next = lines.add(all as i64, more);
        assert_eq!(next.values().map(|line| line.entry.count).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn many_names_are_added_up_by_their_rule_and_hide_no_other_verdict() {
        let (mut lines, mut stored) = (TaskLines::default(), BTreeMap::new());
        let all = ONE_BY_ONE as u64 + 1000;
        stored.extend(lines.add(0, (1..=all).map(|ts| line(ts, "allowed", &format!("x{ts}.a.test"))).collect()));
        stored.extend(lines.add(0, vec![line(all + 1, "denied", "refused.test")]));
        assert_eq!(stored.len(), ONE_BY_ONE + NAMES + 2);
        let rest = stored.values().find(|line| line.entry.host.is_empty()).unwrap();
        assert_eq!((rest.entry.rule.as_deref(), rest.entry.port), (Some("*.a.test"), 0));
        assert_eq!(rest.entry.count, 1000 - NAMES as u64);
        assert_eq!(stored.last_key_value().unwrap().1.entry.host, "refused.test");
        assert_eq!(stored.values().map(|line| line.entry.up).sum::<u64>(), (all + 1) * 7);
    }
}
