//! Paths by which the links of a tree lead to its files: a change of what a link leads to is a change at the link's own path.
//!
//! Owns which of those paths are looked up in the table, and how many. Pure. Tests: below and `tests/trees/fetch.rs`.

use std::collections::HashMap;

use super::{AtFetch, Row, rows};
use crate::sandbox::policy::{Steps, fold, resolved};

/// The most paths that are looked up for one file.
const MOST: usize = 400;
/// The longest path that a kernel opens, in bytes.
const LONGEST: usize = 4_096;
/// The most links that a kernel follows in one path.
const HOPS: usize = 40;

/// The links of a tree, by what they lead to.
pub struct Links {
    /// Paths of the links that lead to a path of the tree, which is folded; the root is the empty path.
    to: HashMap<String, Vec<String>>,
    /// Following them all takes too many steps.
    beyond: bool,
}

/// Where a file acts by itself although its own path does not say so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Through {
    /// The path that leads to it through links. Untrusted.
    pub path: String,
    /// What the file does there, in words that follow a path.
    pub words: &'static str,
}

/// What is said of a file to which more paths lead than are looked up.
const TOO_MANY: &str = "is reached through more links than are followed";

impl Links {
    /// `links`: the targets of all symbolic links of the tree, by path. One that leads out of the tree leads to none of its files.
    pub fn new(links: &HashMap<Vec<u8>, Vec<u8>>) -> Self {
        let folded_bytes = |path: &[u8]| fold(path).into_bytes();
        let folded: HashMap<Vec<u8>, Vec<u8>> =
            links.iter().map(|(path, target)| (folded_bytes(path), folded_bytes(target))).collect();
        let mut to: HashMap<String, Vec<String>> = HashMap::new();
        let (mut steps, mut folded_steps) = (Steps::default(), Steps::default());
        for (path, target) in links {
            // The second as a system resolves it that folds case.
            let exact = resolved(path, target, links, &mut steps);
            let alike = resolved(&folded_bytes(path), &folded_bytes(target), &folded, &mut folded_steps);
            let (Ok(exact), Ok(alike)) = (exact, alike) else { return Self { to: HashMap::new(), beyond: true } };
            for place in [exact, alike].into_iter().flatten() {
                to.entry(fold(&place)).or_default().push(String::from_utf8_lossy(path).into_owned());
            }
        }
        for links in to.values_mut() {
            links.sort();
            links.dedup();
        }
        Self { to, beyond: false }
    }

    /// Where a file is brought into a clone only with consent because of a path through links, and not because of its own; the path with the
    /// fewest links.
    pub fn asks(&self, path: &[u8]) -> Option<Through> {
        if self.beyond {
            let path = String::from_utf8_lossy(path).into_owned();
            return asked(&path).is_none().then_some(Through { path, words: TOO_MANY });
        }
        // Each path with the links that it goes through; none twice, so that links to their own folders come to an end.
        let mut paths: Vec<(String, Vec<&str>)> = vec![(String::from_utf8_lossy(path).into_owned(), Vec::new())];
        let mut at = 0;
        while let Some((path, through)) = paths.get(at).cloned() {
            if let Some(row) = asked(&path) {
                return (at > 0).then_some(Through { path, words: row.words });
            }
            at += 1;
            self.further(&path, &through, &mut paths);
            if paths.len() > MOST {
                return Some(Through { path, words: TOO_MANY });
            }
        }
        None
    }

    /// Adds the paths that lead to this one through one link more.
    fn further<'a>(&'a self, path: &str, through: &[&'a str], paths: &mut Vec<(String, Vec<&'a str>)>) {
        if through.len() >= HOPS {
            return;
        }
        let ends = path.match_indices('/').map(|(at, _)| (at, at + 1));
        for (end, rest) in [(0, 0)].into_iter().chain(ends).chain([(path.len(), path.len())]) {
            let links = self.to.get(&fold(&path.as_bytes()[..end])).map(Vec::as_slice).unwrap_or_default();
            for link in links.iter().filter(|link| !through.contains(&link.as_str())) {
                let below = &path[rest..];
                let other = if below.is_empty() { link.clone() } else { format!("{link}/{below}") };
                if other.len() < LONGEST && paths.len() <= MOST {
                    paths.push((other, [through, &[link.as_str()]].concat()));
                }
            }
        }
    }
}

