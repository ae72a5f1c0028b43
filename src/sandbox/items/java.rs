//! Places in a Java stack trace.

use std::sync::LazyLock;

use regex::Regex;

use super::lines::{number, place, regex};

static FRAME: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^\s*at (?:[\w.@-]+/)?([\w.$<>]+)\((\w+\.(?:java|kt|scala|groovy)):(\d+)\)$"));

/// Whether a line belongs to a stack trace.
pub(super) fn is_frame(line: &str) -> bool {
    line.trim_start().starts_with("at ") && line.ends_with(')')
}

/// The innermost place in the package of the test class `class` or below it, because Java names files without their directory.
pub(super) fn innermost<'a>(lines: impl IntoIterator<Item = &'a str>, class: &str) -> Option<(String, u32)> {
    let package = class.rsplit_once('.').map_or(class, |(package, _)| package);
    let found =
        lines.into_iter().filter_map(|line| FRAME.captures(line)).find(|found| found[1].starts_with(package))?;
    place(&found[2]).zip(number(&found[3]))
}
