//! Reads Python tracebacks, as unittest prints them and pytest may.

use std::sync::LazyLock;

use regex::Regex;

use super::lines::{message, number, place, regex};

static FRAME: LazyLock<Regex> = LazyLock::new(|| regex(r#"^\s*File "([^"]+)", line (\d+)"#));

/// Place and message of an exception.
pub(super) struct Broken {
    pub(super) at: Option<(String, u32)>,
    pub(super) message: String,
}

/// The place in a line of a traceback, if it is in the workspace.
pub(super) fn frame(line: &str) -> Option<(String, u32)> {
    let found = FRAME.captures(line)?;
    Some((place(&found[1])?, number(&found[2])?))
}

/// The last traceback of these lines, which for chained exceptions is that of the uncaught one.
pub(super) fn traceback(lines: &[&str]) -> Option<Broken> {
    let last = lines.iter().rposition(|line| FRAME.is_match(line))?;
    let begins = lines[..=last].iter().rposition(|line| line.starts_with("Traceback (most")).unwrap_or(0);
    let at = lines[begins..=last].iter().rev().find_map(|line| frame(line));
    let words = lines[last + 1..].iter().position(|line| !line.is_empty() && !line.starts_with(' '));
    let words = words.map(|from| &lines[last + 1 + from..]).unwrap_or_default();
    Some(Broken { at, message: message(words.iter().copied()) })
}
