//! What a checkpoint's review has to know about changed files beyond the lines that git counts: their modes, their tests on both sides,
//! whether a program wrote them, and where links of the tree make them act by themselves.
//!
//! Read from the bot's own repository, after the quarantine accepted the tree. A test that can't be counted is said to be so and never
//! passes for unchanged. Renames are not looked for: both paths are told. Tests: below and `tests/stories/risky.rs`.

use crate::git::listing::Change;
use crate::git::{GitError, Repos};
use crate::sandbox::{asserts, kept, risks};
use domain::{Commit, FileFacts, TestCounts};
use std::collections::HashMap;
use std::sync::Arc;

/// Largest file whose tests are counted, in bytes.
const LARGEST: u64 = 1 << 20;
/// The most changed files whose tests are counted, and the most new ones. Further changed ones are told as uncounted, whatever their path
/// is; a new file weakens nothing.
const MOST_COUNTED: usize = 500;
/// Largest file that is read for its first lines alone, in bytes, and the most such files.
const LARGEST_HEAD: u64 = 256 << 10;
const MOST_HEADS: usize = 300;

/// Paths at which links of the tree of `to` make changed files act, by the files' own. Looked up beside the runtime, because hundreds of paths may
/// lead to each.
///
/// # Errors
/// When a commit is missing.
pub(super) async fn through(
    repos: &Repos,
    key: &str,
    to: &Commit,
    changes: &Arc<Vec<Change>>,
) -> Result<Through, GitError> {
    let targets = repos.links(key, to).await?;
    if targets.is_empty() {
        return Ok(Through::new());
    }
    let changes = Arc::clone(changes);
    let found = tokio::task::spawn_blocking(move || {
        let links = risks::Links::new(&targets);
        let files = changes.iter().filter(|change| !change.of_directory());
        files.filter_map(|change| Some((named(change), links.asks(&change.path)?.path))).collect()
    });
    found.await.map_err(|error| GitError::Io(error.to_string()))
}

/// What [`through`] found.
pub(super) type Through = HashMap<String, String>;

fn named(change: &Change) -> String {
    String::from_utf8_lossy(&change.path).into_owned()
}

/// What is known about each of these changes between two commits; those about which nothing is are left out.
///
/// # Errors
/// When a commit is missing.
pub(super) async fn facts(
    repos: &Repos,
    key: &str,
    (from, to): (&Commit, &Commit),
    changes: &[Change],
    through: &Through,
) -> Result<Vec<FileFacts>, GitError> {
    let mut look = Look { repos, key, from, to, counted: 0, added: 0, heads: 0 };
    let mut found = Vec::new();
    let mut files: Vec<(String, &Change)> =
        changes.iter().filter(|change| !change.of_directory()).map(|change| (named(change), change)).collect();
    // What is a test by its path is counted first, so that other sources never use up the limit.
    files.sort_by_key(|(path, _)| !kept::is_test(path));
    for (path, change) in files {
        let modes = risks::of_modes(&change.old_mode, &change.new_mode)
            .map(|_| (change.old_mode.clone(), change.new_mode.clone()));
        let (tests, text) = look.tests(change, &path).await?;
        let generated = look.generated(change, &path, text).await?;
        let through = through.get(&path).cloned();
        if modes.is_some() || tests.is_some() || generated || through.is_some() {
            found.push(FileFacts { path, modes, tests, generated, through });
        }
    }
    Ok(found)
}

/// Files with tests of which less is left than before.
pub(super) fn weaker(facts: &[FileFacts]) -> impl Iterator<Item = &str> {
    facts.iter().filter(|file| file.tests.is_some_and(|tests| tests.weaker())).map(|file| file.path.as_str())
}

/// Two commits that are compared, and how much was read of them.
struct Look<'a> {
    repos: &'a Repos,
    key: &'a str,
    from: &'a Commit,
    to: &'a Commit,
    counted: usize,
    added: usize,
    heads: usize,
}

