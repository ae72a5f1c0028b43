//! Which task a subnet was allocated to, and from which line of the router's log on, because a line may arrive long after the subnet was
//! released.
//!
//! Owns `berths.json` of the state directory: the last few allocations of each subnet, kept over restarts like the router's log. An
//! allocation begins after the router confirmed that the subnet is closed, before the sandbox is made, and lasts until the subnet's next
//! one. Within one life of the router the numbers of its lines decide; for a life without an allocation, the clock. Tests: below,
//! `tests/trees/way_out.rs`.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use protocol::router::LogEntry;
use serde::{Deserialize, Serialize};

use super::record::{Record, write_whole};
use super::{Result, SandboxError};

/// Allocations kept per subnet; making one sandbox takes longer than storing all log lines that may be waiting.
const REMEMBERED: usize = 8;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct SubnetAllocation {
    #[serde(rename = "berth")]
    subnet: u32,
    task: i64,
    /// The router's life and its newest log line when the subnet was allocated.
    after: Option<(String, u64)>,
    /// Unix milliseconds.
    at: i64,
}

pub(super) struct SubnetAllocations {
    path: PathBuf,
    /// Oldest first.
    all: Mutex<Vec<SubnetAllocation>>,
}

impl SubnetAllocations {
    /// `held` are the records of existing sandboxes; a subnet of theirs without an allocation is theirs from the beginning.
    pub(super) fn load(state_dir: &Path, held: &[Record]) -> Self {
        let path = state_dir.join("berths.json");
        let read = std::fs::read(&path).ok().map(|text| serde_json::from_slice(&text));
        let mut all: Vec<SubnetAllocation> = read.unwrap_or_else(|| Ok(Vec::new())).unwrap_or_else(|error| {
            tracing::warn!(path = %path.display(), %error, "not a list of subnets; who has one now counts as its only holder");
            Vec::new()
        });
        for (subnet, task) in held.iter().filter_map(|record| Some((record.subnet?, record.task))) {
            if !all.iter().any(|allocation| allocation.subnet == subnet) {
                all.push(SubnetAllocation { subnet, task, after: None, at: 0 });
            }
        }
        Self { path, all: Mutex::new(all) }
    }

    pub fn lend(&self, subnet: u32, task: i64, after: Option<(String, u64)>, at: i64) -> Result<()> {
        // A panic while the lock was held leaves the list consistent.
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if all.iter().rev().find(|allocation| allocation.subnet == subnet).is_some_and(|last| last.task == task) {
            return Ok(());
        }
        let mut next = all.clone();
        next.push(SubnetAllocation { subnet, task, after, at });
        let of_subnet = next.iter().filter(|allocation| allocation.subnet == subnet).count();
        if of_subnet > REMEMBERED
            && let Some(oldest) = next.iter().position(|allocation| allocation.subnet == subnet)
        {
            next.remove(oldest);
        }
        let text = serde_json::to_vec(&next).map_err(|e| SandboxError::Refused(e.to_string()))?;
        write_whole(&self.path, &text)?;
        *all = next;
        Ok(())
    }

    /// The tasks that may have had a line among these of a life, at `ts` (Unix milliseconds). `closed`: subnets in which nothing happened
    /// in that time.
    pub fn holders(&self, boot: &str, lines: &RangeInclusive<u64>, ts: i64, closed: &BTreeSet<u32>) -> BTreeSet<i64> {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let after = *lines.start()..*lines.end();
        let in_these = |(life, last): &(String, u64)| life == boot && after.contains(last);
        let begun = |allocation: &&SubnetAllocation| allocation.after.as_ref().is_some_and(in_these);
        let open: Vec<_> = all.iter().filter(|allocation| !closed.contains(&allocation.subnet)).collect();
        let before = open.iter().filter_map(|allocation| self.holder_at(boot, allocation.subnet, *lines.start(), ts));
        open.iter().copied().filter(begun).map(|allocation| allocation.task).chain(before).collect()
    }

    pub fn holder(&self, boot: &str, entry: &LogEntry) -> Option<i64> {
        self.holder_at(boot, entry.subnet, entry.seq, entry.ts)
    }

