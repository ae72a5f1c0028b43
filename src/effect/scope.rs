//! Which files a task of its kind may change: checked for a single action before it runs, and for the whole branch at each checkpoint and
//! verification.
//!
//! Owns both checks; `src/sandbox/kept.rs` says which files are tests, and `src/sandbox/asserts/within.rs` what of a Rust file is. A command can
//! change any file, so the check of the branch decides. Tests: below and `tests/stories/task_kinds.rs`.

use super::repository::{Repositories, base, request};
use crate::git::GitError;
use crate::git::listing::Change;
use crate::policy::plain;
use crate::sandbox::asserts::may_stand_within;
use crate::sandbox::asserts::within::{Parted, parted};
use crate::sandbox::kept::is_test;
use crate::sandbox::risks::configures_tests;
use crate::text;
use crate::trouble::Trouble;
use domain::{Action, BaseTests, Commit, Scope, Task, Verdict, VerdictKind};
use std::collections::HashMap;

/// The most bytes of the base's file names that are read.
const NAMES: u64 = 16 << 20;
/// The most paths kept in an event.
const MOST: usize = 50;
/// Largest file that is read for the tests inside of it, in bytes, and the most such files of a branch.
const LARGEST: u64 = 1 << 20;
const MOST_READ: usize = 500;

impl Repositories {
    /// Why the action may not run in a task of this kind; none if it may.
    pub(super) async fn out_of_scope(&self, task: &Task, action: &Action) -> Result<Option<String>, Trouble> {
        let paths: Vec<String> = action.changed().into_iter().filter_map(plain).collect();
        let scope = task.kind.traits().scope;
        let outside = match scope {
            Scope::Nothing | Scope::Everything => None,
            Scope::Tests => {
                let mut outside = None;
                for path in paths.into_iter().filter(|path| is_outside(scope, path, false)) {
                    // What changes beside the tests of such a file, the check of the branch finds.
                    let writes = may_stand_within(&path) && !action.written().is_empty();
                    if !writes || !self.repos.has_path(&request(task)?.repository, &base(task)?, &path).await? {
                        outside = Some(path);
                        break;
                    }
                }
                outside
            }
            Scope::AllButBaseTests if paths.is_empty() => None,
            Scope::AllButBaseTests => {
                let names = match self.repos.files(&request(task)?.repository, &base(task)?, NAMES).await {
                    Ok(names) => Some(names),
                    Err(GitError::TooLarge { .. }) => None,
                    Err(other) => return Err(other.into()),
                };
                paths.into_iter().find(|path| holds_tests(names.as_deref(), path))
            }
        };
        Ok(outside.map(|path| sentence(task, &path)))
    }

    /// Files that `commit` changes against the task's base and that a task of this kind may not change.
    pub(super) async fn outside(&self, task: &Task, commit: &Commit) -> Result<Vec<String>, Trouble> {
        let scope = task.kind.traits().scope;
        if matches!(scope, Scope::Nothing | Scope::Everything) {
            return Ok(Vec::new());
        }
        let (key, base) = (&request(task)?.repository, base(task)?);
        let changes = self.repos.changes(key, &base, commit).await?;
        let (mut outside, mut within) = (Vec::new(), Vec::new());
        for change in changes.iter().filter(|change| !change.of_directory()) {
            let (path, there) = (String::from_utf8_lossy(&change.path).into_owned(), change.status != 'A');
            let by_path = is_test(&path) && (scope == Scope::Tests || there);
            // In a file that only gains tests nothing else is new, its mode neither.
            let is_same = change.old_mode == change.new_mode && change.new_mode.starts_with("100");
            if may_stand_within(&path) && !by_path && (scope == Scope::AllButBaseTests || is_same) {
                within.push((path, change));
            } else if is_outside(scope, &path, there) {
                outside.push(path);
            }
        }
        outside.extend(within.iter().skip(MOST_READ).map(|(path, _)| path.clone()));
        within.truncate(MOST_READ);
        outside.extend(self.outside_within(scope, (key, &base, commit), within).await?);
        outside.sort_unstable();
        outside.truncate(MOST);
        Ok(outside)
    }

    /// Of these files, which may hold tests beside what they test, those that a task of this scope may not change so. One that cannot be read,
    /// or is too large, is among them.
    async fn outside_within(
        &self,
        scope: Scope,
        (key, base, commit): (&str, &Commit, &Commit),
        files: Vec<(String, &Change)>,
    ) -> Result<Vec<String>, Trouble> {
        let (mut outside, mut read) = (Vec::new(), Vec::new());
        for (path, change) in files {
            let before = self.parted(key, base, (&path, &change.old_mode)).await?;
            let after = self.parted(key, commit, (&path, &change.new_mode)).await?;
            match before.zip(after) {
                Some((before, after)) => read.push((path, before, after)),
                None => outside.push(path),
            }
        }
        match scope {
            Scope::Tests => {
                outside.extend(read.into_iter().filter(|(_, a, b)| a.rest != b.rest).map(|(path, ..)| path))
            }
            Scope::AllButBaseTests => outside.extend(lost(read)),
            Scope::Nothing | Scope::Everything => {}
        }
        Ok(outside)
    }

