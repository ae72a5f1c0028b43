//! The walk that listing, search and suggestions share: `.gitignore` is respected in a workspace, `.git` is left out, links are not followed.
//!
//! It runs on one of the few threads of the runner, so it must open nothing that could wait without end: the walk itself reads no rules,
//! `locate` does. Tests: `tests/tools.rs`, `tests/output.rs`.

use std::path::Path;

use ignore::WalkBuilder;
use locate::{RULES, Rules};

/// A walk from this directory or file; with `rules` it leaves out what files of rules match. None if it would open one of them, here or in a
/// directory above, that must not be opened.
pub fn walker(start: &Path, rules: bool) -> Option<WalkBuilder> {
    let names: &[&str] = if rules { &RULES } else { &[] };
    let rules = Rules::of_walk(start, names, rules)?;
    let mut builder = WalkBuilder::new(start);
    builder.standard_filters(false).follow_links(false);
    builder.filter_entry(move |entry| rules.takes(entry));
    Some(builder)
}
