//! Reads javac: `src/A.java:7: error: cannot find symbol` with source, marker and details below.

use std::sync::LazyLock;

use regex::Regex;

use super::lines::{message, number, place, regex};
use super::{Item, Severity, Tool};

static HEAD: LazyLock<Regex> = LazyLock::new(|| regex(r"^([^\s:][^:]*\.java):(\d+): (error|warning): (.+)$"));

/// The most lines below a head that belong to it.
const BODY: usize = 12;

pub(super) fn read(lines: &[&str]) -> Vec<Item> {
    let heads = (0..lines.len()).filter(|&at| lines[at].contains(".java:"));
    heads.filter_map(|at| item(lines[at], &lines[at + 1..])).collect()
}

fn item(head: &str, rest: &[&str]) -> Option<Item> {
    let found = HEAD.captures(head)?;
    let severity = if &found[3] == "error" { Severity::Error } else { Severity::Warning };
    let marked = rest.get(1).is_some_and(|line| line.trim() == "^");
    let source = if marked { &rest[..1] } else { &[] };
    let deeper = rest.iter().skip(if marked { 2 } else { 0 }).take(BODY).take_while(|line| line.starts_with("  "));
    let said = std::iter::once(&found[4]).chain(source.iter().copied()).chain(deeper.copied());
    let (file, line) = (place(&found[1]), number(&found[2]));
    Some(Item { tool: Tool::Javac, file, line, severity, message: message(said), test: None })
}
