//! Reads `cargo test`: blocks `---- name stdout ----` with a panic, the list of names at the end, and panics outside of blocks.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::lines::{message, number, place, regex};
use super::{HELD, Item, Severity, Tool};

static PANIC: LazyLock<Regex> = LazyLock::new(|| regex(r"^thread '(.*)'(?: \(\d+\))? panicked at (.+?):(\d+):\d+:$"));
/// Format before Rust 1.73.
static OLD_PANIC: LazyLock<Regex> = LazyLock::new(|| regex(r"^thread '(.*)' panicked at '(.*)', (.+?):(\d+):\d+$"));
static FRAME: LazyLock<Regex> = LazyLock::new(|| regex(r"^\s+at (.+?):(\d+):\d+$"));
static NO_PANIC: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^note: test did not panic as expected(?: at (.+?):(\d+):\d+)?$"));
static DOC: LazyLock<Regex> = LazyLock::new(|| regex(r"^(\S+\.(?:rs|md)) - (?:.* )?\(line (\d+)\)"));

type SourceLocation = Option<(String, u32)>;

pub(super) fn read(lines: &[&str]) -> Vec<Item> {
    let mut items = Vec::new();
    let mut outside = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        match head(lines[at]) {
            Some(name) => {
                let body = &lines[at + 1..at + 1 + block(&lines[at + 1..])];
                items.push(item(name, body));
                at += body.len() + 1;
            }
            None => {
                outside.extend(panics(lines[at]).then_some(at));
                at += 1;
            }
        }
    }
    let mut told: HashSet<String> = items.iter().filter_map(|item| item.test.clone()).collect();
    outside.truncate(HELD);
    for name in listed(lines) {
        if items.len() < HELD && told.insert(name.to_owned()) {
            items.push(unblocked(name, lines, &outside));
        }
    }
    // A program that panics outside of tests.
    if !lines.iter().any(|line| line.starts_with("test result: ")) {
        let broken = outside.iter().filter_map(|&at| panic(&lines[at..], None)).filter(|(place, _)| place.is_some());
        items.extend(broken.map(|(place, words)| made(None, place, words)));
    }
    items
}

fn head(line: &str) -> Option<&str> {
    line.strip_prefix("---- ")?.strip_suffix(" stdout ----").filter(|name| !name.is_empty())
}

fn panics(line: &str) -> bool {
    line.starts_with("thread '") && (PANIC.is_match(line) || OLD_PANIC.is_match(line))
}

/// Number of lines up to the end of a block.
fn block(lines: &[&str]) -> usize {
    let ends = |line: &&str| head(line).is_some() || *line == "failures:" || line.starts_with("test result: ");
    lines.iter().position(ends).unwrap_or(lines.len())
}

fn made(test: Option<&str>, place: SourceLocation, words: String) -> Item {
    let (file, line) = place.unzip();
    Item { tool: Tool::Cargo, file, line, severity: Severity::Error, message: words, test: test.map(str::to_owned) }
}

fn item(test: &str, body: &[&str]) -> Item {
    // Panics of the test's own thread come before those of threads it started.
    let found = panic(body, Some(test)).or_else(|| panic(body, None)).or_else(|| {
        let (line, found) = body.iter().find_map(|line| NO_PANIC.captures(line).map(|found| (line, found)))?;
        let at = found.get(1).zip(found.get(2));
        Some((at.and_then(|(file, line)| place(file.as_str()).zip(number(line.as_str()))), message([*line])))
    });
    let (place, words) = found.unwrap_or_else(|| (None, message(body.iter().copied())));
    made(Some(test), place.or_else(|| documented(test)), words)
}

/// A documentation test, named by its place.
fn documented(test: &str) -> SourceLocation {
    let found = DOC.captures(test)?;
    place(&found[1]).zip(number(&found[2]))
}

/// The first panic of these lines (of this thread): its place, or with a backtrace the innermost one in the workspace, and its message.
fn panic(body: &[&str], thread: Option<&str>) -> Option<(SourceLocation, String)> {
    let mine = |name: &str| thread.is_none_or(|thread| thread == name || thread.starts_with(&format!("{name} - ")));
    for (at, line) in body.iter().enumerate().filter(|(_, line)| line.starts_with("thread '")) {
        if let Some(found) = PANIC.captures(line).filter(|found| mine(&found[1])) {
            let rest = &body[at + 1..];
            let ends = |line: &&str| line.starts_with("note: ") || *line == "stack backtrace:" || panics(line);
            let words = &rest[..rest.iter().position(ends).unwrap_or(rest.len())];
            let backtrace = rest.iter().take_while(|line| !panics(line)).filter_map(|line| FRAME.captures(line));
            let frame = || backtrace.into_iter().find_map(|found| place(&found[1]).zip(number(&found[2])));
            return Some((place(&found[2]).zip(number(&found[3])).or_else(frame), message(paragraph(words))));
        }
        if let Some(found) = OLD_PANIC.captures(line).filter(|found| mine(&found[1])) {
            return Some((place(&found[3]).zip(number(&found[4])), message([&found[2]])));
        }
    }
    None
}

/// The lines of a message up to an empty line; what follows was printed later.
fn paragraph<'a>(lines: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    lines.iter().copied().take_while(|line| !line.is_empty())
}

/// The names below the last `failures:` of each program.
fn listed<'a>(lines: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    let mut inside = false;
    lines.iter().filter_map(move |line| {
        let name = line.strip_prefix("    ").filter(|name| inside && !name.is_empty() && !name.starts_with(' '));
        inside = *line == "failures:" || name.is_some();
        name
    })
}

/// A test without a block, because it wrote straight to the terminal or the block was cut off.
fn unblocked(name: &str, lines: &[&str], outside: &[usize]) -> Item {
    let found =
        outside.iter().find_map(|&at| panic(&lines[at..=at], Some(name)).and_then(|_| panic(&lines[at..], Some(name))));
    let (place, words) = found.unwrap_or_default();
    made(Some(name), place.or_else(|| documented(name)), words)
}
