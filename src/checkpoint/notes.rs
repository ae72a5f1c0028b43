//! Inline notes on changed lines that deserve attention, written by the bot, with untrusted text as code.

use super::diff::is_pushed_aside;
use super::hunks::{Hunk, added_lines, shows_line};
use super::view::{ActionLine, ActionResult, CheckpointView};
use crate::text::{code, columns, cut, is_hidden, one_line};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The most notes of one review, because an interrupted request may leave notes behind.
const MAX_NOTES: usize = 4;
/// Length in columns above which a line gets a note.
const LONG: usize = 400;

/// One note: the path as git has it, the new file's line, Markdown. Its first line holds no foreign text but an account's name and single words,
/// because forges show it apart, up to the first `|`, as Markdown of its own.
pub type InlineNote = (String, u64, String);

/// Notes where remarks stand that were settled, then the most important others: at most one per file and reason, and four in all.
pub fn render_notes(view: &CheckpointView) -> Vec<InlineNote> {
    if view.commit.is_none() && view.pushed.is_none() {
        return Vec::new();
    }
    let lines = added_lines(&view.diff);
    let mut notes = Notes { out: Vec::new(), seen: BTreeSet::new() };
    for line in &lines {
        if line.added.chars().any(|c| is_hidden(c) && c != '\t') {
            // Not trimmed as white space, because a carriage return at its end is one of them.
            let shown = one_line(line.added.trim_matches([' ', '\t']));
            let text = format!("This line holds characters that don't show:\n\n{}", code(cut(&shown, 120).0));
            notes.push(line, "hidden", text);
        }
        if columns(line.added) > LONG {
            notes.push(line, "long", "A very long line: scroll to its end before you approve.".to_owned());
        } else if is_pushed_aside(line.added) {
            let text = "This line goes on behind much white space: scroll to its end before you approve.".to_owned();
            notes.push(line, "aside", text);
        }
    }
    for line in &lines {
        if let Some(word) = mixed_word(line.added) {
            let text = format!("Letters of two alphabets in one word, which may look alike: {}", code(&word));
            notes.push(line, "mixed", text);
        }
    }
    for line in &lines {
        if view.steering.iter().any(|path| path == line.path) {
            let text = "This file can make the checks pass without the code being right.".to_owned();
            notes.push(line, "steering", text);
        }
    }
    for line in &lines {
        if let Some(text) = origin(view, line.path) {
            notes.push(line, "origin", text);
        }
    }
    let mut out = super::remarks::notes(view, |path, line| shows_line(&view.diff, path, line));
    out.extend(notes.out);
    out
}

/// Notes for the end of a review's text, of a forge that fails at them where they belong. Their texts are as on their lines.
pub fn render_notes_in_text<'a>(notes: impl Iterator<Item = (&'a str, u64, &'a str)>) -> String {
    let mut out = "**Notes on lines** — the forge failed at them there:".to_owned();
    for (path, line, text) in notes {
        let _ = write!(out, "\n\n{} — {}", code(&format!("{path}:{line}")), text.trim_end());
    }
    out
}

struct Notes<'a> {
    out: Vec<InlineNote>,
    seen: BTreeSet<(&'a str, &'static str)>,
}

impl<'a> Notes<'a> {
    fn push(&mut self, at: &Hunk<'a>, why: &'static str, text: String) {
        let nameable = !at.path.chars().any(is_hidden);
        // One note about the origin per file is enough.
        let known = why == "origin" && self.out.iter().any(|note| note.0 == at.path);
        if nameable && !known && self.out.len() < MAX_NOTES && self.seen.insert((at.path, why)) {
            self.out.push((at.path.to_owned(), at.line, text));
        }
    }
}

/// The first word in which Latin letters stand beside Greek or Cyrillic ones, with the number of each of the latter in its place.
fn mixed_word(line: &str) -> Option<String> {
    if line.is_ascii() {
        return None;
    }
    let latin = |c: char| c.is_ascii_alphabetic() || matches!(c, '\u{c0}'..='\u{24f}');
    let other = |c: char| matches!(c, '\u{370}'..='\u{52f}' | '\u{1f00}'..='\u{1fff}' | '\u{a640}'..='\u{a69f}');
    let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
    let mixed = words.find(|word| word.chars().any(latin) && word.chars().any(other))?;
    let shown = |c: char| if other(c) { format!("\\u{{{:x}}}", u32::from(c)) } else { c.to_string() };
    Some(mixed.chars().map(shown).collect())
}

/// The actions of this checkpoint that wrote the file, by name or, for a command, as its sandbox reports.
fn origin(view: &CheckpointView, path: &str) -> Option<String> {
    let wrote = |action: &ActionLine| action.wrote.iter().any(|one| one.trim_start_matches("./") == path);
    let numbers: Vec<_> = view
        .actions
        .iter()
        .filter(|a| wrote(a))
        .filter(|a| !matches!(a.result, ActionResult::Failed(_) | ActionResult::Denied(_)))
        .map(|a| a.n.to_string())
        .collect();
    match numbers.as_slice() {
        [] => None,
        [one] => Some(format!("Written by action {one}.")),
        many => Some(format!("Written by actions {}.", many.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::view::{CheckpointView, DiffPart};
    use super::{render_notes, render_notes_in_text};

    #[test]
    fn what_a_file_holds_stands_behind_the_first_line_of_a_note() {
        let text = "@@ -0,0 +1,1 @@\n+![x](http://evil.example) | \u{200b}\n".to_owned();
        let diff = vec![DiffPart { path: "x".into(), text, ..DiffPart::default() }];
        let view = CheckpointView { commit: Some("a".repeat(40)), diff, ..CheckpointView::default() };
        let notes = render_notes(&view);
        let (first, rest) = notes[0].2.split_once('\n').expect("two lines");
        assert_eq!(first, "This line holds characters that don't show:");
        assert_eq!(rest.trim(), "`![x](http://evil.example) | \\u{200b}`");
    }

    #[test]
    fn a_note_in_the_text_names_its_line() {
        let notes = [("a.js", 1, "A very long line."), ("b`.rs", 20, "**blocker** — it says:\n\n> It raises.\n")];
        let text = render_notes_in_text(notes.into_iter());
        let (head, rest) = text.split_once("\n\n").expect("notes");
        assert_eq!(head, "**Notes on lines** — the forge failed at them there:");
        let shown = "`a.js:1` — A very long line.\n\n``b`.rs:20`` — **blocker** — it says:\n\n> It raises.";
        assert_eq!(rest, shown);
    }
}
