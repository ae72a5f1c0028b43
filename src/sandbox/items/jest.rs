//! Reads jest: below `FAIL path`, blocks that begin with a dot and the names of groups and test.

use std::sync::LazyLock;

use regex::Regex;

use super::lines::{message, number, place, regex};
use super::stack::frame;
use super::{Item, Severity, Tool};

static FILE: LazyLock<Regex> = LazyLock::new(|| regex(r"^ ?FAIL +(?:\S+ +)?(\S+\.[cm]?[jt]sx?)(?: \(.*\))?$"));
static HEAD: LazyLock<Regex> = LazyLock::new(|| regex(r"^  ● (.+)$"));
/// A line of quoted source; the marked one is where it failed.
static SOURCE: LazyLock<Regex> = LazyLock::new(|| regex(r"^ *(> *)?(\d+) \|"));
static SYNTAX: LazyLock<Regex> = LazyLock::new(|| regex(r"^ *(?:SyntaxError|ReferenceError|TypeError): "));

pub(super) fn read(lines: &[&str]) -> Vec<Item> {
    let mut file = None;
    let mut items = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if !line.contains("FAIL") && !line.contains('●') {
            continue;
        }
        if let Some(found) = FILE.captures(line) {
            file = place(&found[1]);
        }
        // A head without a file above it belongs to another list.
        if let (Some(found), Some(file)) = (HEAD.captures(line), &file) {
            items.extend(item(&found[1], &lines[at + 1..], file));
        }
    }
    items
}

fn item(name: &str, rest: &[&str], file: &str) -> Option<Item> {
    if name == "Console" {
        return None;
    }
    let ends =
        |line: &&str| (line.contains('●') && HEAD.is_match(line)) || (!line.is_empty() && !line.starts_with(' '));
    let body = &rest[..rest.iter().position(ends).unwrap_or(rest.len())];
    let whole = name == "Test suite failed to run";
    // The parser's error follows a page of advice.
    let from = body.iter().position(|line| whole && SYNTAX.is_match(line)).unwrap_or(0);
    let said = &body[from..];
    let quoted = |line: &&str| SOURCE.is_match(line) || line.trim_start().starts_with("at ");
    let said = &said[..said.iter().position(quoted).unwrap_or(said.len())];
    let stack = body.iter().filter(|line| line.trim_start().starts_with("at "));
    let marked = body.iter().filter_map(|line| SOURCE.captures(line)).find(|found| found.get(1).is_some());
    let marked = marked.and_then(|found| number(&found[2])).map(|line| (file.to_owned(), line));
    let found = stack.filter_map(|line| frame(line)).next().or(marked);
    let (at, line) = found.unzip();
    let test = (!whole).then(|| name.to_owned());
    let file = at.or_else(|| Some(file.to_owned()));
    Some(Item { tool: Tool::Jest, file, line, severity: Severity::Error, message: message(said.iter().copied()), test })
}
