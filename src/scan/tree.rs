//! What the static rules find in the tree of a commit, or in the lines that one commit adds to another.
//!
//! Owns the limits of it and which findings are kept: the most serious first. Reads objects that lie here already and runs nothing of them.
//! Tests: below.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use domain::{Commit, RuleFinding, RuleScan};

use super::rules::{look, rules_of};
use crate::git::listing::Change;
use crate::git::{GitError, ReadLimits, Repos, WhichFiles, added_lines};

/// What is read at most.
const LIMITS: ReadLimits =
    ReadLimits { files: 20_000, file_bytes: 512 << 10, all_bytes: 512 << 20, time: Duration::from_secs(60) };
/// Findings that are kept; further ones are counted.
const KEPT: usize = 200;
/// Findings that are collected before the most serious are chosen: of one file, and of all.
const OF_A_FILE: usize = 200;
const OF_ALL: usize = 20_000;
/// Files of a pull request whose added lines are looked up: those with findings.
const COMPARED: usize = 200;
/// How long looking them up may take, all together.
const COMPARING: Duration = Duration::from_secs(60);
/// The longest difference of one file that is read, in bytes.
const ONE_FILE: u64 = 4 << 20;
/// What a file without text has near its beginning.
const BINARY: usize = 8_000;

#[derive(Debug, Default)]
struct Collected {
    findings: Vec<RuleFinding>,
    more: u64,
    long_lines: u64,
    cut: bool,
}

/// The files that a commit adds to another one, or changes in it.
#[derive(Debug, Default)]
struct ChangedFiles {
    paths: HashSet<String>,
    /// Those of `paths` that may have been moved and changed: new ones, where the commit deletes a file with the same rules.
    maybe_moved: HashSet<String>,
    /// How many more have names that are not UTF-8.
    unnamed: u64,
}

/// What the rules find in a commit, all of it or what lies at or below a path. With `from`, only what the commit adds to that one counts.
///
/// # Errors
/// When a commit is missing or the repository cannot be read.
pub async fn look_for_weaknesses(
    repos: &Repos,
    key: &str,
    commit: &Commit,
    below: Option<String>,
    from: Option<&Commit>,
) -> Result<RuleScan, GitError> {
    let files = match from {
        Some(from) => changed(repos, key, from, commit).await?,
        None => ChangedFiles::default(),
    };
    let which = WhichFiles { below: below.clone(), only: from.map(|_| files.paths), pick: None };
    let end = Instant::now() + LIMITS.time;
    let collect = move |all: &mut Collected, path: &str, bytes: &[u8]| collect(all, path, bytes, end);
    let read = repos.each_file(key, commit, which, LIMITS, collect).await?;
    let mut scan = RuleScan {
        findings: read.found.findings,
        more: read.found.more,
        files: read.files,
        passed_over: read.passed_over + files.unnamed,
        long_lines: read.found.long_lines,
        cut: read.cut || read.found.cut,
        below,
        added_only: from.is_some(),
    };
    // Also before comparing, which may end early.
    let order = |it: &RuleFinding| (it.severity, it.path.clone(), it.line);
    scan.findings.sort_by_cached_key(order);
    if let Some(from) = from {
        keep_added(repos, key, (from, commit), &files.maybe_moved, &mut scan, COMPARING).await?;
    }
    scan.more += scan.findings.len().saturating_sub(KEPT) as u64;
    scan.findings.truncate(KEPT);
    Ok(scan)
}

/// Takes a file up; false where it is no text.
fn collect(all: &mut Collected, path: &str, bytes: &[u8], end: Instant) -> bool {
    if bytes.iter().take(BINARY).any(|byte| *byte == 0) {
        return false;
    }
    let found = look(path, &String::from_utf8_lossy(bytes), OF_A_FILE, end);
    all.cut |= found.cut;
    all.long_lines += found.long_lines;
    let room = OF_ALL - all.findings.len();
    all.more += found.findings.len().saturating_sub(room) as u64;
    all.findings.extend(found.findings.into_iter().take(room));
    true
}

