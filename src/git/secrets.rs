//! Finds possible secrets in a repository's history.
//!
//! Owns the walk over what each commit added; `text` has the patterns. Reports only the place, never the matching text. For the person who
//! adds a repository, because agents can read its history. Must not decide anything. Tests: below and `tests/setup.rs`.

use std::collections::HashSet;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use domain::Commit;
use git2::{Oid, Repository, Sort};
use regex::bytes::RegexSet;

use super::changes::list;
use super::{GitError, Repos};
use crate::text::CREDENTIALS;

/// Names of files that usually contain secrets.
const NAMES: &[&str] =
    &[".env", ".netrc", ".pgpass", ".git-credentials", "id_rsa", "id_ed25519", "id_ecdsa", "credentials.json"];

/// The most bytes of a file that is searched, because tokens are not left in larger ones by mistake.
const FILE_BYTES: u64 = 1 << 20;
const MOST_BYTES: u64 = 512 << 20;
const MOST_TIME: Duration = Duration::from_secs(30);
const MOST_FOUND: usize = 20;

static SET: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new(CREDENTIALS.iter().map(|(_, pattern)| pattern))
        .expect("the patterns are compiled in, and a test tries each")
});

/// A possible secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leak {
    /// Its kind, with an article: `a private key`.
    pub what: &'static str,
    /// Path of the file. Untrusted: escape before showing.
    pub path: String,
    /// The commit that added it.
    pub commit: Commit,
}

/// Result of a search through the history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leaks {
    /// Findings of the newest commits first; at most 20.
    pub found: Vec<Leak>,
    /// Number of commits searched.
    pub commits: usize,
    /// Whether the search was complete; false when it reached a limit of time, size or findings, or a commit changes too many files.
    pub whole: bool,
}

impl Repos {
    /// Searches everything that `commit` and its ancestors added: at most 30 s, 512 MiB and 20 findings.
    ///
    /// # Errors
    /// When the repository cannot be read.
    pub async fn leaks(&self, key: &str, commit: &Commit) -> Result<Leaks, GitError> {
        let tip = super::read::oid(commit)?;
        self.read(key, move |repo| walk(repo, tip)).await
    }
}

fn walk(repo: &Repository, tip: Oid) -> Result<Leaks, GitError> {
    let (mut leaks, mut seen, mut bytes) = (Leaks { whole: true, ..Leaks::default() }, HashSet::new(), 0);
    let began = Instant::now();
    let is_over = |found: usize, bytes: u64| found >= MOST_FOUND || bytes > MOST_BYTES || began.elapsed() > MOST_TIME;
    let mut history = repo.revwalk()?;
    history.set_sorting(Sort::TOPOLOGICAL)?;
    history.push(tip)?;
    for id in history {
        if is_over(leaks.found.len(), bytes) {
            leaks.whole = false;
            break;
        }
        let commit = repo.find_commit(id?)?;
        let before = commit.parents().next().map(|parent| parent.tree_id());
        // A few trees that name each other make more paths than fit into memory.
        let changes = match list(repo, before, commit.tree_id()) {
            Err(GitError::TooLarge { .. }) => {
                leaks.whole = false;
                continue;
            }
            listed => listed?,
        };
        for change in changes.iter().filter(|change| !change.deleted()) {
            let file = Oid::from_str(&change.id)?;
            if !seen.insert(file) {
                continue;
            }
            if is_over(leaks.found.len(), bytes) {
                leaks.whole = false;
                break;
            }
            let path = String::from_utf8_lossy(&change.path).into_owned();
            let Some(what) = suspicion(repo, file, &path, &mut bytes) else { continue };
            leaks.found.push(Leak { what, path, commit: super::read::commit(commit.id())? });
        }
        leaks.commits += 1;
    }
    leaks.found.truncate(MOST_FOUND);
    Ok(leaks)
}

fn suspicion(repo: &Repository, id: Oid, path: &str, bytes: &mut u64) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or_default();
    if NAMES.contains(&name) {
        return Some("a file that is made for secrets");
    }
    let odb = repo.odb().ok()?;
    // A submodule's commit is not in this repository.
    let (size, _) = odb.read_header(id).ok()?;
    if size as u64 > FILE_BYTES {
        return None;
    }
    *bytes += size as u64;
    let object = odb.read(id).ok()?;
    SET.matches(object.data()).iter().next().map(|at| CREDENTIALS[at].0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Option<&'static str> {
        SET.matches(text.as_bytes()).iter().next().map(|at| CREDENTIALS[at].0)
    }

    #[test]
    fn a_commit_with_a_bomb_of_trees_is_passed_over_and_the_others_are_searched() {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repository::init_bare(dir.path()).unwrap();
        let folder = |entries: &[(String, Oid, i32)]| {
            let mut tree = repo.treebuilder(None).unwrap();
            for (name, id, mode) in entries {
                tree.insert(name.as_str(), *id, *mode).unwrap();
            }
            tree.write().unwrap()
        };
        let who = git2::Signature::new("a", "a@b", &git2::Time::new(1, 0)).unwrap();
        let commit = |tree: Oid, parents: &[Oid]| {
            let parents: Vec<_> = parents.iter().map(|id| repo.find_commit(*id).unwrap()).collect();
            let tree = repo.find_tree(tree).unwrap();
            repo.commit(None, &who, &who, "x", &tree, &parents.iter().collect::<Vec<_>>()).unwrap()
        };
        let mut bomb = repo.blob(b"x").unwrap();
        for level in 0..6 {
            let mode = if level == 0 { 0o100_644 } else { 0o040_000 };
            bomb = folder(&(0..10).map(|number| (number.to_string(), bomb, mode)).collect::<Vec<_>>());
        }
        let secret = folder(&[(".netrc".to_owned(), repo.blob(b"y").unwrap(), 0o100_644)]);
        let first = commit(secret, &[]);
        let leaks = walk(&repo, commit(bomb, &[first])).unwrap();
        assert_eq!((leaks.found.len(), leaks.commits, leaks.whole), (1, 1, false));
        assert!(walk(&repo, first).unwrap().whole);
    }

    #[test]
    fn each_pattern_knows_its_kind_and_ordinary_text_is_none() {
        let long = "a1B2".repeat(16);
        for (text, what) in [
            (format!("-----BEGIN OPENSSH {} KEY-----", "PRIVATE"), "a private key"),
            (format!("key = AK{}", "IAIOSFODNN7EXAMPLE"), "an AWS access key"),
            (format!("gh{}_{long}", "p"), "a GitHub token"),
            (format!("glp{}-{long}", "at"), "a GitLab token"),
            (format!("xo{}-{long}", "xb"), "a Slack token"),
            (format!("AI{}{}", "za", &long[..35]), "a Google API key"),
            (format!("sk{}{long}", "_live_"), "a Stripe key"),
            (format!("sk-{}-{long}", "ant"), "a model vendor's key"),
            (format!("np{}_{}", "m", &long[..36]), "an npm token"),
            (format!("postgres://shop:{}@db/shop", "correcthorse"), "a password in an address"),
        ] {
            assert_eq!(named(&text), Some(what), "{text}");
        }
        for text in
            ["https://user:$TOKEN@host", "https://example.org/a:b@c", "-----BEGIN PUBLIC KEY-----", "AKIA is a prefix"]
        {
            assert_eq!(named(text), None, "{text}");
        }
    }
}