    /// A version of a file with this mode, empty where it is no regular file; none if it cannot be read, or is too large.
    async fn parted(&self, key: &str, commit: &Commit, (path, mode): (&str, &str)) -> Result<Option<Parted>, Trouble> {
        match self.source(key, commit, (path, mode)).await? {
            Some(text) => Ok(Some(part(text).await?)),
            None => Ok(None),
        }
    }

    /// The text of a file with this mode, empty where it is no regular file; none if it cannot be read, or is too large.
    pub(super) async fn source(
        &self,
        key: &str,
        commit: &Commit,
        (path, mode): (&str, &str),
    ) -> Result<Option<Vec<u8>>, Trouble> {
        if !mode.starts_with("100") {
            return Ok(Some(Vec::new()));
        }
        match self.repos.show(key, commit, path, LARGEST).await {
            Ok(text) => Ok(text),
            Err(GitError::TooLarge { .. }) => Ok(None),
            Err(other) => Err(other.into()),
        }
    }

    /// Adds the rules of the task's kind to the verdict on `commit`: it fails if files outside of its scope changed, or the base's tests
    /// fail where they must pass.
    pub(super) async fn judged(&self, task: &Task, commit: &Commit, verdict: Verdict) -> Result<Verdict, Trouble> {
        let outside = self.outside(task, commit).await?;
        let broken = matches!(verdict.base_tests, BaseTests::Ran { exit_code } if exit_code != Some(0));
        let failed = !outside.is_empty() || broken && task.kind.traits().checks_must_hold;
        let kind = if failed { VerdictKind::Failed } else { verdict.kind };
        Ok(Verdict { kind, outside, ..verdict })
    }
}

/// Parts the text of a file on a thread that may be busy.
async fn part(text: Vec<u8>) -> Result<Parted, Trouble> {
    let parting = tokio::task::spawn_blocking(move || parted(&String::from_utf8_lossy(&text)));
    parting.await.map_err(|error| Trouble::later(format!("a file could not be parted: {error}")))
}

/// The files, with their versions before and after, of whose tests one stands in none of them any more. A test may move with what it tests.
fn lost(mut read: Vec<(String, Parted, Parted)>) -> Vec<String> {
    let mut left: HashMap<String, usize> = HashMap::new();
    for test in read.iter_mut().flat_map(|(.., after)| std::mem::take(&mut after.tests)) {
        *left.entry(test).or_default() += 1;
    }
    // One copy stands for one test.
    let mut is_lost = |test: &String| match left.get_mut(test) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    let lost = |(_, before, _): &(String, Parted, Parted)| before.tests.iter().filter(|test| is_lost(test)).count() > 0;
    read.into_iter().filter(lost).map(|(path, ..)| path).collect()
}

/// Whether a task of this scope may not change this file; `there` says whether the base has it.
fn is_outside(scope: Scope, path: &str, there: bool) -> bool {
    match scope {
        Scope::Nothing | Scope::Everything => false,
        // A test's configuration decides which tests run, also if it is among the tests.
        Scope::Tests => !is_test(path) || configures_tests(path),
        Scope::AllButBaseTests => there && is_test(path),
    }
}

/// Whether a path is or contains a test of the base; if the base's file names are not known, any test.
fn holds_tests(names: Option<&[String]>, path: &str) -> bool {
    let Some(names) = names else { return is_test(path) };
    let within = |name: &str| name == path || name.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
    names.iter().any(|name| within(name) && is_test(name))
}

fn sentence(task: &Task, path: &str) -> String {
    let (traits, path) = (task.kind.traits(), text::one_line(path));
    let rule = match traits.scope {
        Scope::Tests => "writes tests and nothing else, and this changes",
        Scope::AllButBaseTests => "leaves existing tests exactly as they are, and this changes",
        Scope::Nothing | Scope::Everything => "may not change",
    };
    format!(
        "/{} {rule} {}. If that has to change, say so in your summary: a person decides",
        traits.name,
        text::cut(&path, 80).0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scope_leaves_out_what_it_says() {
        for (scope, path, there, wanted) in [
            (Scope::Tests, "tests/a.py", false, false),
            (Scope::Tests, "tests/a.py", true, false),
            (Scope::Tests, "src/a.py", false, true),
            (Scope::Tests, "conftest.py", false, true),
            (Scope::Tests, "tests/conftest.py", true, true),
            (Scope::Tests, "src/state.snapshot.ts", true, true),
            (Scope::AllButBaseTests, "tests/a.py", true, true),
            (Scope::AllButBaseTests, "tests/new.py", false, false),
            (Scope::AllButBaseTests, "src/a.py", true, false),
            (Scope::Everything, "src/a.py", true, false),
        ] {
            assert_eq!(is_outside(scope, path, there), wanted, "{scope:?} {path} {there}");
        }
    }

    #[test]
    fn a_directory_of_tests_is_one_of_the_base() {
        let names = ["tests/unit/a.py".to_owned(), "src/testing.rs".to_owned()];
        for (path, wanted) in [("tests", true), ("tests/unit/a.py", true), ("tests/b.py", false), ("src", false)] {
            assert_eq!(holds_tests(Some(&names), path), wanted, "{path}");
        }
        assert!(holds_tests(None, "tests/b.py"), "not known is not allowed");
    }
}
