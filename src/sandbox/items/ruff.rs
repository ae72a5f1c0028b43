//! Reads ruff: a rule's code and message with `--> a.py:1:8` below, all in one line, or grouped below the file's name.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::lines::{message, number, place, regex};
use super::{Item, Severity, Tool};

static RULE: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:[A-Z]{1,4}\d{3,4}|invalid-syntax)(?: \[\*\])?:? \S.*$"));
static ARROW: LazyLock<Regex> = LazyLock::new(|| regex(r"^ *--> (.+?):(\d+):\d+$"));
static SHORT: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^([^\s:][^:]*\.(?:pyi?|ipynb)):(\d+):\d+: ((?:[A-Z]{1,4}\d{3,4}|invalid-syntax)(?: \[\*\])?:? .+)$")
});
static FILE: LazyLock<Regex> = LazyLock::new(|| regex(r"^(\S[^:]*\.(?:pyi?|ipynb)):$"));
static ROW: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^ +(\d+):\d+ +((?:[A-Z]{1,4}\d{3,4}|invalid-syntax)(?: \[\*\])?:? .+)$"));

pub(super) fn read(lines: &[&str]) -> Vec<Item> {
    let mut items = Vec::new();
    let mut file = None;
    for (at, line) in lines.iter().enumerate() {
        if line.starts_with(' ') {
            items.extend(file.and_then(|file| row(file, line)));
            continue;
        }
        file = line
            .ends_with(':')
            .then(|| FILE.captures(line))
            .flatten()
            .and_then(|found| found.get(1))
            .map(|it| it.as_str());
        if let Some(found) = short(line) {
            items.push(item(&found[1], &found[2], [&found[3]]));
        } else if let Some(arrow) = arrow(lines, at) {
            let body = lines[at + 2..].iter().take_while(|line| !line.is_empty() && !RULE.is_match(line));
            let body = body.map(|line| line.trim_end()).filter(|line| line.trim() != "|");
            items.push(item(&arrow[1], &arrow[2], std::iter::once(*line).chain(body)));
        }
    }
    items
}

fn short(line: &str) -> Option<Captures<'_>> {
    if line.contains(".py") || line.contains(".ipynb") { SHORT.captures(line) } else { None }
}

/// The place below a rule and its message.
fn arrow<'a>(lines: &[&'a str], at: usize) -> Option<Captures<'a>> {
    let next = lines.get(at + 1).filter(|next| next.contains("--> "))?;
    ARROW.captures(next).filter(|_| RULE.is_match(lines[at]))
}

fn row(file: &str, line: &str) -> Option<Item> {
    let found = ROW.captures(line)?;
    Some(item(file, &found[1], [&found[2]]))
}

fn item<'a>(file: &str, line: &str, said: impl IntoIterator<Item = &'a str>) -> Item {
    let (file, line) = (place(file), number(line));
    Item { tool: Tool::Ruff, file, line, severity: Severity::Error, message: message(said), test: None }
}
