//! Places in a stack, as Java prints it.

use std::sync::LazyLock;

use regex::Regex;

use super::lines::{number, place, regex};

static FRAME: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^\s*at (?:[\w.@-]+/)?([\w.$<>]+)\((\w+\.(?:java|kt|scala|groovy)):(\d+)\)$"));

/// Whether a line is one of a stack.
pub(super) fn is_frame(line: &str) -> bool {
    line.trim_start().starts_with("at ") && line.ends_with(')')
}

/// The innermost place of the code that a test of the class `class` is about: what lies in the class's package, or below it. Java names
/// files without their folder.
pub(super) fn innermost<'a>(lines: impl IntoIterator<Item = &'a str>, class: &str) -> Option<(String, u32)> {
    let package = class.rsplit_once('.').map_or(class, |(package, _)| package);
    let found =
        lines.into_iter().filter_map(|line| FRAME.captures(line)).find(|found| found[1].starts_with(package))?;
    place(&found[2]).zip(number(&found[3]))
}
