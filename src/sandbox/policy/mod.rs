//! Rules for the content of a tree that an agent made.
//!
//! Owns the rules (`names.rs`: names and paths, `links.rs`: symbolic links, `hidden.rs`: repositories in directories, here: counts, types,
//! protected paths) as pure functions over git's listings from a quarantine container. Must not run anything. Every refusal is a sentence
//! that names problem and path, with names escaped. Only *changes* of this checkpoint are judged, not what the base already contains.
//! Tests: `tests.rs` beside this file, and `tests/trees.rs` with real objects.

mod hidden;
mod links;
mod names;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use crate::git::listing::{Change, Entry, LINK, SUBMODULE};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

pub use hidden::{HIDDEN_REPOSITORY, hidden};
pub use links::{Steps, changed_links, escapes, resolved};
pub use names::{fold, shown, twins, wrong_name, wrong_names};

/// Paths that an agent may never change, because they configure the bot or run on other machines.
pub const PROTECTED: &[&str] = &[
    ".caisson.toml",
    ".caisson/**",
    "**/.gitattributes",
    "**/.gitmodules",
    "**/.lfsconfig",
    ".github/workflows/**",
    ".github/actions/**",
    ".gitea/**",
    ".forgejo/**",
    ".gitlab-ci.yml",
    ".gitlab/ci/**",
    ".woodpecker.yml",
    ".woodpecker.yaml",
    ".woodpecker/**",
    ".drone.yml",
    ".circleci/**",
    ".buildkite/**",
    ".travis.yml",
    ".cirrus.yml",
    ".builds/**",
    ".build.yml",
    ".ci/**",
    "appveyor.yml",
    ".appveyor.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "Jenkinsfile",
    "CODEOWNERS",
    ".github/CODEOWNERS",
    "docs/CODEOWNERS",
];

/// The most reasons that are listed; the rest is counted.
const REASONS: usize = 20;

/// Limits of sizes and counts; anything above is refused.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The most new objects in one checkpoint.
    pub objects: usize,
    /// The most bytes of one new object, unpacked.
    pub object_bytes: u64,
    /// The most bytes of all new objects, unpacked.
    pub sum_bytes: u64,
    /// The most changed paths.
    pub changes: usize,
    /// The most bytes of a path.
    pub path_bytes: usize,
    /// The most directories above a file.
    pub depth: usize,
    /// Processor time of each step in the quarantine container, in milliseconds (applied in whole seconds, rounded up).
    pub step_ms: u64,
    /// Memory that unpacking may use beyond what the base needs, in bytes.
    pub memory_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            objects: 20_000,
            object_bytes: 20 << 20,
            sum_bytes: 100 << 20,
            changes: 5_000,
            path_bytes: 1024,
            depth: 48,
            step_ms: 4_500,
            memory_bytes: 256 << 20,
        }
    }
}

/// A new object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// The object's id: 40 hexadecimal digits.
    pub id: String,
    /// Its type as git names it: `blob`, `tree`, or one that no tree can contain.
    pub kind: String,
    /// Its size unpacked, in bytes.
    pub bytes: u64,
}

/// All data that the rules need.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Differences from the parent's tree.
    pub changes: Vec<Change>,
    /// The whole new tree, directories included.
    pub entries: Vec<Entry>,
    /// Targets of the symbolic links of the tree, by path; empty where no link changed.
    pub links: HashMap<Vec<u8>, Vec<u8>>,
}

/// Judges counts and sizes of new objects, before anything walks the tree.
pub fn judge_objects(objects: &[Object], limits: &Limits) -> Vec<String> {
    let mut reasons = Vec::new();
    if objects.len() > limits.objects {
        let found = objects.len();
        reasons.push(format!("the checkpoint adds {found} objects; at most {} are taken", limits.objects));
    }
    if let Some(largest) = objects.iter().max_by_key(|o| o.bytes).filter(|o| o.bytes > limits.object_bytes) {
        let (found, most) = (megabytes(largest.bytes), megabytes(limits.object_bytes));
        reasons.push(format!("a {} of {found} MB is added; one may have at most {most} MB", kind_word(&largest.kind)));
    }
    let sum = objects.iter().fold(0_u64, |sum, o| sum.saturating_add(o.bytes));
    if sum > limits.sum_bytes {
        let (found, most) = (megabytes(sum), megabytes(limits.sum_bytes));
        reasons.push(format!("the checkpoint adds {found} MB in all; at most {most} MB are taken"));
    }
    if let Some(other) = objects.iter().find(|o| o.kind != "blob" && o.kind != "tree") {
        reasons.push(format!("the tree refers to a {}, which no tree can hold", shown(other.kind.as_bytes())));
    }
    reasons
}