impl Look<'_> {
    /// The tests of a changed file; none if it is no test, and holds none beside what it tests. Then its new version, if that was read for it.
    async fn tests(&mut self, change: &Change, path: &str) -> Result<(Option<TestCounts>, Option<String>), GitError> {
        let by_path = kept::is_test(path);
        if !by_path && !asserts::is_known(path) {
            return Ok((None, None));
        }
        // A new file cannot weaken a test, so it is not counted and uses up no limit.
        let existed = change.status != 'A';
        // What is shown of a name that is not UTF-8 is no name by which the file could be read.
        if std::str::from_utf8(&change.path).is_err() {
            return Ok((existed.then_some(TestCounts::Uncounted), None));
        }
        let spent = if existed { &mut self.counted } else { &mut self.added };
        *spent += 1;
        if *spent > MOST_COUNTED {
            return Ok((existed.then_some(TestCounts::Uncounted), None));
        }
        let before = self.text(self.from, path, LARGEST).await?;
        let after = self.text(self.to, path, LARGEST).await?;
        let tests = match (&before, &after) {
            (Some(before), Some(after)) => {
                let (before, after) = (asserts::count(path, before), asserts::count(path, after));
                let holds = by_path || before.cases > 0 || after.cases > 0;
                holds.then_some(TestCounts::Counted { before, after })
            }
            _ => existed.then_some(TestCounts::Uncounted),
        };
        Ok((tests, after))
    }

    /// One version of a file, empty where there is no such file; none if it is larger than `most` bytes.
    async fn text(&self, commit: &Commit, path: &str, most: u64) -> Result<Option<String>, GitError> {
        match self.repos.show(self.key, commit, path, most).await {
            Ok(text) => Ok(Some(String::from_utf8_lossy(&text.unwrap_or_default()).into_owned())),
            Err(GitError::TooLarge { .. }) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// Whether the first lines of the new version, `text` if that was read already, say that a program wrote it.
    async fn generated(&mut self, change: &Change, path: &str, text: Option<String>) -> Result<bool, GitError> {
        if change.deleted() || text.is_none() && self.heads >= MOST_HEADS {
            return Ok(false);
        }
        let text = match text {
            Some(text) => Some(text),
            None => {
                self.heads += 1;
                self.text(self.to, path, LARGEST_HEAD).await?
            }
        };
        Ok(text.is_some_and(|text| risks::says_generated(&text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::Branch;
    use domain::TestCount;

    async fn two(repos: &Repos, before: &[(&str, &str, &str)], after: &[(&str, &str, &str)]) -> (Commit, Commit) {
        let file =
            |(mode, name, text): &(&str, &str, &str)| format!("M {mode} inline {name}\ndata {}\n{text}\n", text.len());
        let commit = |branch: &str, from: &str, files: &[(&str, &str, &str)]| {
            let files: String = files.iter().map(file).collect();
            let head = format!("commit refs/remotes/origin/{branch}\ncommitter a <a@b> 1 +0000\ndata 1\nx\n{from}");
            format!("{head}deleteall\n{files}\n")
        };
        let text = commit("main", "", before) + &commit("head", "from refs/remotes/origin/main\n", after);
        repos.fast_import("shop", text).await.expect("imported");
        let tip = async |name: &str| repos.resolve("shop", &Branch::parse(name).expect("one")).await.expect("there");
        (tip("main").await, tip("head").await)
    }

    fn counts((cases, assertions, skipped): (u32, u32, u32)) -> TestCount {
        TestCount { cases, assertions, skipped }
    }

    #[tokio::test]
    async fn a_file_that_a_link_makes_act_is_named_with_the_links_path() {
        let dir = tempfile::tempdir().expect("a directory");
        let repos = Repos::new(dir.path());
        let files = |text: &'static str| {
            [
                ("120000", ".husky", "scripts/hooks"),
                ("120000", "docs/notes", "../AGENTS.md"),
                ("100644", "scripts/hooks/pre-commit", text),
                ("100644", "AGENTS.md", text),
                ("100644", "src/a.py", text),
            ]
        };
        let (from, to) = two(&repos, &files("a\n"), &files("b\n")).await;
        let changes = Arc::new(repos.changes("shop", &from, &to).await.expect("listed"));
        let links = through(&repos, "shop", &to, &changes).await.expect("looked up");
        let found = facts(&repos, "shop", (&from, &to), &changes, &links).await.expect("compared");
        let through: Vec<_> = found.iter().map(|file| (file.path.as_str(), file.through.as_deref())).collect();
        assert_eq!(through, [("scripts/hooks/pre-commit", Some(".husky/pre-commit"))]);
    }

    #[tokio::test]
    async fn tests_are_counted_on_both_sides_and_a_rename_keeps_both() {
        let dir = tempfile::tempdir().expect("a directory");
        let repos = Repos::new(dir.path());
        let tests = "def test_a():\n    assert a\n    assert b\n";
        let plain = "100644";
        let large = format!("{}\nassert a\n", "#".repeat(usize::try_from(LARGEST).expect("small")));
        let before = [
            (plain, "tests/test_a.py", tests),
            (plain, "tests/test_b.py", tests),
            (plain, "tests/test_c.py", large.as_str()),
            (plain, "src/lib.rs", "fn a() {}\n#[test]\nfn b() { assert!(a); }\n"),
            (plain, "src/plain.rs", "fn a() { assert!(b); }\n"),
            (plain, "src/a.py", "assert a\n"),
            (plain, "src/large.rs", large.as_str()),
            (plain, "Shop.Tests/CartTests.cs", "[Fact]\nvoid A() { Assert.Equal(1, f()); }\n"),
            (plain, "run", "x\n"),
        ];
        let after = [
            (plain, "tests/test_a.py", "@pytest.mark.skip\ndef test_a():\n    assert a\n"),
            (plain, "tests/test_moved.py", tests),
            (plain, "src/lib.rs", "fn a() {}\n#[test]\n#[ignore]\nfn b() { assert!(a); }\n"),
            (plain, "src/plain.rs", "fn a() { }\n"),
            (plain, "src/a.py", "\n"),
            (plain, "src/large.rs", "\n"),
            (plain, "Shop.Tests/CartTests.cs", "[Fact]\nvoid A() { }\n"),
            (plain, "gen.go", "// Code generated by x. DO NOT EDIT.\npackage a\n"),
            ("100755", "run", "x\n"),
        ];
        let (from, to) = two(&repos, &before, &after).await;
        let changes = repos.changes("shop", &from, &to).await.expect("listed");
        let found = facts(&repos, "shop", (&from, &to), &changes, &Through::new()).await.expect("compared");
        let of = |path: &str| found.iter().find(|file| file.path == path).cloned();
        let tests = |path: &str| of(path).and_then(|file| file.tests);
        let counted = |before, after| Some(TestCounts::Counted { before: counts(before), after: counts(after) });
        assert_eq!(tests("tests/test_a.py"), counted((1, 2, 0), (1, 1, 1)));
        assert_eq!(tests("tests/test_b.py"), counted((1, 2, 0), (0, 0, 0)), "under its old name it is gone");
        assert_eq!(tests("tests/test_moved.py"), counted((0, 0, 0), (1, 2, 0)));
        assert_eq!(tests("tests/test_c.py"), Some(TestCounts::Uncounted), "never taken for unchanged");
        assert_eq!(tests("src/lib.rs"), counted((1, 1, 0), (1, 1, 1)));
        assert_eq!((of("src/plain.rs"), of("src/a.py")), (None, None), "no tests");
        assert!(of("gen.go").is_some_and(|file| file.generated));
        let modes = of("run").and_then(|file| file.modes);
        assert_eq!(modes, Some((plain.to_owned(), "100755".to_owned())));
        assert_eq!(tests("src/large.rs"), Some(TestCounts::Uncounted), "a source may hold tests too");
        assert_eq!(tests("Shop.Tests/CartTests.cs"), counted((1, 1, 0), (1, 0, 0)), "its path does not tell");
        let mut weaker: Vec<&str> = weaker(&found).collect();
        weaker.sort_unstable();
        let all = ["tests/test_a.py", "tests/test_b.py", "tests/test_c.py"];
        assert_eq!(weaker, [["Shop.Tests/CartTests.cs", "src/large.rs", "src/lib.rs"], all].concat());
    }
}
