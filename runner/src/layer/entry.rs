//! The entry of the workspace at a path.

use std::fs::Metadata;
use std::path::Path;

use super::metadata_at;

/// Metadata of the entry itself; none for a path that leads through a symbolic link.
///
/// # Errors
/// When it cannot be looked at.
pub fn entry_at(workspace: &Path, path: &Path) -> anyhow::Result<Option<Metadata>> {
    let mut at = workspace.to_owned();
    let mut found = None;
    for part in path {
        if found.as_ref().is_some_and(|above: &Metadata| !above.is_dir()) {
            return Ok(None);
        }
        at.push(part);
        found = metadata_at(&at)?;
        if found.is_none() {
            return Ok(None);
        }
    }
    Ok(found)
}

/// Whether it is a file or a symbolic link, which git stores.
pub fn is_content(found: &Metadata) -> bool {
    found.is_file() || found.is_symlink()
}
