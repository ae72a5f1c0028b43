//! The walk that listing, search and suggestions share: `.gitignore` is respected in a workspace, `.git` is left out, links are not followed.
//!
//! It runs on one of the few threads of the runner, so it must open nothing that could wait without end. Tests: `tests/tools.rs`,
//! `tests/output.rs`.

use std::path::Path;

use ignore::WalkBuilder;
use locate::{RULES, has_odd_rules, may_enter};

/// A walk from this directory or file; with `rules` it leaves out what files of rules match. None if it would open one of them, here or in a
/// directory above, that must not be opened.
pub fn walker(start: &Path, rules: bool) -> Option<WalkBuilder> {
    if rules && start.ancestors().any(|at| has_odd_rules(at, &RULES)) {
        return None;
    }
    let names: &'static [&'static str] = if rules { &RULES } else { &[] };
    let mut builder = WalkBuilder::new(start);
    builder.hidden(false).require_git(false).git_global(false).git_exclude(false).follow_links(false);
    // Only with all of them off does the walk open nothing in the directories above.
    builder.parents(rules).ignore(rules).git_ignore(rules);
    builder.filter_entry(move |entry| may_enter(entry, names));
    Some(builder)
}
