//! By-products of known tools in a tree, and which of them a repository keeps.
//!
//! Owns the list (`by_products.ignore`) and which of its lines apply to a repository. The sandbox's git applies them with lower priority
//! than the repository's own `.gitignore` (`take.rs`). Tests: below, and `tests/trees/by_products.rs`.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use domain::Commit;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::sandbox::Result;
use crate::sandbox::core::Core;

const LIST: &str = include_str!("by_products.ignore");
/// The most bytes of a base's file names that are compared with the list.
const NAMES: u64 = 64 << 20;

/// The lines that apply, for the newest base asked about in each repository.
#[derive(Default)]
struct Lines(Mutex<HashMap<String, (Commit, Arc<str>)>>);

/// The by-products that stay out of a repository's commits.
pub(in crate::sandbox) struct ByProducts {
    core: Arc<Core>,
    lines: Lines,
}

impl ByProducts {
    pub fn new(core: Arc<Core>) -> Self {
        Self { core, lines: Lines::default() }
    }

    /// The lines that apply to this base.
    pub async fn of(&self, repo_key: &str, base: &Commit) -> Result<Arc<str>> {
        let known = |lines: &Lines| lines.0.lock().unwrap_or_else(PoisonError::into_inner).get(repo_key).cloned();
        if let Some((_, lines)) = known(&self.lines).filter(|(of, _)| of == base) {
            return Ok(lines);
        }
        let tracked = self.core.repos.files(repo_key, base, NAMES).await?;
        let lines: Arc<str> = without_tracked(&tracked).into();
        let entry = (base.clone(), Arc::clone(&lines));
        self.lines.0.lock().unwrap_or_else(PoisonError::into_inner).insert(repo_key.to_owned(), entry);
        Ok(lines)
    }
}

/// The list without the lines that match something of `tracked`.
fn without_tracked(tracked: &[String]) -> String {
    let mut lines: Vec<&str> = LIST.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    loop {
        let matcher = matcher(&lines);
        let matched: HashSet<String> = tracked.iter().filter_map(|path| matched(&matcher, path)).collect();
        if matched.is_empty() {
            return lines.join("\n") + "\n";
        }
        // A removed line may have hidden another one that matches as well.
        lines.retain(|line| !matched.contains(*line));
    }
}

/// The list is our own and tested, so a malformed line is skipped.
fn matcher(lines: &[&str]) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    for line in lines {
        drop(builder.add_line(None, line));
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// The line that matches the file or a directory above it.
fn matched(matcher: &Gitignore, path: &str) -> Option<String> {
    match matcher.matched_path_or_any_parents(Path::new(path), false) {
        Match::Ignore(line) => Some(line.original().to_owned()),
        Match::None | Match::Whitelist(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Vec<&'static str> {
        LIST.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
    }

    #[test]
    fn by_products_are_known_and_sources_are_not() {
        let matcher = matcher(&lines());
        assert_eq!(matcher.num_ignores(), lines().len() as u64, "each line is a pattern");
        for path in [
            "__pycache__/a.cpython-311.pyc",
            "src/pkg/__pycache__/b.pyc",
            "target/debug/app",
            "x/target/release/deps/x.d",
            "crates/x/target/release/deps/x.d",
            "node_modules/left-pad/index.js",
            "web/node_modules/a",
            ".venv/bin/python",
            "coverage/index.html",
            ".coverage",
            "src/.main.rs.swp",
            "notes.txt~",
            "#notes.txt#",
            "a.o",
            "demo.egg-info/PKG-INFO",
        ] {
            assert!(matched(&matcher, path).is_some(), "{path}");
        }
        for path in [
            "src/target/mod.rs",
            "src/coverage/report.rs",
            "build/tool.sh",
            "dist/app.js",
            "lib/vendor.a",
            "bin/run",
            "env/a.py",
            "out.txt",
            ".github/workflows/ci.yml",
            ".idea/x.xml",
            "swap.rs",
            "src/venv/mod.rs",
        ] {
            assert_eq!(matched(&matcher, path), None, "{path}");
        }
    }

    #[test]
    fn what_the_repository_tracks_is_no_by_product_there() {
        let tracked = ["web/node_modules/vendored/index.js", "t/__pycache__/a.pyc", "README.md"].map(str::to_owned);
        let left = without_tracked(&tracked);
        let gone: Vec<&str> = lines().into_iter().filter(|line| !left.lines().any(|kept| kept == *line)).collect();
        assert_eq!(gone, ["__pycache__/", "*.py[cod]", "node_modules/"], "also the line behind another");
        assert_eq!(without_tracked(&[]).lines().count(), lines().len());
    }
}
