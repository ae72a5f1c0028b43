//! Places in a JavaScript stack trace.

use std::sync::LazyLock;

use regex::Regex;

use super::lines::{number, place, regex};

static FRAME: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^\s*(?:at )?(?:.* \()?((?:file://)?[^\s()]+?):(\d+):\d+\)?(?: \{)?$"));

/// The place in a line of a stack trace, if it is in the workspace.
pub(super) fn frame(line: &str) -> Option<(String, u32)> {
    let found = FRAME.captures(line)?;
    place(&found[1]).zip(number(&found[2]))
}
