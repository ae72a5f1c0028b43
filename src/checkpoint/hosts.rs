//! The part of a review about egress: refused hosts, how to allow them, hosts with much upload, lost log entries, and hosts that people
//! allowed.

use super::view::{BlockedLine, CheckpointView, HostChange};
use crate::command::spec;
use crate::text::{bytes, code, count, grouped, host_name, rule_shown};
use protocol::router::Rule;
use std::fmt::Write as _;

/// The most hosts that are named; further ones are counted.
const MAX_NAMED: usize = 8;

/// The warning about refused hosts; empty if there are none.
pub(super) fn blocked(view: &CheckpointView) -> String {
    if view.blocked.is_empty() {
        return String::new();
    }
    let hosts = view.blocked.iter().take(MAX_NAMED).map(|line| {
        let name = match host_name(&line.host) {
            // A refused look-up has no port yet.
            Some(host) => host.shown(Some(line.port).filter(|port| *port > 0)),
            None => code(&line.host),
        };
        let during = match &line.actions[..] {
            [] => String::new(),
            [one] => format!(", action {one}"),
            many => format!(", actions {}", many.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")),
        };
        let why = if line.why.is_empty() { String::new() } else { format!(": {}", code(&line.why)) };
        format!("{name} ({}×{during}{why})", grouped(line.count))
    });
    let hosts = hosts.collect::<Vec<_>>().join(", ");
    let rest = view.blocked.len().saturating_sub(MAX_NAMED);
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let number = count(view.blocked.len() as u64, "host");
    let text = format!("> [!WARNING]\n> {number} blocked: {hosts}{rest}. {}", allow_hint(view));
    format!("{}\n\n", text.trim_end())
}

/// The warning about uploads; empty if there are none.
pub(super) fn uploads(view: &CheckpointView) -> String {
    if view.uploads.is_empty() {
        return String::new();
    }
    let hosts = view.uploads.iter().take(MAX_NAMED).map(|line| {
        let name =
            if line.host.is_empty() { "names too many to tell apart".to_owned() } else { rule_shown(&line.host) };
        let why = if line.because.is_empty() { String::new() } else { format!(" ({})", code(&line.because)) };
        format!("sent {} to {name}{why}", bytes(line.bytes))
    });
    let hosts = hosts.collect::<Vec<_>>().join(", ");
    let rest = view.uploads.len().saturating_sub(MAX_NAMED);
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!(
        "> [!WARNING]\n> Unusually much left the sandbox: {hosts}{rest}. It may hold anything of the repository.\n\n"
    )
}

/// The warning about entries of the router's log that were lost; empty if there are none.
pub(super) fn lost(view: &CheckpointView) -> String {
    if view.lost_entries == 0 {
        return String::new();
    }
    let number = count(view.lost_entries, "line");
    format!(
        "> [!WARNING]\n> {number} of the log of what left the sandbox got lost: more may have been sent than this review names.\n\n"
    )
}

/// How to allow the first host that could be; empty where rules, not their absence, refused.
fn allow_hint(view: &CheckpointView) -> String {
    let rule = |line: &BlockedLine| {
        let host = host_name(&line.host)?.ascii;
        let port = if matches!(line.port, 0 | 80 | 443) { String::new() } else { format!(":{}", line.port) };
        Rule::parse(&format!("{host}{port}")).ok()
    };
    let mut open = view.blocked.iter().filter(|line| line.why.is_empty()).peekable();
    if open.peek().is_none() {
        return String::new();
    }
    match (spec("allow"), open.find_map(rule)) {
        (Some(_), Some(rule)) => format!("Comment {} to let this task reach it.", code(&format!("/allow {rule}"))),
        (Some(_), None) => "Such a name can't be allowed.".to_owned(),
        (None, _) => "The operator can add a name to `egress.allow`.".to_owned(),
    }
}

/// Changes that people made to the allowed hosts, so that a reviewer knows what the sandbox could reach.
pub(super) fn changed(out: &mut String, view: &CheckpointView) {
    if view.hosts.is_empty() {
        return;
    }
    let since = view.since.map_or("the beginning".to_owned(), |n| format!("checkpoint {n}"));
    let lines = view.hosts.iter().rev().take(MAX_NAMED).rev().map(|line| {
        let how = match line.change {
            HostChange::Task => "allowed for this task",
            HostChange::Repository => "allowed for the repository",
            HostChange::Before => "allowed for the repository before",
            HostChange::TakenBack => "taken back",
        };
        format!("{} {how} by {}", rule_shown(&line.host), code(&line.by))
    });
    let lines = lines.collect::<Vec<_>>().join(" · ");
    let rest = view.hosts.len().saturating_sub(MAX_NAMED);
    let rest = if rest > 0 { format!(" · before these {rest} more") } else { String::new() };
    let _ = writeln!(out, "**Hosts since {since}** — {lines}{rest}");
}
