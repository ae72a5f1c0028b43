//! Reads tsc: `src/a.ts(9,3): error TS2322: …` with indented lines below, or the same with colours, colons and source.

use std::sync::LazyLock;

use regex::Regex;

use super::lines::{message, number, place, regex};
use super::{Item, Severity, Tool};

static HEAD: LazyLock<Regex> = LazyLock::new(|| regex(r"^(\S.*?)(?:\((\d+),\d+\):|:(\d+):\d+ -) (error TS\d+: .*)$"));
/// An error about the project's settings.
static BARE: LazyLock<Regex> = LazyLock::new(|| regex(r"^error TS\d+: .*$"));

pub(super) fn read(lines: &[&str]) -> Vec<Item> {
    (0..lines.len()).filter_map(|at| item(lines, at)).collect()
}

fn item(lines: &[&str], at: usize) -> Option<Item> {
    if !lines[at].contains("error TS") {
        return None;
    }
    let (place, said) = match HEAD.captures(lines[at]) {
        Some(found) => {
            let line = found.get(2).or(found.get(3)).and_then(|line| number(line.as_str()));
            ((place(&found[1]), line), found.get(4)?.as_str())
        }
        None if BARE.is_match(lines[at]) => ((None, None), lines[at]),
        None => return None,
    };
    let deeper = lines[at + 1..].iter().take_while(|line| line.starts_with("  ")).copied();
    let ((file, line), message) = (place, message(std::iter::once(said).chain(deeper)));
    Some(Item { tool: Tool::Tsc, file, line, severity: Severity::Error, message, test: None })
}
