//! Reads Node: its test runner's *spec* report, and uncaught errors. `tap.rs` has its other format.

use std::sync::LazyLock;

use regex::Regex;

use super::lines::{indent, message, number, place, regex};
use super::stack::frame;
use super::{Item, Severity, Tool, tap};

static FAILED: LazyLock<Regex> = LazyLock::new(|| regex(r"^ *✖ (.+?)(?: \([\d.]+m?s\))?( # .*)?$"));
static AT: LazyLock<Regex> = LazyLock::new(|| regex(r"^test at (.+?):(\d+):\d+$"));
static UNCAUGHT: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:Uncaught )?[A-Z]\w*(?: \[[\w ]+\])?: .*$"));
static SOURCE: LazyLock<Regex> = LazyLock::new(|| regex(r"^((?:file://)?/[^:]+):(\d+)$"));

/// The most lines of an uncaught error before Node's version line.
const CRASH: usize = 60;

pub(super) fn read(lines: &[&str]) -> Vec<Item> {
    let tap = tap::of_node(lines);
    let mut items = match tap {
        true => tap::items(lines, Tool::Node),
        false => spec(lines),
    };
    // In TAP, output of a test file is a comment.
    let bare: Vec<&str> =
        lines.iter().map(|line| if tap { line.strip_prefix("# ").unwrap_or(line) } else { line }).collect();
    let crashes: Vec<Item> = crashes(&bare);
    // A file that could not be run is reported without a reason, which the crash has.
    items.retain(|item| item.test.is_some() || !crashes.iter().any(|crash| crash.file == item.file));
    items.splice(0..0, crashes);
    items
}

/// Failures in the list at the end, which has places; if it was cut off, in the running report.
fn spec(lines: &[&str]) -> Vec<Item> {
    let from = lines.iter().rposition(|line| *line == "✖ failing tests:").map_or(0, |at| at + 1);
    let lines = &lines[from..];
    if from == 0 && !lines.iter().any(|line| line.starts_with("ℹ ") || line.starts_with("▶ ")) {
        return Vec::new();
    }
    let heads =
        (0..lines.len()).filter(|&at| lines[at].contains('✖')).filter_map(|at| Some((at, FAILED.captures(lines[at])?)));
    // A test marked as to do may fail.
    let heads = heads.filter(|(_, found)| found.get(2).is_none());
    heads.filter_map(|(at, found)| one(lines, at, &found[1], from > 0)).collect()
}

fn one(lines: &[&str], at: usize, name: &str, listed: bool) -> Option<Item> {
    let depth = indent(lines[at]);
    let inside = |line: &&&str| line.is_empty() || (indent(line) > depth && !FAILED.is_match(line));
    let body: Vec<&str> = lines[at + 1..].iter().take_while(inside).copied().collect();
    // A group only repeats that one of its tests failed.
    if !listed && body.iter().all(|line| line.is_empty()) {
        return None;
    }
    let above = at.checked_sub(1).and_then(|at| AT.captures(lines[at]));
    let above = above.and_then(|found| place(&found[1]).zip(number(&found[2])));
    let stack = body.iter().position(|line| line.trim_start().starts_with("at ")).unwrap_or(body.len());
    let found = body[stack..].iter().filter(|line| line.trim_start().starts_with("at ")).find_map(|line| frame(line));
    // A whole file is reported under its own name.
    let file = place(name).filter(|_| message(body.iter().copied()) == "'test failed'");
    let (at_file, line) = found.or(above).unzip();
    let test = file.is_none().then(|| name.to_owned());
    Some(Item {
        tool: Tool::Node,
        file: file.or(at_file),
        line,
        severity: Severity::Error,
        message: message(body[..stack].iter().copied()),
        test,
    })
}

/// Text before `Node.js v20.1.0`: message, stack, and for syntax errors the place above.
fn crashes(lines: &[&str]) -> Vec<Item> {
    let ends = (0..lines.len()).filter(|&at| lines[at].starts_with("Node.js v"));
    ends.filter_map(|end| {
        let from = end.saturating_sub(CRASH);
        let at = from + lines[from..end].iter().rposition(|line| UNCAUGHT.is_match(line))?;
        let rest = &lines[at..end];
        let stack = rest.iter().position(|line| line.starts_with("    at ")).unwrap_or(rest.len());
        let above = || {
            let found = lines[at.saturating_sub(8)..at].iter().rev().find_map(|line| SOURCE.captures(line))?;
            place(&found[1]).zip(number(&found[2]))
        };
        let (file, line) = rest[stack..].iter().find_map(|line| frame(line)).or_else(above).unzip();
        Some(Item {
            tool: Tool::Node,
            file,
            line,
            severity: Severity::Error,
            message: message(rest[..stack].iter().copied()),
            test: None,
        })
    })
    .collect()
}
