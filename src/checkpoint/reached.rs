//! From the router's log of a task to the review: refusals and large uploads. Pure.
//!
//! All content of the log is untrusted. Tests: at the end of this file, from lines to text.

use super::view::{BlockedLine, UploadLine};
use crate::egress::Line;
use protocol::router::{SUBNET_CLOSED, Verdict};
use std::collections::{BTreeMap, BTreeSet};

/// Relevant events of the router's log since a checkpoint.
#[derive(Clone, Debug, Default)]
pub struct Reached {
    /// Refusals, one per host and port, in order.
    pub blocked: Vec<BlockedLine>,
    /// Uploads, largest first.
    pub uploads: Vec<UploadLine>,
    /// Entries of the router's log that were lost, so that uploads may be missing.
    pub lost_entries: u64,
}

/// Reads the entries after `since` (Unix milliseconds). Uploads are those above `note` bytes; names under one wildcard count together, so
/// that many small ones cannot hide a large one.
pub fn reached(lines: &[String], since: i64, note: u64) -> Reached {
    let mut refused: BTreeMap<(String, u16), (u64, String, BTreeSet<u32>)> = BTreeMap::new();
    let mut sent: BTreeMap<String, (u64, String)> = BTreeMap::new();
    let mut lost_entries: u64 = 0;
    for line in lines {
        let Ok(Line { entry, action, lost, .. }) = serde_json::from_str(line) else { continue };
        if entry.ts <= since {
            continue;
        }
        if lost {
            lost_entries = lost_entries.saturating_add(entry.count);
            continue;
        }
        let because = entry.because.unwrap_or_default();
        let wildcard = entry.rule.clone().filter(|rule| rule.starts_with("*.") && !entry.host.is_empty());
        // Bytes of a broken connection count too.
        let (bytes, why) = sent.entry(wildcard.unwrap_or_else(|| entry.host.clone())).or_default();
        *bytes = bytes.saturating_add(entry.up);
        // Several rules may have allowed what has no single name.
        if !entry.host.is_empty() {
            why.clone_from(&because);
        }
        if entry.verdict == Verdict::Denied && !entry.host.is_empty() {
            let (count, why, actions) = refused.entry((entry.host, entry.port)).or_default();
            actions.extend(action);
            let first = *count == 0;
            *count = count.saturating_add(entry.count.max(1));
            *why = match entry.rule {
                Some(_) if because.is_empty() => entry.reason,
                Some(_) => format!("{} — {because}", entry.reason),
                // Says nothing about the host, which may be allowed, so it replaces no reason that does.
                None if entry.reason == SUBNET_CLOSED && first => entry.reason,
                None if entry.reason == SUBNET_CLOSED => continue,
                // Otherwise the only reason without a rule is that nothing allows it.
                None => String::new(),
            };
        }
    }
    let blocked = refused.into_iter().map(|((host, port), (count, why, actions))| {
        let actions = actions.into_iter().collect();
        BlockedLine { host, port, count, why, actions }
    });
    let uploads = sent.into_iter().map(|(host, (bytes, because))| UploadLine { host, bytes, because });
    let mut uploads: Vec<_> = uploads.filter(|line| line.bytes > note).collect();
    uploads.sort_by_key(|line| std::cmp::Reverse(line.bytes));
    Reached { blocked: blocked.collect(), uploads, lost_entries }
}

#[cfg(test)]
mod tests {
    use super::super::gather::{ViewContext, gather};
    use super::super::render_checkpoint;
    use super::*;
    use domain::{Commit, Risk, Task, TaskId};
    use serde_json::{Value, json};

    const NOTE: u64 = 1 << 20;

    /// An entry as the router writes it.
    fn line(ts: i64, host: &str, up: u64, more: Value) -> String {
        let mut line = json!({
            "seq": 1, "ts": ts, "berth": 2, "verdict": "allowed", "host": host, "port": 443,
            "up": up, "down": 9, "ms": 3, "reason": "", "count": 1,
        });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line.to_string()
    }

