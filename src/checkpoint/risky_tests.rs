//! The changed files of a review: their order, their reasons, and where their names lead.

use super::gather::{ViewContext, gather};
use super::order::{risks, sort};
use super::tests::{counted, example, file, page, part};
use super::view::*;
use super::*;
use crate::sandbox::risks::FileRisk;
use domain::{CapturedTree, Commit, Event, FileChange, FileFacts, Task, TaskId, TestCount, TestCounts};
use proptest::prelude::*;
use pulldown_cmark::{Event as Markdown, Parser, Tag};

fn linked(path: &str) -> FileLine {
    FileLine { url: Some(page(path)), ..file(path) }
}

/// The rows of the list, folded ones too.
fn listed(text: &str) -> Vec<&str> {
    let row = |line: &&str| line.split_once(". ").is_some_and(|(n, _)| n.parse::<u32>().is_ok());
    text.lines().filter(row).collect()
}

/// A checkpoint in which a test was weakened, among much else.
fn weakened() -> CheckpointView {
    let modes = |before: &str, after: &str| Some((before.to_owned(), after.to_owned()));
    let mut view = CheckpointView {
        files: vec![
            FileLine { added: 1, removed: 1, ..linked("semver.py") },
            FileLine { added: 12, removed: 3, ..linked("Cargo.lock") },
            FileLine { added: 2, ..linked("conftest.py") },
            FileLine {
                state: FileState::Deleted,
                removed: 9,
                tests: Some(counted((2, 3, 0), (0, 0, 0))),
                ..linked("tests/test_old.py")
            },
            FileLine { modes: modes("100644", "100755"), ..linked("tools/run") },
            FileLine {
                added: 1,
                removed: 4,
                tests: Some(counted((3, 7, 0), (3, 4, 1))),
                ..linked("tests/test_semver.py")
            },
        ],
        steering: ["Cargo.lock", "conftest.py", "tests/test_old.py", "tests/test_semver.py"]
            .map(str::to_owned)
            .to_vec(),
        ..example()
    };
    sort(&mut view);
    view
}

#[test]
fn what_was_weakened_is_read_first() {
    let text = render_checkpoint(&weakened());
    let shown = text.lines().filter(|line| line.contains("Changed") || listed(line).len() == 1);
    insta::assert_snapshot!("weakened", shown.collect::<Vec<_>>().join("\n"));
    let last = render_final(&weakened());
    assert_eq!(listed(&last), listed(&text), "the final review has the same list");
    // A test that was only added to is no reason for an alarm; one of which lines went is, whatever was counted.
    let alarm = "able to make checks pass";
    assert!(!render_checkpoint(&example()).contains(alarm) && render_final(&example()).contains(alarm));
    let mut changed = example();
    changed.files[0].removed = 1;
    assert!(render_checkpoint(&changed).contains(alarm));
    changed.files[0] = FileLine { added: 3, ..file("tests/test_semver.py") };
    assert!(render_checkpoint(&changed).contains(alarm), "nothing was counted");
    for (path, after) in [
        ("tests/conftest.py", (0, 0, 0)),
        ("tests/conftest.py", (0, 2, 0)),
        ("tests/__init__.py", (0, 0, 0)),
        ("test/jest.config.js", (0, 0, 0)),
    ] {
        let file = FileLine { added: 3, tests: Some(counted((0, 0, 0), after)), ..file(path) };
        let view = CheckpointView { files: vec![file], steering: vec![path.into()], ..example() };
        assert!(render_checkpoint(&view).contains(alarm), "{path} decides what runs");
    }
}

/// Many changed files, or few with much text.
fn large(files: usize, bytes: usize) -> CheckpointView {
    let path = |n: usize| format!("src/module_{n:04}/file.rs");
    let mut view = CheckpointView {
        files: (0..files).map(|n| FileLine { added: 2, ..linked(&path(n)) }).collect(),
        diff: (0..files).map(|n| part(&path(n), &"+x\n".repeat(bytes / files / 3))).collect(),
        steering: Vec::new(),
        ..example()
    };
    sort(&mut view);
    view
}

