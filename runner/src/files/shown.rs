//! Formats paths for people.

use std::path::Path;

/// A path below the workspace, for people.
pub fn show(relative: &Path) -> String {
    if relative.as_os_str().is_empty() { ".".to_owned() } else { relative.display().to_string() }
}