/// The files that a commit adds or changes. One that is only moved is not among them, unless other rules hold where it is now.
async fn changed(repos: &Repos, key: &str, from: &Commit, to: &Commit) -> Result<ChangedFiles, GitError> {
    let mut files = ChangedFiles::default();
    let changes = repos.changes(key, from, to).await?;
    let kind = |it: &Change| rules_of(&String::from_utf8_lossy(&it.path));
    let deleted = changes.iter().filter(|it| it.deleted());
    let deleted: HashSet<(String, Vec<bool>)> = deleted.map(|it| (it.old_id.clone(), kind(it))).collect();
    let moved = |it: &Change| it.status == 'A' && deleted.contains(&(it.id.clone(), kind(it)));
    let kinds: HashSet<&Vec<bool>> = deleted.iter().map(|(_, kind)| kind).collect();
    for change in changes.iter().filter(|it| !it.deleted() && !moved(it)) {
        let Ok(path) = String::from_utf8(change.path.clone()) else {
            files.unnamed += 1;
            continue;
        };
        if change.status == 'A' && kinds.contains(&kind(change)) {
            files.maybe_moved.insert(path.clone());
        }
        files.paths.insert(path);
    }
    Ok(files)
}

/// The files that were moved and to which the same rules apply as before, by their new path with the old one.
async fn moved(repos: &Repos, key: &str, (from, to): (&Commit, &Commit)) -> Result<HashMap<String, String>, GitError> {
    let mut moved = repos.moved(key, from, to).await?;
    moved.retain(|new, old| rules_of(new) == rules_of(old));
    Ok(moved)
}

