//! The walk that listing, search and suggestions share: `.gitignore` is respected in a workspace, `.git` is left out, links are not followed.
//!
//! It runs on one of the few threads of the runner, so it must open nothing that could wait without end: the walk itself reads no rules,
//! `locate` does. Tests: `tests/tools.rs`, `tests/output.rs`.

use std::path::Path;

use ignore::WalkBuilder;
use locate::{RULES, Rules};

/// A walk from this directory or file; with `rules` it leaves out what files of rules match. None if it would open one of them, here or in a
/// directory above, that must not be opened. Once `is_over` says so it takes no further entry: rules of a repository can take long for each.
pub fn walker(start: &Path, rules: bool, is_over: impl Fn() -> bool + Send + Sync + 'static) -> Option<WalkBuilder> {
    let names: &[&str] = if rules { &RULES } else { &[] };
    let rules = Rules::of_walk(start, names, rules)?;
    let mut builder = WalkBuilder::new(start);
    builder.standard_filters(false).follow_links(false);
    builder.filter_entry(move |entry| !is_over() && rules.takes(entry));
    Some(builder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_that_is_over_takes_no_further_entry() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("a")).expect("a directory");
        std::fs::write(dir.path().join("a/b"), "").expect("a file");
        let taken = |over: bool| walker(dir.path(), true, move || over).expect("a walk").build().flatten().count();
        assert_eq!((taken(false), taken(true)), (3, 1));
    }
}
