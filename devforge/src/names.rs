//! Names of repositories as people write them.

use crate::world::{Result, refuse};

/// Owner and name of `owner/name`; 404 for anything else.
pub(crate) fn split(repo: &str) -> Result<(&str, &str)> {
    repo.split_once('/').map_or_else(|| refuse(404, format!("{repo} is not owner/name")), Ok)
}