/// Leaves the findings on lines that the second commit adds to the first, as far as there is time to compare. Of a file that was moved and
/// changed these are the lines that it did not have where it was; git looks for such files only where one of `maybe_moved` has a finding.
async fn keep_added(
    repos: &Repos,
    key: &str,
    (from, to): (&Commit, &Commit),
    maybe_moved: &HashSet<String>,
    scan: &mut RuleScan,
    time: Duration,
) -> Result<(), GitError> {
    let moved = match scan.findings.iter().any(|it| maybe_moved.contains(&it.path)) {
        true => moved(repos, key, (from, to)).await?,
        false => HashMap::new(),
    };
    let (end, mut added): (_, HashMap<String, HashSet<u64>>) = (tokio::time::Instant::now() + time, HashMap::new());
    for finding in &scan.findings {
        if added.contains_key(&finding.path) {
            continue;
        }
        if added.len() == COMPARED || tokio::time::Instant::now() >= end {
            scan.cut = true;
            break;
        }
        // Both sides are a stranger's, and each difference alone may take long.
        let compare = async {
            match moved.get(&finding.path) {
                Some(old) => {
                    let paths = (old.as_str(), finding.path.as_str());
                    repos.difference_of_moved(key, (from, to), paths, ONE_FILE).await
                }
                None => repos.difference(key, from, to, Some(&finding.path), ONE_FILE).await,
            }
        };
        let Ok(patch) = tokio::time::timeout_at(end, compare).await else {
            scan.cut = true;
            break;
        };
        let patch = patch?;
        // Where it is too long to be compared, nothing of it counts, and that is said.
        scan.cut |= patch.is_none();
        added.insert(finding.path.clone(), patch.as_deref().map(added_lines).unwrap_or_default());
    }
    scan.findings.retain(|it| added.get(&it.path).is_some_and(|lines| lines.contains(&it.line)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::Branch;
    use domain::RuleSeverity;

    async fn commits(files: &[(&str, &str)], more: &[(&str, &str)]) -> (Repos, Commit, Commit, tempfile::TempDir) {
        let dir = tempfile::tempdir().expect("a folder");
        let repos = Repos::new(dir.path());
        // Without a text it is deleted.
        let file = |(name, text): &(&str, &str)| match text.is_empty() {
            true => format!("D {name}\n"),
            false => format!("M 100644 inline {name}\ndata {}\n{text}\n", text.len()),
        };
        let commit = |branch: &str, from: &str, files: &[(&str, &str)]| {
            let all: String = files.iter().map(file).collect();
            format!("commit refs/remotes/origin/{branch}\ncommitter a <a@b> 1 +0000\ndata 1\nx\n{from}{all}")
        };
        let both = commit("main", "", files) + &commit("head", "from refs/remotes/origin/main\n", more);
        repos.fast_import("shop", both).await.expect("imported");
        let at = |name: &str| Branch::parse(name).expect("a branch");
        let main = repos.resolve("shop", &at("main")).await.expect("a commit");
        let head = repos.resolve("shop", &at("head")).await.expect("a commit");
        (repos, main, head, dir)
    }

    fn places(scan: &RuleScan) -> Vec<(&str, &str, u64)> {
        scan.findings.iter().map(|it| (it.rule.as_str(), it.path.as_str(), it.line)).collect()
    }

    #[tokio::test]
    async fn a_tree_is_looked_through_and_the_most_serious_comes_first() {
        let files = [
            ("a.py", "open(\"/tmp/x\", \"w\")\nos.system(word)\n"),
            ("lib/b.py", "eval(word)\n"),
            ("lib/c.bin", "\0eval(word)\n"),
        ];
        let (repos, main, _, _dir) = commits(&files, &[]).await;
        let scan = look_for_weaknesses(&repos, "shop", &main, None, None).await.expect("looked through");
        assert_eq!(
            places(&scan),
            [("python-eval", "lib/b.py", 1), ("python-os-system", "a.py", 2), ("python-temporary-name", "a.py", 1)]
        );
        assert_eq!((scan.files, scan.passed_over, scan.cut, scan.added_only), (2, 1, false, false));
        assert_eq!(scan.findings[0].severity, RuleSeverity::High);
        let below = look_for_weaknesses(&repos, "shop", &main, Some("lib".into()), None).await.expect("looked through");
        assert_eq!((places(&below), below.below.as_deref()), (vec![("python-eval", "lib/b.py", 1)], Some("lib")));
    }

    #[tokio::test]
    async fn of_a_change_only_added_lines_count() {
        let old = [("a.py", "eval(word)\nx = 1\n"), ("b.py", "eval(word)\n")];
        let new = [("a.py", "eval(word)\nx = 1\neval(other)\n"), ("c.py", "y = 1\nos.system(y)\n")];
        let (repos, main, head, _dir) = commits(&old, &new).await;
        let scan = look_for_weaknesses(&repos, "shop", &head, None, Some(&main)).await.expect("looked through");
        assert_eq!(places(&scan), [("python-eval", "a.py", 3), ("python-os-system", "c.py", 2)]);
        assert!(scan.added_only && scan.files == 2, "{scan:?}");
    }

    #[tokio::test]
    async fn a_file_that_is_only_moved_adds_nothing() {
        let old = [("a.py", "eval(word)\n"), ("b.py", "eval(word)\n"), ("notes.txt", "eval(words)\n")];
        let new = [("a.py", ""), ("lib/a.py", "eval(word)\n"), ("c.py", "eval(word)\ny = 1\n")];
        let new = [&new[..], &[("notes.txt", ""), ("notes.py", "eval(words)\n")]].concat();
        let (repos, main, head, _dir) = commits(&old, &new).await;
        let scan = look_for_weaknesses(&repos, "shop", &head, None, Some(&main)).await.expect("looked through");
        let alive = ("python-eval", "notes.py", 1);
        assert_eq!(
            (places(&scan), scan.files),
            (vec![("python-eval", "c.py", 1), alive], 2),
            "one becomes code by its name"
        );
    }

    #[tokio::test]
    async fn of_a_file_that_is_moved_and_changed_only_its_new_lines_count() {
        let lines = |word: &str| (0..20).map(|n| format!("{word}{n} = {n}\n")).collect::<String>();
        let (code, notes) = (format!("eval(word)\n{}", lines("x")), format!("eval(other)\n{}", lines("z")));
        let (changed, named) = (format!("{code}os.system(word)\n"), format!("{notes}os.system(other)\n"));
        let old = [("a.py", code.as_str()), ("notes.txt", notes.as_str())];
        let new = [("a.py", ""), ("lib/b.py", changed.as_str()), ("notes.txt", ""), ("notes.py", named.as_str())];
        let (repos, main, head, _dir) = commits(&old, &new).await;
        let scan = look_for_weaknesses(&repos, "shop", &head, None, Some(&main)).await.expect("looked through");
        let of = |path: &str| places(&scan).into_iter().filter(|it| it.1 == path).map(|it| it.2).collect::<Vec<_>>();
        assert_eq!(of("lib/b.py"), [22], "{scan:?}");
        assert_eq!(of("notes.py"), [1, 22], "all of what becomes code by its name: {scan:?}");
    }

    #[tokio::test]
    async fn only_a_new_file_can_be_a_moved_one_and_only_where_one_like_it_is_gone() {
        let old = [("a.py", "x = 1\n"), ("b.py", "y = 1\n")];
        for (new, wanted) in [
            (vec![("a.py", ""), ("b.py", "y = 2\n"), ("c.py", "x = 2\n")], vec!["c.py"]),
            (vec![("a.py", ""), ("c.txt", "x = 2\n")], vec![]),
            (vec![("b.py", "y = 2\n"), ("c.py", "x = 2\n")], vec![]),
        ] {
            let (repos, main, head, _dir) = commits(&old, &new).await;
            let files = changed(&repos, "shop", &main, &head).await.expect("listed");
            assert_eq!(files.maybe_moved.iter().collect::<Vec<_>>(), wanted, "{new:?}");
        }
    }

    #[tokio::test]
    async fn a_change_of_a_file_whose_name_is_not_utf_8_is_counted_as_passed_over() {
        let new = [("\"b\\377.py\"", "eval(word)\n"), ("c.py", "y = 1\n")];
        let (repos, main, head, _dir) = commits(&[("a.py", "x = 1\n")], &new).await;
        let scan = look_for_weaknesses(&repos, "shop", &head, None, Some(&main)).await.expect("looked through");
        assert_eq!((scan.files, scan.passed_over), (1, 1));
        let whole = look_for_weaknesses(&repos, "shop", &head, None, None).await.expect("looked through");
        assert_eq!((whole.files, whole.passed_over), (2, 1));
    }

    #[tokio::test]
    async fn comparing_has_one_limit_of_time_for_all_files() {
        let (repos, main, head, _dir) = commits(&[("a.py", "x = 1\n")], &[("a.py", "eval(other)\n")]).await;
        let mut scan = look_for_weaknesses(&repos, "shop", &head, None, Some(&main)).await.expect("looked through");
        assert_eq!((places(&scan).len(), scan.cut), (1, false));
        let both = (&main, &head);
        keep_added(&repos, "shop", both, &HashSet::new(), &mut scan, Duration::ZERO).await.expect("cut");
        assert_eq!((places(&scan), scan.cut), (vec![], true), "what was not compared does not count");
    }

    #[tokio::test]
    async fn more_findings_than_are_kept_are_counted() {
        let long = "eval(word)\n".repeat(150);
        let (repos, main, _, _dir) = commits(&[("a.py", &long), ("b.py", &long)], &[]).await;
        let scan = look_for_weaknesses(&repos, "shop", &main, None, None).await.expect("looked through");
        assert_eq!((scan.findings.len(), scan.more), (KEPT, 100));
    }
}
