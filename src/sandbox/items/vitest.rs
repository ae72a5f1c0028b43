//! Reads Vitest: below ` FAIL  tests/a.test.ts > group > test` the error, compared values, and places after `❯`.

use std::sync::LazyLock;

use regex::Regex;

use super::lines::{message, number, place, regex};
use super::{Item, Severity, Tool};

static HEAD: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^ FAIL  (?:\|?\S+\|? +)?(\S+\.[cm]?[jt]sx?)(?: > (.+)| \[ .+ \])$"));
static FRAME: LazyLock<Regex> = LazyLock::new(|| regex(r"^ ❯ (?:.* )?([^\s:]+):(\d+):\d+$"));

/// The most lines below a head that are read, because one error may have many heads.
const MOST_BODY: usize = 200;

pub(super) fn read(lines: &[&str]) -> Vec<Item> {
    let heads: Vec<usize> =
        (0..lines.len()).filter(|&at| lines[at].starts_with(" FAIL ") && HEAD.is_match(lines[at])).collect();
    let mut items = Vec::new();
    let mut body: &[&str] = &[];
    // Tests with the same failure share one error below their heads.
    for (nth, &at) in heads.iter().enumerate().rev() {
        let end = heads.get(nth + 1).copied().unwrap_or(lines.len());
        let own = &lines[at + 1..end];
        if !own.is_empty() {
            let own = &own[..own.len().min(MOST_BODY)];
            body = &own[..own.iter().position(|line| line.starts_with('⎯')).unwrap_or(own.len())];
        }
        items.extend(item(lines[at], body));
    }
    items.reverse();
    items
}

fn item(head: &str, body: &[&str]) -> Option<Item> {
    let found = HEAD.captures(head)?;
    let file = found.get(1)?.as_str();
    let test = found.get(2).map(|name| format!("{file} > {}", name.as_str()));
    let stack = body.iter().position(|line| line.starts_with(" ❯ ")).unwrap_or(body.len());
    let frames = body[stack..].iter().filter_map(|line| FRAME.captures(line));
    let at = frames.into_iter().find_map(|found| place(&found[1]).zip(number(&found[2])));
    let (at, line) = at.unzip();
    let file = at.or_else(|| place(file));
    let message = message(body[..stack].iter().copied());
    Some(Item { tool: Tool::Vitest, file, line, severity: Severity::Error, message, test })
}