#[test]
fn a_large_diff_is_summed_up_by_files_that_lead_to_their_part() {
    let text = render_checkpoint(&large(11, 60_000));
    let about = |line: &&str| {
        line.contains("**Changed") || line.contains("details") || line.contains("**Diff**") || listed(line).len() == 1
    };
    insta::assert_snapshot!("large", text.lines().filter(about).collect::<Vec<_>>().join("\n"));
    assert!(!text.contains("```diff"), "none of it is shown in part");
    assert!(render_final(&large(11, 60_000)).contains("```diff"), "a final review shows what it can hold");
    assert!(render_checkpoint(&large(11, 600)).contains("```diff"), "a small one is shown");
    let mut twice = large(1, 60_000);
    twice.files[0].earlier.push(page("a"));
    let twice = render_checkpoint(&twice);
    assert!(twice.contains("made it, *again* to one that a later commit made. Read them all"), "{twice}");
    let none = CheckpointView { files: vec![file("a")], ..large(1, 60_000) };
    assert!(render_checkpoint(&none).contains("Read it under *Files changed*"), "without an address");
}

#[test]
fn thousands_of_files_are_listed_as_far_as_a_review_holds_and_counted() {
    let view = large(5000, 600_000);
    for text in [render_checkpoint(&view), render_final(&view)] {
        assert!(text.len() <= render::MAX_BODY);
        let named = listed(&text).len();
        let rest = format!("… and {} further files,", crate::text::grouped(5000 - named as u64));
        assert!(named > 60 && text.contains(&rest), "{named}");
    }
}

#[test]
fn names_lead_to_their_file_at_the_commit_and_nowhere_else() {
    let text = render_checkpoint(&weakened());
    let mut at = Vec::new();
    for event in Parser::new(&text) {
        if let Markdown::Start(Tag::Link { dest_url, .. }) = event {
            at.push(dest_url.to_string());
        }
    }
    let files: Vec<String> = weakened().files.iter().map(|file| page(&file.path)).collect();
    assert_eq!(at[0], example().compare_url.unwrap());
    assert_eq!(at[1..], files);
    let odd = CheckpointView { files: vec![linked("a](http://evil.example) `x.rs")], ..example() };
    let text = render_checkpoint(&odd);
    let evil =
        |event: Markdown<'_>| matches!(event, Markdown::Start(Tag::Link { dest_url, .. }) if dest_url.contains("evil"));
    assert!(!Parser::new(&text).any(evil), "{text}");
}

fn captured(n: u32, digit: &str, changes: &[(&str, &str)], facts: Vec<FileFacts>) -> Event {
    let commit = Commit::parse(&digit.repeat(40)).unwrap();
    let change = |(path, kind): &(&str, &str)| FileChange {
        path: (*path).to_owned(),
        added: 1,
        removed: 1,
        kind: (*kind).to_owned(),
        bytes: None,
    };
    let files: Vec<FileChange> = changes.iter().map(change).collect();
    let text = |file: &FileChange| format!("diff --git a/{0} b/{0}\n+x\n", file.path);
    let diff = files.iter().map(text).collect();
    let (steering, left_out, outside, marked) = Default::default();
    let tree = CapturedTree { commit, files, diff, diff_cut: 0, steering, left_out, outside, marked, facts };
    Event::TreeCaptured { n, tree }
}

fn facts(path: &str, before: (u32, u32, u32), after: (u32, u32, u32)) -> FileFacts {
    let tests = Some(counted(before, after));
    FileFacts { path: path.into(), modes: None, tests, generated: false, through: None }
}