/// Whether a rule compares these changes with the rest of the tree: new names with existing ones, links with links, parts of a repository
/// with its other parts.
pub fn wants_whole_tree(changes: &[Change]) -> bool {
    let compared = |change: &Change| change.status == 'A' || hidden::may_be_part(&change.path);
    changes.iter().any(compared) || !changed_links(changes).is_empty()
}

/// Judges by all other rules; empty = accepted. Where [`wants_whole_tree`] is false, `entries` may be empty, and `links`
/// where [`changed_links`] gives none.
///
/// `protected`: patterns in addition to [`PROTECTED`]; a malformed one protects everything (fail closed).
pub fn judge(facts: &Facts, protected: &[String], limits: &Limits) -> Vec<String> {
    let mut reasons = Vec::new();
    if facts.changes.len() > limits.changes {
        reasons.push(format!("{} files are changed; at most {} are taken", facts.changes.len(), limits.changes));
        return reasons;
    }
    match Protected::new(protected) {
        Ok(guard) => reasons.extend(facts.changes.iter().filter_map(|c| guard.refuses(&c.path))),
        Err(pattern) => reasons.push(format!("the protected path {pattern:?} is no pattern, so nothing can be taken")),
    }
    reasons.extend(facts.changes.iter().filter(|c| !c.deleted()).filter_map(wrong_kind));
    reasons.extend(wrong_names(&facts.changes, &facts.entries, limits));
    let refused = |change: &Change| format!("{} {HIDDEN_REPOSITORY}; a person must change it", shown(&change.path));
    reasons.extend(hidden(&facts.changes, &facts.entries).into_iter().map(refused));
    let added: HashSet<&[u8]> = facts.changes.iter().filter(|c| c.status == 'A').map(|c| c.path.as_slice()).collect();
    reasons.extend(twins(facts.entries.iter().map(|e| e.path.as_slice()), &added));
    reasons.extend(escapes(&facts.links, &changed_links(&facts.changes)));
    shortened(reasons)
}

fn shortened(mut reasons: Vec<String>) -> Vec<String> {
    reasons.sort();
    reasons.dedup();
    if reasons.len() > REASONS {
        let more = reasons.len() - REASONS;
        reasons.truncate(REASONS);
        reasons.push(format!("and {more} more of the same sort"));
    }
    reasons
}

fn wrong_kind(change: &Change) -> Option<String> {
    let path = shown(&change.path);
    let steers = [".gitignore", ".gitattributes", ".mailmap"].iter().any(|name| fold(&change.path).ends_with(name));
    match change.new_mode.as_str() {
        LINK if steers => Some(format!("{path} is a link; git follows none of that name, so it only deceives")),
        "100644" | "100755" | LINK => None,
        SUBMODULE => Some(format!(
            "{path} is a git repository inside the repository (a submodule); remove it or its .git directory"
        )),
        mode => Some(format!("{path} has the mode {mode}; only plain files, executable files and links are taken")),
    }
}

/// Protected paths, matched regardless of case, because `.GITHUB/workflows` is the same directory on many systems.
pub struct Protected {
    defaults: GlobSet,
    own: GlobSet,
}

impl Protected {
    /// # Errors
    /// The first malformed pattern.
    pub fn new(own: &[String]) -> Result<Self, String> {
        let defaults: Vec<String> = PROTECTED.iter().map(|p| (*p).to_owned()).collect();
        Ok(Self { defaults: globs(&defaults)?, own: globs(own)? })
    }

    /// Why this path must not change; none if it may.
    pub fn refuses(&self, path: &[u8]) -> Option<String> {
        let folded = fold(path);
        let shown = shown(path);
        if self.defaults.is_match(&folded) {
            return Some(format!(
                "{shown} is protected: it steers the bot, git or other machines; a person must change it"
            ));
        }
        self.own.is_match(&folded).then(|| format!("{shown} is protected by this project; a person must change it"))
    }
}

fn globs(patterns: &[String]) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let glob = GlobBuilder::new(&fold(pattern.as_bytes())).literal_separator(true).case_insensitive(true).build();
        set.add(glob.map_err(|_| pattern.clone())?);
    }
    set.build().map_err(|_| patterns.join(", "))
}

fn megabytes(bytes: u64) -> String {
    let tenths = bytes.div_ceil(104_858);
    format!("{}.{}", tenths / 10, tenths % 10)
}

fn kind_word(kind: &str) -> &'static str {
    if kind == "tree" { "directory listing" } else { "file" }
}
