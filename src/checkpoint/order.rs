//! The order in which a person should read changed files, and why a file stands where it does. Pure.
//!
//! Owns how what is known about a file becomes its risks: `src/sandbox/risks/mod.rs` says what the kinds are and which paths are risky,
//! `src/sandbox/asserts/mod.rs` what was counted. Tests: below and `src/checkpoint/risky_tests.rs`.

use super::view::{CheckpointView, FileLine, FileState};
use crate::sandbox::asserts::may_stand_within;
use crate::sandbox::detect::steers_tests;
use crate::sandbox::kept::is_test;
use crate::sandbox::risks::{FileRisk, configures_tests, of_modes, rows, words_through};
use crate::text::{bytes, grouped};
use domain::{TestCount, TestCounts};
use std::collections::HashMap;

/// Changed lines from which a file is large.
const LARGE: u64 = 400;

/// Sorts the view's files, what steers tests among them, and their diffs.
pub(super) fn sort(view: &mut CheckpointView) {
    // One key for each file and then its path, so that the order is the same whatever it was before.
    view.files.sort_by_cached_key(|file| (rank(file), file.path.clone()));
    let places: HashMap<&str, usize> =
        view.files.iter().enumerate().map(|(at, file)| (file.path.as_str(), at)).collect();
    let place = |path: &str| places.get(path).copied().unwrap_or(usize::MAX);
    view.steering.sort_by_cached_key(|path| (place(path), path.clone()));
    // Stable: the parts of one file keep their order.
    view.diff.sort_by_key(|part| place(&part.path));
}

/// The first kind of risk, which decides the place; without any, after all others.
fn rank(file: &FileLine) -> (bool, Option<FileRisk>) {
    let first = risks(file).first().map(|(risk, _)| *risk);
    (first.is_none(), first)
}

/// Whether less is tested in it than before, or that is not known.
pub(super) fn is_weaker(file: &FileLine) -> bool {
    risks(file).first().is_some_and(|(risk, _)| *risk == FileRisk::WeakerTests)
}

/// What makes a file risky, as kinds with a few words of ours each; the worst first.
pub(super) fn risks(file: &FileLine) -> Vec<(FileRisk, String)> {
    let mut found: Vec<(FileRisk, String)> = Vec::new();
    found.extend(of_tests(file));
    let by_path = rows(file.path.as_bytes());
    found.extend(by_path.iter().map(|row| (row.risk, row.words.to_owned())));
    found.extend(file.through.as_deref().map(|path| (FileRisk::Steers, words_through(path))));
    let known = found.iter().any(|(risk, _)| *risk <= FileRisk::Steers) || configures_tests(&file.path);
    if !known && steers_tests(&file.path) {
        let words = if is_test(&file.path) { "test" } else { "belongs to the tests" };
        found.push((FileRisk::Steers, words.to_owned()));
    }
    let modes = file.modes.as_ref().and_then(|(before, after)| of_modes(before, after));
    found.extend(modes.map(|words| (FileRisk::Permissions, words.to_owned())));
    if file.binary {
        let size = file.bytes.map(|size| format!(", {}", bytes(size))).unwrap_or_default();
        found.push((FileRisk::Binary, format!("binary{size}")));
    }
    if file.generated {
        found.push((FileRisk::Generated, "generated, as it says itself".to_owned()));
    }
    if file.added + file.removed >= LARGE {
        found.push((FileRisk::Large, "large".to_owned()));
    }
    found.sort_by_key(|(risk, _)| *risk);
    found.dedup();
    found
}

/// What was counted in a file's tests; nothing about data among the tests that is still there, and about a source file whose own tests stay.
fn of_tests(file: &FileLine) -> Option<(FileRisk, String)> {
    let (deleted, by_path) = (file.state == FileState::Deleted, is_test(&file.path));
    // Of a language whose tests stand in files of their own, also where the path does not tell.
    let by_content = |count: TestCount| count.cases > 0 && count.assertions > 0 && !may_stand_within(&file.path);
    let nothing = TestCount::default();
    match file.tests {
        Some(TestCounts::Uncounted) => {
            let words = match (by_path, deleted) {
                (true, true) => "test deleted, its assertions could not be counted",
                (true, false) => "test, its assertions could not be counted",
                (false, _) => "may hold tests, which could not be counted",
            };
            Some((FileRisk::WeakerTests, words.to_owned()))
        }
        Some(tests @ TestCounts::Counted { .. }) if tests.weaker() => {
            Some((FileRisk::WeakerTests, less(deleted, tests)))
        }
        // Also of logs in which nothing was counted.
        Some(TestCounts::Counted { .. }) | None if deleted && by_path => {
            Some((FileRisk::WeakerTests, "deleted from the tests".to_owned()))
        }
        Some(TestCounts::Counted { before, after })
            if (by_path && (before, after) != (nothing, nothing)) || by_content(after) =>
        {
            Some((FileRisk::Steers, no_less(file.state, before.assertions, after.assertions)))
        }
        Some(TestCounts::Counted { .. }) | None => None,
    }
}

