//! Reads `go test`: `--- FAIL: TestA (0.00s)` with its output below (with `-v` above), panics with stacks, and build and vet errors.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::lines::{indent, message, number, place, regex};
use super::{HELD, Item, Severity, Tool};

static FAILED: LazyLock<Regex> = LazyLock::new(|| regex(r"^ *--- FAIL: (\S+) \([\d.]+s\)$"));
static STEP: LazyLock<Regex> = LazyLock::new(|| regex(r"^=== (?:RUN|CONT|NAME|PAUSE) +(\S+)$"));
static SAID: LazyLock<Regex> = LazyLock::new(|| regex(r"^ +([^\s:]+\.go):(\d+): ?(.*)$"));
static BUILD: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:vet: )?((?:\./)?[^\s:]+\.go):(\d+)(:\d+)?: (.+)$"));
static FRAME: LazyLock<Regex> = LazyLock::new(|| regex(r"^\t(\S+\.go):(\d+)(?: \+0x[0-9a-f]+)?$"));

pub(super) fn read(lines: &[&str]) -> Vec<Item> {
    let mut items = build(lines);
    let mut from = 0;
    for (at, line) in lines.iter().enumerate() {
        let ends = line.strip_prefix("FAIL\t").or_else(|| line.strip_prefix("ok  \t"));
        if let Some(package) = ends.and_then(|rest| rest.split_whitespace().next()) {
            items.extend(tests(&lines[from..at], Some(package)));
            from = at + 1;
        }
    }
    // The end of the last package may be cut off.
    items.extend(tests(&lines[from..], None));
    items
}

/// Lines below `# package`; of vet also those with a column.
fn build(lines: &[&str]) -> Vec<Item> {
    let mut inside = false;
    let mut items = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        match line.contains(".go:").then(|| BUILD.captures(line)).flatten() {
            Some(found) if inside || found.get(3).is_some() => {
                let deeper =
                    lines[at + 1..].iter().take_while(|line| line.starts_with('\t')).map(|line| line.trim_start());
                let words = message(std::iter::once(found.get(4).map_or("", |words| words.as_str())).chain(deeper));
                items.push(Item {
                    tool: Tool::Go,
                    file: place(&found[1]),
                    line: number(&found[2]),
                    severity: Severity::Error,
                    message: words,
                    test: None,
                });
            }
            _ => inside = line.starts_with("# ") || (inside && line.starts_with('\t')),
        }
    }
    items
}

/// The failures of one package's tests.
fn tests(lines: &[&str], package: Option<&str>) -> Vec<Item> {
    let failed: Vec<(usize, &str)> =
        (0..lines.len()).filter_map(|at| Some((at, failed(lines[at])?))).take(HELD).collect();
    if failed.is_empty() {
        return Vec::new();
    }
    let said = words(lines);
    let mut items = Vec::new();
    for (at, name) in &failed {
        let inner = failed.iter().any(|(_, other)| other.strip_prefix(name).is_some_and(|rest| rest.starts_with('/')));
        let own = said.get(name).map(Vec::as_slice).unwrap_or_default();
        // A group only repeats that one of its tests failed.
        if inner && own.is_empty() {
            continue;
        }
        let test = package.map_or_else(|| (*name).to_owned(), |package| format!("{package}.{name}"));
        items.push(
            panic(&lines[at + 1..])
                .map_or_else(|| item(own, test.clone()), |item| Item { test: Some(test.clone()), ..item }),
        );
    }
    items
}

/// The failed test that a line names.
fn failed(line: &str) -> Option<&str> {
    let name = line.contains("--- FAIL: ").then(|| FAILED.captures(line)).flatten()?.get(1)?;
    Some(name.as_str())
}

/// The test whose output begins at this line.
fn step(line: &str) -> Option<&str> {
    Some(line.starts_with("=== ").then(|| STEP.captures(line)).flatten()?.get(1)?.as_str())
}

/// Output of each test, by name.
fn words<'a>(lines: &[&'a str]) -> HashMap<&'a str, Vec<&'a str>> {
    let mut out: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut current = None;
    let mut depth = None;
    for line in lines {
        let named = step(line).or_else(|| failed(line));
        if let Some(name) = named {
            (current, depth) = (Some(name), None);
            continue;
        }
        let begins = line.contains(".go:") && SAID.is_match(line);
        let follows = depth.is_some_and(|depth| line.is_empty() || indent(line) > depth);
        if begins && !follows {
            depth = Some(indent(line));
        } else if !follows {
            depth = None;
            if line.trim_start().starts_with("--- ") {
                current = None;
            }
            continue;
        }
        if let Some(current) = current {
            out.entry(current).or_default().push(line);
        }
    }
    out
}

fn item(said: &[&str], test: String) -> Item {
    let first = said.first().and_then(|line| SAID.captures(line));
    let (file, line) = first.as_ref().and_then(|found| place(&found[1]).zip(number(&found[2]))).unzip();
    let several = said.iter().filter(|line| SAID.is_match(line)).count() > 1;
    let words = match first.as_ref().and_then(|found| found.get(3)).filter(|_| !several) {
        Some(words) => format!("{}\n{}", words.as_str(), message(said[1..].iter().copied())),
        None => message(said.iter().copied()),
    };
    Item { tool: Tool::Go, file, line, severity: Severity::Error, message: message(words.lines()), test: Some(test) }
}

/// A panic directly below a failed test: its message, and the innermost place in the workspace.
fn panic(rest: &[&str]) -> Option<Item> {
    let words: Vec<&str> = rest.iter().take_while(|line| line.trim_start().starts_with("panic: ")).copied().collect();
    if words.is_empty() {
        return None;
    }
    let frames =
        rest[words.len()..].iter().take_while(|line| failed(line).is_none()).filter_map(|line| FRAME.captures(line));
    // The running goroutine comes first.
    let (file, line) = frames.into_iter().find_map(|found| inside(&found[1]).zip(number(&found[2]))).unzip();
    Some(Item { tool: Tool::Go, file, line, severity: Severity::Error, message: message(words), test: None })
}

/// Go prints absolute paths in stacks; those outside the workspace belong to libraries.
fn inside(path: &str) -> Option<String> {
    path.starts_with('/').then(|| place(path)).flatten()
}
