//! What becomes of each command of the table in each place where a task's people write: a comment of its issue or its pull request, the text
//! of a review, and a line. What is then carried out `tests/stories/places.rs` tells.

use super::fixtures::{self, note};
use super::{inline, words};
use crate::command::COMMANDS;
use crate::config::who::is_of_readers;
use crate::forge::{ReviewComment, ReviewState};
use crate::message;
use domain::Verb;

/// On a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnALine {
    /// It is the command of its review or reply.
    Followed,
    /// It is carried out or answered, whatever the review or reply says.
    Beside,
    /// Its author is told that it is not carried out there.
    Named,
}

/// Each command, as it may be written. A new one needs its row.
static ROWS: [(OnALine, &[&str]); 3] = [
    (OnALine::Followed, &["/revise it", "/ask why?", "/pause", "/stop"]),
    (OnALine::Beside, &["/deny a.test", "/status", "/cost", "/help"]),
    (
        OnALine::Named,
        &[
            "/fix it",
            "/plan it",
            "/explain it",
            "/test it",
            "/refactor it",
            "/review it",
            "/security it",
            "/deps it",
            "/search it",
            "/approve",
            "/allow a.test",
            "/budget 5 actions",
            "/model big",
            "/resume",
            "/rebase",
            "/merge",
            "/retry",
            "/sync",
            "/test-pr \"make test\"",
            "/test-pr-bug \"make test\"",
        ],
    ),
];

const LOGIN: &str = "alice";

/// The verb of a review that only comments, with this text and these inline comments.
fn review(body: &str, notes: &[ReviewComment]) -> Verb {
    let review = fixtures::review(ReviewState::Comment, body);
    words::review(&review, notes, Some("caisson")).expect("submitted")
}

/// What becomes of it on a line where `done` is carried out.
fn on_a_line(note: &ReviewComment, done: &Verb) -> OnALine {
    match inline::left(&[note], done).as_slice() {
        [] if inline::denied(&[note]).is_empty() => OnALine::Followed,
        [] => OnALine::Beside,
        [name] if is_of_readers(name) => OnALine::Beside,
        _ => OnALine::Named,
    }
}

#[test]
fn each_command_counts_in_each_place_or_its_author_is_told() {
    let rows = ROWS.iter().flat_map(|(expected, texts)| texts.iter().map(move |text| (*text, *expected)));
    let mut named = Vec::new();
    for (text, expected) in rows {
        let verb = words::text(text, LOGIN);
        assert!(!matches!(verb, Verb::Say { .. } | Verb::Unknown { .. }), "{text}: {verb:?}");
        assert_eq!(review(text, &[]), verb, "{text}");
        let note = note(text);
        for done in [review("", std::slice::from_ref(&note)), words::reply(&note, "caisson")] {
            assert_eq!(on_a_line(&note, &done), expected, "{text}: {done:?}");
            let nothing = Verb::Say { items: Vec::new() };
            assert!(done != nothing || expected != OnALine::Followed, "{text}: nothing follows it");
            let says = matches!(done, Verb::Say { .. });
            assert!(says || expected == OnALine::Followed, "{text}: {done:?}");
        }
        named.push(text[1..].split(' ').next().unwrap_or_default());
    }
    let mut all: Vec<&str> = COMMANDS.iter().map(|spec| spec.name).collect();
    named.sort_unstable();
    all.sort_unstable();
    assert_eq!(named, all, "each command has a row");
}

#[test]
fn a_command_on_a_line_whose_arguments_are_no_words_is_no_remark() {
    let remarks = |text: &str| match review("", &[note(text)]) {
        Verb::Say { items } => items.len(),
        other => panic!("{text}: {other:?}"),
    };
    for text in [
        "/approve c1",
        "/allow a.test",
        "/deny a.test",
        "/deny a.test\n/deny b.test",
        "/budget 5 actions",
        "/model big",
        "/retry --from 2",
        "/test-pr \"make test\"",
        "/test-pr --off\n",
    ] {
        assert_eq!(remarks(text), 0, "{text}");
    }
    for text in [
        "/fix it",
        "/status must be 503 here",
        "/model is too small here",
        "/allow a.test\nUse a set here.",
        "/deny a.test\nUse a set here.",
    ] {
        assert_eq!(remarks(text), 1, "{text}");
    }
}

#[test]
fn hosts_on_lines_that_are_too_many_to_be_denied_are_named() {
    let lines = |hosts: std::ops::Range<u32>| hosts.map(|n| format!("/deny h{n}.test\n")).collect::<String>();
    let (first, second) = (note(&lines(0..20)), note(&lines(18..22)));
    assert_eq!(inline::denied(&[&first, &second]).len(), 20);
    assert_eq!(inline::left(&[&first, &second], &Verb::Stop), ["deny h20.test", "deny h21.test"]);
    assert_eq!(inline::left(&[&first], &Verb::Stop), [""; 0]);
    let answer = message::left_inline(LOGIN, &["deny h20.test".into(), "frobnicate".into()]);
    assert!(answer.contains("`/deny h20.test`, `/frobnicate` (no command here)"), "{answer}");
}
