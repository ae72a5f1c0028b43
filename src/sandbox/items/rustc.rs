//! Reads the Rust compiler and clippy: `error[E0308]: mismatched types` with `--> src/lib.rs:11:9` below, or all in one line.
use std::sync::LazyLock;

use regex::Regex;

use super::lines::{message, number, place, regex};
use super::{Item, Severity, Tool};

static HEAD: LazyLock<Regex> = LazyLock::new(|| regex(r"^(error|warning)(?:\[\w+\])?: .+$"));
static ARROW: LazyLock<Regex> = LazyLock::new(|| regex(r"^ *--> (.+?):(\d+):\d+$"));
static SHORT: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^(\S[^:]*\.rs):(\d+):\d+: ((?:error|warning)(?:\[\w+\])?: .+)$"));

/// The most lines of a head; longer messages are rare.
const HEAD_LINES: usize = 4;
/// Notes that say nothing about the mistake.
const NOISE: [&str; 5] =
    ["for further information visit", "implied by `", "to override `", " on by default", "this error originates in"];

pub(super) fn read(lines: &[&str]) -> Vec<Item> {
    let clippy = lines.iter().any(|line| line.contains("clippy"));
    let tool = if clippy { Tool::Clippy } else { Tool::Rustc };
    (0..lines.len()).filter_map(|at| item(lines, at, tool)).collect()
}

fn severity(said: &str) -> Severity {
    if said.starts_with("error") { Severity::Error } else { Severity::Warning }
}

fn item(lines: &[&str], at: usize, tool: Tool) -> Option<Item> {
    if !lines[at].contains("error") && !lines[at].contains("warning") {
        return None;
    }
    if let Some(found) = SHORT.captures(lines[at]) {
        let said = &found[3];
        let (file, line, severity) = (place(&found[1]), number(&found[2]), severity(said));
        return Some(Item { tool, file, line, severity, message: message([said]), test: None });
    }
    let head = HEAD.captures(lines[at])?;
    let rest = &lines[at + 1..];
    let arrow =
        rest.iter().take(HEAD_LINES).take_while(|line| !line.is_empty()).position(|line| ARROW.is_match(line))?;
    let found = ARROW.captures(rest[arrow])?;
    let body = rest[arrow + 1..].iter().take_while(|line| !line.is_empty() && !HEAD.is_match(line));
    let body =
        body.map(|line| line.trim()).filter(|line| *line != "|" && !NOISE.iter().any(|noise| line.contains(noise)));
    let said = std::iter::once(lines[at]).chain(rest[..arrow].iter().copied()).chain(body);
    let (file, line, severity) = (place(&found[1]), number(&found[2]), severity(&head[1]));
    Some(Item { tool, file, line, severity, message: message(said), test: None })
}