#[test]
fn trees_of_one_checkpoint_are_one_change_and_older_logs_are_ordered_too() {
    let first = facts("tests/test_a.py", (3, 7, 0), (3, 4, 0));
    let again = facts("tests/test_a.py", (3, 4, 0), (3, 7, 0));
    let changes = [("src/z.py", "modified"), ("tests/test_a.py", "modified")];
    let around = || ViewContext {
        commits_url: Some("http://forge.example/lab/semver/commit/".into()),
        ..ViewContext::default()
    };
    let shown = |log: &[Event]| gather(&Task::fold(TaskId(7), log), log, 1, around());
    let worst = |view: &CheckpointView| risks(&view.files[0]).remove(0).0;
    let mut log = vec![captured(1, "a", &changes, vec![first])];
    let view = shown(&log);
    assert_eq!((view.files[0].path.as_str(), worst(&view)), ("tests/test_a.py", FileRisk::WeakerTests));
    assert!(view.files[0].url.as_deref().is_some_and(|url| url.contains(&format!("/commit/{}#diff-", "a".repeat(40)))));
    let order: Vec<&str> = view.diff.iter().map(|part| part.path.as_str()).collect();
    assert_eq!(order, ["tests/test_a.py", "src/z.py"], "the diff is in the same order");
    log.push(captured(1, "b", &[("tests/test_a.py", "modified")], vec![again]));
    let view = shown(&log);
    assert_eq!((view.files.len(), worst(&view)), (2, FileRisk::Steers), "nothing is lost in the end");
    let row = listed(&render_checkpoint(&view))[0].to_owned();
    let (name, again) = row.split_once(") · [again](").expect("both trees have a difference of it");
    assert!(name.contains(&"a".repeat(40)) && again.contains(&"b".repeat(40)), "{row}");
    let older = shown(&[captured(1, "a", &[("src/z.py", "modified"), ("tests/test_a.py", "deleted")], Vec::new())]);
    assert_eq!(worst(&older), FileRisk::WeakerTests, "a deleted test of a log without counts");
}

/// Otherwise it would be in no review at all: the next one begins behind this one.
#[test]
fn what_was_pushed_before_a_tree_was_refused_is_shown_beside_the_refusal() {
    let refused = |n| Event::TreeRefused { n, reasons: vec!["`.gitattributes` is protected".into()] };
    let shown = |log: &[Event]| {
        let view = gather(&Task::fold(TaskId(7), log), log, 2, ViewContext::default());
        CheckpointView { base_branch: "main".into(), ..view }
    };
    let view = shown(&[captured(1, "a", &[("src/z.py", "modified")], Vec::new()), refused(2)]);
    assert_eq!((view.commit.as_deref(), view.pushed.as_deref()), (None, Some("aaaaaaaaaa")));
    let text = render_checkpoint(&view);
    assert_eq!(listed(&text), ["1. `src/z.py` +1 −1"]);
    assert!(text.contains("```diff\ndiff --git a/src/z.py b/src/z.py\n+x\n"), "{text}");
    assert!(text.contains("· ⚠️ pushed at `aaaaaaaaaa`; a newer tree was refused\n"), "{text}");
    assert!(text.contains("> What this review shows was pushed before, at `aaaaaaaaaa`."), "{text}");
    assert!(text.contains("> - `` `.gitattributes` is protected ``"), "{text}");
    for false_words in ["nothing was pushed", "nothing to merge", "no commit"] {
        assert!(!text.contains(false_words), "{text}");
    }
    let changed: Vec<_> = (0..11).map(|n| format!("src/{n}.py")).collect();
    let changed: Vec<_> = changed.iter().map(|path| (path.as_str(), "modified")).collect();
    let many = render_checkpoint(&shown(&[captured(1, "a", &changed, Vec::new()), refused(2)]));
    assert_eq!(listed(&many).len(), 11, "the folded ones too");
    let nothing = render_checkpoint(&shown(&[refused(1)]));
    assert!(nothing.contains("nothing was pushed") && nothing.contains("nothing to merge"), "{nothing}");
    // What an approved checkpoint showed is not shown again.
    let posted =
        Event::CheckpointPosted { n: 1, review: 1, number: 1, at: 0, commit: None, last: false, verdict: None };
    let view = shown(&[captured(1, "a", &[("src/z.py", "modified")], Vec::new()), posted, refused(2)]);
    assert_eq!((view.files.len(), view.pushed), (0, None));
}

