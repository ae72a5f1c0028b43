//! Where an upstream on GitHub is now, and what its entry should say of that.

use crate::config::process::Repository;
use crate::git::RemoteUrl;

/// Where an upstream on GitHub is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceNow {
    /// GitHub's number of the repository, above 0.
    pub id: u64,
    /// Its owner and name.
    pub name: String,
    /// The address that git reads it from.
    pub address: RemoteUrl,
    /// Whether it was renamed since its entry was written.
    pub renamed: bool,
}

impl SourceNow {
    /// The entry as it should be written, where it says something else of its upstream.
    pub fn entry(&self, entry: &Repository) -> Option<Repository> {
        let same = entry.upstream_id == self.id && !self.renamed;
        let upstream = if self.renamed { self.address.as_str().to_owned() } else { entry.upstream.clone() };
        (!same).then(|| Repository { upstream, upstream_id: self.id, ..entry.clone() })
    }
}