fn pair(what: &str, before: u32, after: u32) -> String {
    format!("{what} {} → {}", grouped(u64::from(before)), grouped(u64::from(after)))
}

/// What is less than before.
fn less(deleted: bool, tests: TestCounts) -> String {
    let words: Vec<String> = tests.less().into_iter().map(|(what, before, after)| pair(what, before, after)).collect();
    let lead = if deleted { "test deleted: " } else { "" };
    format!("{lead}{}", words.join(", "))
}

/// The assertions of a test that has no fewer of them.
fn no_less(state: FileState, before: u32, after: u32) -> String {
    match state {
        FileState::Added => format!("new test, assertions: {}", grouped(u64::from(after))),
        FileState::Changed | FileState::Deleted if before == after => {
            format!("test, assertions: {}", grouped(u64::from(after)))
        }
        FileState::Changed | FileState::Deleted => format!("test, {}", pair("assertions", before, after)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(cases: u32, assertions: u32, skipped: u32) -> TestCount {
        TestCount { cases, assertions, skipped }
    }

    fn test(path: &str, state: FileState, before: TestCount, after: TestCount) -> FileLine {
        let tests = Some(TestCounts::Counted { before, after });
        FileLine { path: path.into(), state, tests, ..FileLine::default() }
    }

    #[test]
    fn each_file_has_its_reasons_in_words() {
        let plain = |path: &str| FileLine { path: path.into(), ..FileLine::default() };
        let modes = |before: &str, after: &str| Some((before.to_owned(), after.to_owned()));
        let none = TestCount::default();
        let files = [
            test("tests/a.py", FileState::Changed, count(3, 7, 0), count(3, 4, 0)),
            test("tests/a.py", FileState::Changed, count(3, 7, 0), count(2, 7, 1)),
            test("tests/a.py", FileState::Deleted, count(3, 7, 0), none),
            test("tests/data.json", FileState::Deleted, none, none),
            test("src/lib.rs", FileState::Changed, count(1, 2, 0), count(1, 1, 0)),
            test("src/lib.rs", FileState::Changed, count(1, 2, 0), count(1, 2, 0)),
            test("tests/a.py", FileState::Added, none, count(2, 1_200, 0)),
            test("tests/a.py", FileState::Changed, count(1, 1, 0), count(1, 1, 0)),
            test("tests/a.py", FileState::Changed, count(1, 1, 0), count(2, 3, 0)),
            FileLine { tests: Some(TestCounts::Uncounted), ..plain("tests/a.py") },
            FileLine { state: FileState::Deleted, ..plain("tests/a.py") },
            plain("tests/a.py"),
            plain("testdata/x.json"),
            plain("spec/openapi.yaml"),
            plain("tests/conftest.py"),
            plain("package.json"),
            plain("Cargo.lock"),
            plain(".github/workflows/ci.yml"),
            FileLine { modes: modes("100644", "100755"), ..plain("run.sh") },
            FileLine { modes: modes("000000", "120000"), ..plain("link") },
            FileLine { binary: true, bytes: Some(1_234), ..plain("logo.png") },
            FileLine { generated: true, added: 300, removed: 100, ..plain("src/api.rs") },
            FileLine { state: FileState::Deleted, ..plain("src/old.rs") },
            plain("src/main.rs"),
        ];
        let told = files.map(|file| {
            let words: Vec<String> =
                risks(&file).into_iter().map(|(risk, words)| format!("{risk:?}: {words}")).collect();
            format!("{}: {}", file.path, words.join(" | "))
        });
        insta::assert_snapshot!("reasons", told.join("\n"));
    }
}
