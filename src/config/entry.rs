//! A repository's entry in the store: one JSON document with a version.
//!
//! Owns the document's format and restrictions: no path of this machine, no address of a hook, no file of a token. A document with anything
//! else is refused as a whole. Must not know where it is stored, or how its hook's secrets are sealed. Tests: `entry_tests.rs`.

use super::check;
use super::process::Repository;
use serde::{Deserialize, Serialize};

/// The newest version, which has `upstream_id`. An older one is read with defaults; a newer one is refused, because it may contain something unknown.
const VERSION: u32 = 3;
/// The version that has `branches`.
const WITH_BRANCHES: u32 = 2;
/// Version that is written where nothing of a newer one stands in it, so that earlier hosts read it.
const FIRST: u32 = 1;
/// The most bytes of a document that is read.
const LONGEST: usize = 256 << 10;

/// All of an entry but its key and its hook's secrets.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    owner: String,
    name: String,
    id: i64,
    default_branch: String,
    #[serde(default)]
    upstream: String,
    /// Left out where it is not known.
    #[serde(default, skip_serializing_if = "is_unknown")]
    upstream_id: u64,
    /// Left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    branches: Vec<String>,
    #[serde(default)]
    copied_from: String,
    #[serde(default)]
    accepted: String,
    #[serde(default)]
    accepted_foreign: Vec<String>,
}

fn is_unknown(id: &u64) -> bool {
    *id == 0
}

/// Read first, to check the version.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

impl Repository {
    /// The entry as a document of the store, without tables and secrets.
    ///
    /// # Errors
    /// Why hosts would refuse it, for a person.
    pub fn document(&self) -> Result<String, String> {
        let (upstream, copied_from) = match self.address() {
            Some(address) => (address.to_owned(), String::new()),
            None => (String::new(), self.origin().to_owned()),
        };
        let document = Document {
            version: match (self.upstream_id, self.branches.is_empty()) {
                (0, true) => FIRST,
                (0, false) => WITH_BRANCHES,
                (1.., _) => VERSION,
            },
            owner: self.owner.clone(),
            name: self.name.clone(),
            id: self.id,
            default_branch: self.default_branch.clone(),
            upstream,
            upstream_id: self.upstream_id,
            branches: self.branches.clone(),
            copied_from,
            accepted: self.accepted.clone(),
            accepted_foreign: self.accepted_foreign.clone(),
        };
        let text = serde_json::to_string(&document).map_err(|error| error.to_string())?;
        Self::from_document(&self.key, &text).map(|_| text)
    }

    /// The entry of this key in a document of the store.
    ///
    /// # Errors
    /// Why it is refused, for a person.
    pub fn from_document(key: &str, text: &str) -> Result<Repository, String> {
        if text.len() > LONGEST {
            return Err(format!("it is longer than {} KiB", LONGEST >> 10));
        }
        let read = |error: serde_json::Error| format!("it cannot be read: {error}");
        let Version { version } = serde_json::from_str(text).map_err(read)?;
        if version > VERSION {
            return Err(format!(
                "it was written by a newer version of caisson (document {version}, known is {VERSION})"
            ));
        }
        let document: Document = serde_json::from_str(text).map_err(read)?;
        let entry = Repository {
            key: key.to_owned(),
            owner: document.owner,
            name: document.name,
            id: document.id,
            default_branch: document.default_branch,
            upstream: document.upstream,
            upstream_id: document.upstream_id,
            branches: document.branches,
            copied_from: document.copied_from,
            accepted: document.accepted,
            accepted_foreign: document.accepted_foreign,
            from_store: true,
            ..Repository::default()
        };
        let problems: Vec<String> =
            check::stored(&entry).into_iter().map(|it| format!("{}: {}", it.key, it.what)).collect();
        if problems.is_empty() { Ok(entry) } else { Err(problems.join("; ")) }
    }

    /// Where it was copied from, only shown to people.
    pub fn origin(&self) -> &str {
        if self.upstream.is_empty() { &self.copied_from } else { &self.upstream }
    }

    /// The address it was copied from; none where that is a path of a host, or it was not copied.
    pub fn address(&self) -> Option<&str> {
        Some(self.upstream.as_str()).filter(|upstream| check::is_remote(upstream))
    }

    /// Names of the fields that differ from another entry of the same key, without secrets.
    pub fn differs_from(&self, other: &Repository) -> Vec<&'static str> {
        [
            ("owner", self.owner != other.owner),
            ("name", self.name != other.name),
            ("id", self.id != other.id),
            ("default_branch", self.default_branch != other.default_branch),
            ("upstream", self.origin() != other.origin()),
            ("upstream_id", other_number(self.upstream_id, other.upstream_id)),
            ("branches", self.branches != other.branches),
            ("accepted", self.accepted != other.accepted),
            ("accepted_foreign", self.accepted_foreign != other.accepted_foreign),
        ]
        .into_iter()
        .filter_map(|(name, differs)| differs.then_some(name))
        .collect()
    }
}

/// Whether two known numbers differ; one that is not known says nothing.
fn other_number(one: u64, other: u64) -> bool {
    one != 0 && other != 0 && one != other
}