#[test]
fn a_carriage_return_is_shown_unless_all_lines_had_one_before() {
    let shown = |body: &str| {
        let diff = vec![part("x.py", &format!("diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n{body}"))];
        assert!(super::diff::is_whole(&diff));
        let view = CheckpointView { diff, ..example() };
        let notes = render_notes(&view).into_iter().filter(|note| note.2.contains("characters that don't show"));
        (render_checkpoint(&view), notes.map(|(_, line, text)| format!("{line} {text}")).collect::<Vec<_>>())
    };
    let note = |line: u64, text: &str| vec![format!("{line} This line holds characters that don't show:\n\n`{text}`")];
    let (text, notes) = shown("@@ -1,2 +1,2 @@\n one\n-foo\n+foo\r\n");
    assert!(text.contains("@@\n one\n-foo\n+foo\\r\n"), "{text}");
    assert_eq!(notes, note(2, "foo\\r"));
    let (text, notes) = shown("@@ -1,2 +1,2 @@\n-foo\r\n-bar\r\n+foo\n+bar\n");
    assert!(text.contains("@@\n-foo\\r\n-bar\\r\n+foo\n+bar\n"), "{text}");
    assert!(notes.is_empty(), "{notes:?}");
    let (text, notes) = shown("@@ -0,0 +1,2 @@\n+#!/bin/sh\r\n+ls\r\n");
    assert!(text.contains("@@\n+#!/bin/sh\\r\n+ls\\r\n"), "{text}");
    assert_eq!(notes, note(1, "#!/bin/sh\\r"));
    // Of a file that has them throughout.
    let (text, notes) = shown("@@ -1,2 +1,2 @@\n one\r\n-foo\r\n+bar\r\n");
    assert!(text.contains("@@\n one\n-foo\n+bar\n"), "{text}");
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn what_was_made_executable_and_then_deleted_is_only_deleted() {
    let modes = Some(("000000".to_owned(), "100755".to_owned()));
    let made = FileFacts { path: "run".into(), modes, tests: None, generated: false, through: None };
    let log = [captured(1, "a", &[("run", "added")], vec![made]), captured(1, "b", &[("run", "deleted")], Vec::new())];
    let view = gather(&Task::fold(TaskId(7), &log), &log, 1, ViewContext::default());
    assert_eq!((view.files[0].state, risks(&view.files[0])), (FileState::Deleted, Vec::new()));
}

#[test]
fn what_acts_through_a_link_is_read_first_and_named_so() {
    let through = Some(".husky/pre-commit".to_owned());
    let made = FileFacts { path: "scripts/pre-commit".into(), modes: None, tests: None, generated: false, through };
    let log = [captured(1, "a", &[("a.py", "modified"), ("scripts/pre-commit", "modified")], vec![made])];
    let view = gather(&Task::fold(TaskId(7), &log), &log, 1, ViewContext::default());
    let words = "becomes or configures a git hook, through a link".to_owned();
    assert_eq!(view.files[0].path, "scripts/pre-commit");
    assert_eq!(risks(&view.files[0]), [(FileRisk::Steers, words)]);
}

#[test]
fn a_diff_of_too_many_files_was_not_seen_whole() {
    assert!(super::diff::is_whole(&large(100, 900).diff) && !super::diff::is_whole(&large(101, 900).diff));
    let own = risks(&file(".caisson.toml"));
    assert_eq!(own.len(), 1, "one reason once: {own:?}");
}

const PATHS: [&str; 12] = [
    "a.rs",
    "b.py",
    "src/lib.rs",
    "tests/a.py",
    "tests/b.rs",
    "Cargo.toml",
    "yarn.lock",
    ".github/workflows/x.yml",
    "run.sh",
    "x.min.js",
    "logo.png",
    "z",
];

fn any_count() -> impl Strategy<Value = TestCount> {
    (0..4_u32, 0..4_u32, 0..3_u32).prop_map(|(cases, assertions, skipped)| TestCount { cases, assertions, skipped })
}

fn any_tests() -> impl Strategy<Value = Option<TestCounts>> {
    prop_oneof![
        Just(None),
        Just(Some(TestCounts::Uncounted)),
        (any_count(), any_count()).prop_map(|(before, after)| Some(TestCounts::Counted { before, after })),
    ]
}

fn any_file() -> impl Strategy<Value = FileLine> {
    let state = prop_oneof![Just(FileState::Changed), Just(FileState::Added), Just(FileState::Deleted)];
    let mode = || prop_oneof![Just("100644"), Just("100755"), Just("120000"), Just("000000")];
    let modes = proptest::option::of((mode(), mode()).prop_map(|(a, b)| (a.to_owned(), b.to_owned())));
    let rest = (any::<bool>(), any::<bool>(), 0..500_u64);
    (0..PATHS.len(), state, modes, any_tests(), rest).prop_map(
        |(at, state, modes, tests, (binary, generated, added))| FileLine {
            path: PATHS[at].to_owned(),
            state,
            modes,
            tests,
            binary,
            generated,
            added,
            ..FileLine::default()
        },
    )
}

fn any_files() -> impl Strategy<Value = Vec<FileLine>> {
    proptest::collection::vec(any_file(), 1..20).prop_map(|mut files| {
        files.sort_by(|one, other| one.path.cmp(&other.path));
        files.dedup_by(|one, other| one.path == other.path);
        files
    })
}

fn sorted(files: Vec<FileLine>) -> Vec<FileLine> {
    let mut view = CheckpointView { files, ..CheckpointView::default() };
    sort(&mut view);
    view.files
}

proptest! {
    /// Whatever the files are and however they came: one order, every file in it once, and in the review as well.
    #[test]
    fn the_order_is_total_and_every_file_stands_in_it_once(files in any_files(), turn in 0..20_usize) {
        let wanted = sorted(files.clone());
        let mut turned = files.clone();
        turned.rotate_left(turn % files.len());
        prop_assert_eq!(&sorted(turned), &wanted);
        prop_assert_eq!(&sorted(wanted.clone()), &wanted);
        let place = |file: &FileLine| risks(file).first().map_or(u8::MAX, |(risk, _)| *risk as u8);
        prop_assert!(wanted.is_sorted_by_key(|file| (place(file), file.path.clone())));
        let text = render_checkpoint(&CheckpointView { files: wanted.clone(), ..example() });
        let names: Vec<String> = listed(&text).iter().map(|row| row.split('`').nth(1).unwrap_or_default().to_owned()).collect();
        let paths: Vec<String> = wanted.iter().map(|file| file.path.clone()).collect();
        prop_assert_eq!(names, paths);
    }

    /// A renamed file of tests is one that is gone and one that is new: what it asserted is missing under its old name, whatever the new
    /// name and content are.
    #[test]
    fn a_rename_hides_no_test(before in any_count(), after in any_count(), to in 0..PATHS.len()) {
        let gone = FileLine {
            state: FileState::Deleted,
            tests: Some(TestCounts::Counted { before, after: TestCount::default() }),
            ..file("tests/was.py")
        };
        let new = FileLine {
            state: FileState::Added,
            tests: Some(TestCounts::Counted { before: TestCount::default(), after }),
            ..file(PATHS[to])
        };
        let files = sorted(vec![new, gone]);
        prop_assert!(files.iter().any(|file| file.path == "tests/was.py" && risks(file)[0].0 == FileRisk::WeakerTests));
        prop_assert_eq!(files.len(), 2);
    }

    /// A file is never read later for one risk more.
    #[test]
    fn more_risks_never_move_a_file_down(file in any_file()) {
        let place = |file: &FileLine| risks(file).first().map_or(u8::MAX, |(risk, _)| *risk as u8);
        for riskier in [
            FileLine { binary: true, ..file.clone() },
            FileLine { generated: true, ..file.clone() },
            FileLine { added: file.added + 400, ..file.clone() },
            FileLine { modes: Some(("100644".into(), "100755".into())), ..file.clone() },
            FileLine { tests: Some(TestCounts::Uncounted), ..file.clone() },
        ] {
            prop_assert!(place(&riskier) <= place(&file), "{:?}", riskier);
        }
    }
}