    /// The task that had a subnet after the line before `seq` of a life; for a life without an allocation, at `ts` (Unix milliseconds).
    pub fn holder_at(&self, boot: &str, subnet: u32, seq: u64, ts: i64) -> Option<i64> {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let in_life = |allocation: &SubnetAllocation| matches!(&allocation.after, Some((life, _)) if life == boot);
        let newest = all.iter().rposition(in_life);
        let covers = |at: usize, allocation: &SubnetAllocation| match (&allocation.after, newest) {
            (Some((_, last)), _) if in_life(allocation) => seq > *last,
            // Allocations are stored in order, and so are the router's lives.
            (Some(_), Some(newest)) => at < newest,
            _ => ts >= allocation.at,
        };
        let mut found = all.iter().enumerate().rev().filter(|(_, allocation)| allocation.subnet == subnet);
        found.find(|(at, allocation)| covers(*at, allocation)).map(|(_, allocation)| allocation.task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(subnet: u32, seq: u64, ts: i64) -> LogEntry {
        let entry = serde_json::json!({
            "seq": seq, "ts": ts, "berth": subnet, "verdict": "denied", "host": "a.test", "port": 443,
            "up": 0, "down": 0, "ms": 0, "reason": "", "count": 1
        });
        serde_json::from_value(entry).unwrap()
    }

    #[test]
    fn a_line_is_the_one_s_to_whom_the_subnet_was_lent_when_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let allocations = SubnetAllocations::load(dir.path(), &[]);
        let at = |boot: &str, seq| Some((boot.to_owned(), seq));
        allocations.lend(0, 1, at("b1", 0), 100).unwrap();
        allocations.lend(1, 2, at("b1", 3), 150).unwrap();
        allocations.lend(0, 3, at("b1", 7), 200).unwrap();
        allocations.lend(0, 3, at("b1", 9), 250).unwrap();
        allocations.lend(0, 4, at("b2", 5), 300).unwrap();
        for allocations in [allocations, SubnetAllocations::load(dir.path(), &[])] {
            let holder = |boot: &str, subnet, seq, ts| allocations.holder(boot, &entry(subnet, seq, ts));
            // By number, whatever the clock says and however late the lines arrive.
            assert_eq!([holder("b1", 0, 7, 900), holder("b1", 0, 8, 120)], [Some(1), Some(3)]);
            assert_eq!([holder("b2", 0, 5, 250), holder("b2", 0, 6, 250)], [Some(3), Some(4)]);
            assert_eq!([holder("b1", 1, 3, 160), holder("b1", 1, 4, 160)], [None, Some(2)]);
            // For a life without an allocation, by the clock.
            assert_eq!(
                [holder("b3", 0, 1, 320), holder("b0", 0, 50, 140), holder("b0", 0, 9, 50)],
                [Some(4), Some(1), None]
            );
            assert_eq!(holder("b1", 2, 8, 400), None, "of nobody");
            // Of several lines, everybody who may have had one.
            let without = |boot: &str, lines, ts, closed: &[u32]| {
                let closed = closed.iter().copied().collect();
                allocations.holders(boot, &lines, ts, &closed).into_iter().collect::<Vec<_>>()
            };
            let holders = |boot: &str, lines, ts| without(boot, lines, ts, &[]);
            assert_eq!(
                [holders("b1", 1..=3, 100), holders("b1", 2..=8, 100), holders("b1", 9..=9, 900)],
                [vec![1], vec![1, 2, 3], vec![2, 3]]
            );
            assert_eq!(holders("b3", 1..=9, 250), [2, 3], "by the clock");
            let closed = [without("b1", 2..=8, 100, &[0]), without("b3", 1..=9, 250, &[1])];
            assert_eq!(closed, [[2], [3]], "not of a closed one");
        }
    }

    #[test]
    fn a_few_allocations_of_each_subnet_are_remembered() {
        let dir = tempfile::tempdir().unwrap();
        let allocations = SubnetAllocations::load(dir.path(), &[]);
        allocations.lend(1, 99, None, 0).unwrap();
        for task in 1..=20 {
            allocations.lend(0, task, Some(("b1".to_owned(), task.unsigned_abs() * 10)), task).unwrap();
        }
        let kept = allocations.all.lock().unwrap().iter().map(|allocation| allocation.task).collect::<Vec<_>>();
        assert_eq!(kept, [99, 13, 14, 15, 16, 17, 18, 19, 20]);
        assert_eq!(allocations.holder("b1", &entry(0, 200, 0)), Some(19));
    }
}
