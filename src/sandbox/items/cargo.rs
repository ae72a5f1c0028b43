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
    let (mut items, mut outside) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < lines.len() {
        match head(lines[at]) {
            Some(name) => {
                let body = &lines[at + 1..at + 1 + block(&lines[at + 1..])];
                items.push(item(name, body));
                at += body.len() + 1;
            }
            None => {
                if outside.len() < HELD {
                    outside.extend(panic_at(&lines[at..]));
                }
                at += 1;
            }
        }
    }
    let mut told: HashSet<String> = items.iter().filter_map(|item| item.test.clone()).collect();
    for name in listed(lines) {
        if items.len() < HELD && told.insert(name.to_owned()) {
            items.push(unblocked(name, &outside));
        }
    }
    // A program that panics outside of tests.
    if !lines.iter().any(|line| line.starts_with("test result: ")) {
        let broken = outside.into_iter().filter(|panic| panic.place.is_some());
        items.extend(broken.map(|panic| made(None, panic.place, panic.words)));
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
    let found = panics_in(body).find(|panic| panic.is_of(test)).or_else(|| panics_in(body).next());
    let found = found.map(|panic| (panic.place, panic.words)).or_else(|| {
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

/// A panic of one thread.
struct Panic<'a> {
    thread: &'a str,
    /// Where it is, or with a backtrace the innermost place in the workspace.
    place: SourceLocation,
    words: String,
}

impl Panic<'_> {
    /// Whether it is of this test's own thread; a note may follow the thread's name, as in `name - should panic`.
    fn is_of(&self, test: &str) -> bool {
        test.strip_prefix(self.thread).is_some_and(|note| note.is_empty() || note.starts_with(" - "))
    }
}

/// The panics in these lines, in order.
fn panics_in<'a>(lines: &[&'a str]) -> impl Iterator<Item = Panic<'a>> {
    (0..lines.len()).filter_map(move |at| panic_at(&lines[at..]))
}

/// The panic that begins in the first of these lines. Reads no further than to the next one.
fn panic_at<'a>(lines: &[&'a str]) -> Option<Panic<'a>> {
    let (&line, rest) = lines.split_first()?;
    if !line.starts_with("thread '") {
        return None;
    }
    if let Some(found) = PANIC.captures(line) {
        let ends = |line: &&str| line.starts_with("note: ") || *line == "stack backtrace:" || panics(line);
        let words = &rest[..rest.iter().position(ends).unwrap_or(rest.len())];
        let backtrace = rest.iter().take_while(|line| !panics(line)).filter_map(|line| FRAME.captures(line));
        let frame = || backtrace.into_iter().find_map(|found| place(&found[1]).zip(number(&found[2])));
        return Some(Panic {
            thread: found.get(1)?.as_str(),
            place: place(&found[2]).zip(number(&found[3])).or_else(frame),
            words: message(paragraph(words)),
        });
    }
    let found = OLD_PANIC.captures(line)?;
    Some(Panic {
        thread: found.get(1)?.as_str(),
        place: place(&found[3]).zip(number(&found[4])),
        words: message([&found[2]]),
    })
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
fn unblocked(name: &str, outside: &[Panic<'_>]) -> Item {
    let found = outside.iter().find(|panic| panic.is_of(name));
    let (place, words) = found.map(|panic| (panic.place.clone(), panic.words.clone())).unwrap_or_default();
    made(Some(name), place.or_else(|| documented(name)), words)
}