/// What is said in a review of a file that acts at this path, which [`Links::asks`] gave.
pub fn words_through(path: &str) -> String {
    asked(path).map_or_else(|| TOO_MANY.to_owned(), |row| format!("{}, through a link", row.words))
}

/// The row of this path that asks for consent.
fn asked(path: &str) -> Option<&'static Row> {
    rows(path.as_bytes()).into_iter().find(|row| row.at_fetch == AtFetch::Ask)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(all: &[(&str, &str)]) -> Links {
        let bytes = |text: &str| text.as_bytes().to_vec();
        Links::new(&all.iter().map(|(path, target)| (bytes(path), bytes(target))).collect())
    }

    fn through(all: &[(&str, &str)], path: &str) -> Option<String> {
        links(all).asks(path.as_bytes()).map(|it| it.path)
    }

    #[test]
    fn a_file_acts_where_a_link_leads_to_it() {
        for (all, path, acts) in [
            (&[(".husky", "scripts/hooks")][..], "scripts/hooks/pre-commit", ".husky/pre-commit"),
            (&[(".cursor/rules", "../docs/rules")], "docs/rules/a/b.mdc", ".cursor/rules/a/b.mdc"),
            (&[(".envrc", "env/dev.sh")], "env/dev.sh", ".envrc"),
            (&[("CLAUDE.md", "docs/style.md")], "docs/style.md", "CLAUDE.md"),
            (&[(".cargo", "tools/cargo")], "tools/cargo/config.toml", ".cargo/config.toml"),
            (&[("web/.vscode", "../editor")], "editor/tasks.json", "web/.vscode/tasks.json"),
            (&[(".claude", ".")], "src/main.rs", ".claude/src/main.rs"),
            (&[(".husky", "one"), ("one", "two"), ("two", "three/")], "three/x", ".husky/x"),
            (&[(".husky", "a/hooks"), ("a", "b")], "b/hooks/x", ".husky/x"),
            (&[(".husky", "deep/../hooks"), ("deep", "x/y")], "x/hooks/z", ".husky/z"),
            (&[(".husky", "hooks"), ("hooks/pre-commit", "../tools/check")], "tools/check", ".husky/pre-commit"),
            (&[(".envrc", "Env/dev.sh")], "env/DEV.sh", ".envrc"),
        ] {
            assert_eq!(through(all, path).as_deref(), Some(acts), "{path}");
        }
    }

    #[test]
    fn other_files_and_other_links_ask_for_nothing() {
        for (all, path) in [
            (&[(".husky", "scripts/hooks")][..], "scripts/hooks.md"),
            (&[(".husky", "scripts/hooks")], "scripts"),
            (&[(".cargo", "tools/cargo")], "tools/cargo/README.md"),
            (&[("docs/latest", "v2")], "docs/v2/index.md"),
            (&[(".husky", "../hooks")], "hooks/pre-commit"),
            (&[(".husky", "/hooks")], "hooks/pre-commit"),
            (&[(".husky", "a"), ("a", "b"), ("b", "a")], "a/x"),
            (&[("x", "."), ("y/z", "..")], "src/main.rs"),
            (&[], "src/main.rs"),
        ] {
            assert_eq!(through(all, path), None, "{path}");
        }
    }

    #[test]
    fn a_file_that_acts_by_its_own_path_is_left_to_the_table() {
        assert_eq!(through(&[("docs/style.md", "../AGENTS.md")], "AGENTS.md"), None);
    }

    #[test]
    fn links_without_number_come_to_an_end_and_are_asked_for() {
        let names: Vec<String> = (0..9).map(|n| format!("l{n}")).collect();
        let all: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), ".")).collect();
        assert_eq!(links(&all).asks(b"a").map(|it| it.words), Some(TOO_MANY));
    }
}