    fn told(lines: &[String]) -> String {
        let Reached { blocked, uploads, lost_entries } = reached(lines, 100, NOTE);
        let around = ViewContext { blocked, uploads, lost_entries, ..ViewContext::default() };
        let text = render_checkpoint(&gather(&Task::new(TaskId(1)), &[], 1, around));
        text.lines().filter(|line| line.starts_with("> ")).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn much_that_was_sent_is_named_with_the_reason_of_its_rule() {
        let allowed = || json!({"rule": "up.test", "because": "preset cargo"});
        let wild = || json!({"rule": "*.w.test"});
        let cut = json!({"verdict": "denied", "rule": "cut.test:443", "because": "allowed by alice", "reason": "the byte cap of this rule is used up"});
        let lines = [
            line(100, "before.test", 9_000_000, allowed()),
            line(101, "up.test", 2_000_000, allowed()),
            line(102, "up.test", 1_234_567, allowed()),
            line(102, "x.w.test", 600_000, wild()),
            line(103, "y.w.test", 600_000, wild()),
            line(103, "cut.test", 5_000_000, cut),
            line(104, "small.test", NOTE, allowed()),
            line(105, "", 2_000_000, json!({"rule": "*.w.test", "because": "one of several"})),
            line(106, "a`b](http://evil.test) @all", 4_000_000, json!({"verdict": "failed"})),
            "no line of ours".to_owned(),
        ];
        insta::assert_snapshot!("uploads", told(&lines));
        let hosts: Vec<String> = (0..11).map(|n| line(200, &format!("h{n}.test"), NOTE + 1 + n, allowed())).collect();
        assert!(told(&hosts).contains("`h3.test` (`preset cargo`) and 3 more."), "{}", told(&hosts));
    }

    #[test]
    fn a_refused_host_is_named_with_the_rule_that_refused_it() {
        let denied = json!({
            "verdict": "denied", "rule": "*.leak.test", "reason": "denied by the operator", "because": "takes anything",
        });
        let lines = [line(101, "a.leak.test", 0, denied.clone()), line(102, "a.leak.test", 0, denied)];
        insta::assert_snapshot!("refused_by_rule", told(&lines));
        let other = line(103, "b.test", 0, json!({"verdict": "denied", "reason": "host not allowed"}));
        assert!(told(&[lines[0].clone(), other]).contains("`b.test:443` (1×). Comment `/allow b.test` to let"));
    }

    #[test]
    fn a_host_asked_for_while_its_subnet_was_closed_is_not_said_to_need_an_allowance() {
        let refused = |ts, reason| line(ts, "a.test", 0, json!({"verdict": "denied", "reason": reason}));
        let text = told(&[refused(101, SUBNET_CLOSED), refused(102, SUBNET_CLOSED)]);
        assert!(text.ends_with("(2×: `the subnet is closed`)."), "{text}");
        for (first, second) in [(SUBNET_CLOSED, "host not allowed"), ("host not allowed", SUBNET_CLOSED)] {
            let text = told(&[refused(101, first), refused(102, second)]);
            assert!(text.contains("(2×). Comment `/allow a.test` to let"), "{text}");
        }
    }

    #[test]
    fn a_refused_host_is_named_with_the_actions_that_asked_for_it() {
        let during = |ts, action: Option<u32>| {
            line(
                ts,
                "a.test",
                0,
                json!({"verdict": "denied", "reason": "host not allowed", "task": 1, "action": action}),
            )
        };
        let one = [during(101, Some(4))];
        assert!(told(&one).contains("`a.test:443` (1×, action 4)."), "{}", told(&one));
        // An entry that began between two actions belongs to neither, nor does an old one without the field.
        let many = [during(101, Some(12)), during(102, Some(4)), during(103, None), during(104, Some(4))];
        assert!(told(&many).contains("`a.test:443` (4×, actions 4, 12)."), "{}", told(&many));
    }

    /// A task whose checkpoint is no risk by itself.
    fn quiet_task() -> Task {
        let commit = Commit::parse(&"a".repeat(40)).ok();
        Task { captured: commit, pull: Some(9), ..Task::new(TaskId(1)) }
    }

    #[test]
    fn no_approval_in_advance_covers_an_upload() {
        let task = quiet_task();
        let Reached { uploads, .. } = reached(&[line(1, "up.test", NOTE + 1, json!({}))], 0, NOTE);
        let quiet = gather(&task, &[], 1, ViewContext::default());
        assert_eq!(quiet.risk, quiet.unseen.then_some(Risk::Unseen));
        assert_eq!(gather(&task, &[], 1, ViewContext { uploads, ..ViewContext::default() }).risk, Some(Risk::Upload));
    }

    #[test]
    fn entries_that_were_lost_are_said_and_count_as_an_upload() {
        let lost = |ts| serde_json::to_string(&Line::lost(1, 9, 1_200, ts)).unwrap();
        assert!(told(&[lost(100)]).is_empty(), "before the last checkpoint");
        let text = told(&[lost(101), lost(102)]);
        assert!(text.contains("2 400 lines of the log of what left the sandbox got lost"), "{text}");
        let around = ViewContext { lost_entries: 1, ..ViewContext::default() };
        assert_eq!(gather(&quiet_task(), &[], 1, around).risk, Some(Risk::Upload));
    }
}
