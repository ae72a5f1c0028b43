//! Reads mypy: `shop/price.py:10: error: …  [return-value]`, with or without columns, and with `--pretty` wrapped and with source.

use std::sync::LazyLock;

use regex::Regex;

use super::lines::{message, number, place, regex};
use super::{Item, Severity, Tool};

static HEAD: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^([^\s:][^:]*\.pyi?):(\d+):(?:\d+:){0,3} (error|warning|note): (.+)$"));
/// The marker below the source, in `--pretty`.
static MARK: LazyLock<Regex> = LazyLock::new(|| regex(r"^ +[\^~]+$"));

/// The most lines of a wrapped message and its source.
const WRAPPED: usize = 8;

pub(super) fn read(lines: &[&str]) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if !line.contains(".py") || ![" error: ", " warning: ", " note: "].iter().any(|word| line.contains(word)) {
            continue;
        }
        let Some(found) = HEAD.captures(line) else { continue };
        let (file, number) = (place(&found[1]), number(&found[2]));
        let severity = match &found[3] {
            "note" => Severity::Note,
            "warning" => Severity::Warning,
            _error => Severity::Error,
        };
        let said = std::iter::once(&found[4]).chain(wrapped(&lines[at + 1..]).iter().copied());
        // A note belongs to the error before it at the same place.
        if let Some(last) =
            items.last_mut().filter(|last| severity == Severity::Note && last.file == file && last.line == number)
        {
            last.message = message(last.message.clone().lines().chain(said));
            continue;
        }
        items.push(Item { tool: Tool::Mypy, file, line: number, severity, message: message(said), test: None });
    }
    items
}

/// Lines below a head that belong to it; only `--pretty` has some, and ends them with a marker.
fn wrapped<'a, 'b>(rest: &'b [&'a str]) -> &'b [&'a str] {
    let rest = &rest[..rest.len().min(WRAPPED)];
    let end = rest.iter().position(|line| HEAD.is_match(line) || line.is_empty()).unwrap_or(rest.len());
    rest[..end].iter().position(|line| MARK.is_match(line)).map_or(&[], |mark| &rest[..=mark])
}
