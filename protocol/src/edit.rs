//! The effect of replacements on a text; the runner carries them out, and the bot predicts what they do to a test.
//!
//! Owns the semantics of an edit: the exact text first; if it does not occur, the only place that equals it except for white space at the
//! ends of lines. Such a place keeps the file's indentation and line ends; if the indentation is ambiguous, nothing is changed. New lines for
//! a part of one line end in CRLF if all lines of the file do. Pure.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The longest text that an edit may produce, in bytes, because several edits of one call could multiply it.
pub const MOST_TEXT: usize = 16 << 20;

/// The most comparisons (lines of the text times lines of `old`) for which a place that differs in white space is searched.
const MOST_COMPARED: usize = 20_000_000;

/// Replaces `old` by `new`: the only occurrence, or with `all` every one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// Text that is replaced; never empty.
    pub old: String,
    /// Replacement; must differ from `old`.
    pub new: String,
    /// Whether every occurrence is replaced; otherwise more than one is an error.
    pub all: bool,
}

/// A text after an edit.
#[derive(Debug, PartialEq, Eq)]
pub struct Edited {
    /// The whole text.
    pub text: String,
    /// Byte offsets in the text before the edit at which something was replaced, in order.
    pub places: Vec<usize>,
    /// By how many bytes each place grew or shrank.
    pub grew: isize,
    /// The replacement as it was inserted.
    pub new: String,
    /// Whether the place was found only without regard to white space at the ends of lines.
    pub loosely: bool,
}

/// Why nothing is changed.
#[derive(Debug, PartialEq, Eq)]
pub enum Unmatched {
    /// `old` is empty.
    Empty,
    /// `old` and `new` are the same.
    Same,
    /// `old` occurs at these bytes, and `all` is not set.
    Several(Vec<usize>),
    /// The result would be longer than [`MOST_TEXT`] and longer than the text is.
    TooLong,
    /// `old` does not occur, and not exactly one place equals it without regard to white space.
    Absent,
}

/// `text` after the edit.
///
/// # Errors
/// Why nothing is changed.
pub fn apply(text: &str, edit: &Edit) -> Result<Edited, Unmatched> {
    let Edit { old, new, all } = edit;
    if old.is_empty() {
        return Err(Unmatched::Empty);
    }
    if old == new {
        return Err(Unmatched::Same);
    }
    let places: Vec<usize> = text.match_indices(old.as_str()).map(|(at, _)| at).collect();
    match places.as_slice() {
        [] => loosely(text, old, new).ok_or(Unmatched::Absent),
        [_, _, ..] if !all => Err(Unmatched::Several(places)),
        _ => {
            let new = ended(text, old, new);
            let grew = new.len() as isize - old.len() as isize;
            let length = text.len().saturating_add(places.len().saturating_mul(new.len()));
            if grew > 0 && length > MOST_TEXT {
                return Err(Unmatched::TooLong);
            }
            let text = text.replace(old.as_str(), &new);
            Ok(Edited { text, places, grew, new: new.into_owned(), loosely: false })
        }
    }
}

/// The replacement with CRLF at the ends of its lines, if all lines of the text end so and `old` has no line end, which would say which one
/// is meant.
fn ended<'a>(text: &str, old: &str, new: &'a str) -> Cow<'a, str> {
    let is_crlf = || text.matches('\n').count() == text.matches("\r\n").count();
    match new.contains('\n') && !old.contains(['\r', '\n']) && text.contains('\n') && is_crlf() {
        true => new.replace("\r\n", "\n").replace('\n', "\r\n").into(),
        false => new.into(),
    }
}

/// A line without its end: indentation, and the rest without white space at its end.
fn parts(line: &str) -> (&str, &str) {
    let rest = line.trim_start();
    (&line[..line.len() - rest.len()], rest.trim_end())
}

fn loosely(text: &str, old: &str, new: &str) -> Option<Edited> {
    let wanted: Vec<(&str, &str)> = old.lines().map(parts).collect();
    if wanted.iter().all(|(_, rest)| rest.is_empty()) {
        return None;
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let there: Vec<(&str, &str)> = lines.iter().map(|line| parts(line)).collect();
    if lines.len().saturating_mul(wanted.len()) > MOST_COMPARED {
        return None;
    }
    let fits = |at: &usize| there[*at..*at + wanted.len()].iter().zip(&wanted).all(|(one, other)| one.1 == other.1);
    let mut places = (0..(there.len() + 1).saturating_sub(wanted.len())).filter(fits);
    let (at, None) = (places.next()?, places.next()) else { return None };
    let found = &lines[at..at + wanted.len()];
    let indents =
        Indents::of(wanted.iter().zip(&there[at..]).filter(|(line, _)| !line.1.is_empty()).map(|(w, t)| (w.0, t.0)))?;
    let from: usize = lines[..at].iter().map(|line| line.len()).sum();
    let last = found.last()?;
    let own = last.len() - last.trim_end_matches(['\r', '\n']).len();
    // The end of the last line is replaced too if `old` has one.
    let to = from + found.iter().map(|line| line.len()).sum::<usize>() - if old.ends_with('\n') { 0 } else { own };
    let end = if found.iter().any(|line| line.ends_with("\r\n")) { "\r\n" } else { "\n" };
    let mut put = String::new();
    for (n, line) in new.lines().enumerate() {
        put.push_str(if n > 0 { end } else { "" });
        let (indent, rest) = line.split_at(line.len() - line.trim_start().len());
        if !rest.is_empty() {
            put.push_str(&indents.turned(indent)?);
            put.push_str(rest.trim_end_matches('\r'));
        }
    }
    // If the file's last line has no end, the result has none either.
    if new.ends_with('\n') && !put.is_empty() && (own > 0 || !old.ends_with('\n')) {
        put.push_str(end);
    }
    if put.len() > MOST_TEXT {
        return None;
    }
    let replaced = &text[from..to];
    let grew = put.len() as isize - replaced.len() as isize;
    let changed = format!("{}{put}{}", &text[..from], &text[to..]);
    (changed != text).then_some(Edited { text: changed, places: vec![from], grew, new: put, loosely: true })
}

/// Maps the indentation of an edit to the file's.
struct Indents<'a> {
    known: BTreeMap<&'a str, &'a str>,
    /// What each line of the file is indented more, or less.
    more: Option<&'a str>,
    less: Option<&'a str>,
}

impl<'a> Indents<'a> {
    /// Built from pairs of an edit's and the file's indentation; none if one of the edit's maps to two of the file's.
    fn of(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Option<Self> {
        let mut known = BTreeMap::new();
        for (edits, files) in pairs {
            if *known.entry(edits).or_insert(files) != files {
                return None;
            }
        }
        let (first, then) = known.first_key_value()?;
        let more = then.strip_suffix(first).filter(|more| {
            known.iter().all(|(edits, files)| files.strip_prefix(more).is_some_and(|rest| rest == *edits))
        });
        let less = first.strip_suffix(then).filter(|less| {
            known.iter().all(|(edits, files)| edits.strip_prefix(less).is_some_and(|rest| rest == *files))
        });
        Some(Self { more, less, known })
    }

    /// The file's indentation for one of the edit; none if no line of the edit shows it.
    fn turned(&self, indent: &str) -> Option<String> {
        if let Some(files) = self.known.get(indent) {
            return Some((*files).to_owned());
        }
        let more = self.more.map(|more| format!("{more}{indent}"));
        more.or_else(|| indent.strip_prefix(self.less?).map(str::to_owned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(old: &str, new: &str, all: bool) -> Edit {
        Edit { old: old.to_owned(), new: new.to_owned(), all }
    }

    /// The text afterwards, of an edit that does not match exactly.
    fn loose(text: &str, old: &str, new: &str) -> Option<String> {
        let edited = apply(text, &edit(old, new, false)).ok()?;
        assert!(edited.loosely, "{old}");
        assert_eq!(edited.text.len() as isize - text.len() as isize, edited.grew);
        assert!(edited.text[edited.places[0]..].starts_with(&edited.new));
        Some(edited.text)
    }

    #[test]
    fn the_only_occurrence_is_replaced_and_several_only_on_request() {
        let one = apply("a b a\n", &edit("b", "cc", false)).expect("one");
        assert_eq!((one.text.as_str(), one.places, one.grew, one.loosely), ("a cc a\n", vec![2], 1, false));
        let all = apply("a b\na\n", &edit("a", "x", true)).expect("all");
        assert_eq!((all.text.as_str(), all.places), ("x b\nx\n", vec![0, 4]));
        assert_eq!(apply("a\na", &edit("a", "x", false)), Err(Unmatched::Several(vec![0, 2])));
        assert_eq!(apply("a", &edit("", "x", false)), Err(Unmatched::Empty));
        assert_eq!(apply("a", &edit("a", "a", false)), Err(Unmatched::Same));
        assert_eq!(apply("a", &edit("b", "x", true)), Err(Unmatched::Absent));
    }

    #[test]
    fn new_lines_in_place_of_a_part_of_a_line_end_as_the_files_own() {
        let done = |text: &str, old: &str, new: &str| {
            let edited = apply(text, &edit(old, new, true)).expect("it occurs");
            assert!(!edited.loosely && edited.text[edited.places[0]..].starts_with(&edited.new));
            assert_eq!(edited.text.len() as isize - text.len() as isize, edited.grew * edited.places.len() as isize);
            edited.text
        };
        assert_eq!(done("a\r\nb\r\n", "b", "b\nc"), "a\r\nb\r\nc\r\n");
        assert_eq!(done("a\r\na\r\n", "a", "b\r\nc\nd"), "b\r\nc\r\nd\r\nb\r\nc\r\nd\r\n");
        // The file's ends are not all the same, there are none, or the edit says which ones it means.
        assert_eq!(done("a\r\nb\n", "b", "b\nc"), "a\r\nb\nc\n");
        assert_eq!(done("b", "b", "b\nc"), "b\nc");
        assert_eq!(done("a\r\nb\r\n", "\r\n", "\n"), "a\nb\n");
        assert_eq!(done("a\r\nb\r\n", "\nb", "\nx\ny"), "a\r\nx\ny\r\n");
    }

    #[test]
    fn a_place_with_other_white_space_keeps_the_files_own() {
        let file = "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        pass\n";
        // Without the class's indentation, and with a line deeper than any in `old`.
        let new = "def f(self):\n    if self:\n        return 2\n    return 1";
        let changed = loose(file, "def f(self):\n    return 1", new).expect("one place");
        assert_eq!(
            changed,
            "class A:\n    def f(self):\n        if self:\n            return 2\n        return 1\n\n    def g(self):\n        pass\n"
        );
        // With too much indentation.
        let less = loose("def f():\n    return 1\n", "  def f():\n      return 1\n", "  def f():\n      return 2\n");
        assert_eq!(less.as_deref(), Some("def f():\n    return 2\n"));
        // Tabs for blanks, and other line ends.
        assert_eq!(
            loose("if x {\n\ty()\n}\n", "if x {\n  y()\n}", "if x {\n  z()\n}").as_deref(),
            Some("if x {\n\tz()\n}\n")
        );
        assert_eq!(
            loose("a\r\n  b\r\nc\r\n", "a\n  b\n", "a\n  x\n  y\n").as_deref(),
            Some("a\r\n  x\r\n  y\r\nc\r\n")
        );
        assert_eq!(loose("a = 1  \nb = 2\n", "a = 1\nb = 2", "a = 3\nb = 2").as_deref(), Some("a = 3\nb = 2\n"));
        // Lines are removed, and the last line has no end.
        assert_eq!(loose("  a\n  b\n", "   a\n", "").as_deref(), Some("  b\n"));
        assert_eq!(loose("x\n  b", "    b\n", "    c\n").as_deref(), Some("x\n  c"));
    }

    #[test]
    fn no_edit_multiplies_a_text_without_end() {
        let text = "e".repeat(1 << 10);
        let grow = |text: &str| apply(text, &edit("e", &"e".repeat(40), true)).map(|edited| edited.text);
        let once = grow(&text).expect("it fits");
        let twice = grow(&once).expect("it fits");
        assert_eq!(grow(&twice), Err(Unmatched::TooLong), "62 MiB");
    }

    #[test]
    fn what_could_be_two_things_is_neither() {
        for (text, old, new) in [
            // Two places.
            ("  a = 1\n\ta = 1\n", "    a = 1\n", "    a = 2\n"),
            // One indentation of the edit maps to two of the file.
            ("  a\n    b\n", "a\nb", "a\nc"),
            // A level that the edit does not show: three blanks, where two became a tab.
            ("if x {\n\ty()\n}\n", "if x {\n  y()\n}", "if x {\n   z()\n}"),
            // A part of a line, spaces inside a line, nothing but white space.
            ("x = f(a,\n      b)\n", "f(a,\n  b)", "g()"),
            ("fn  main() {\n", "fn main() {", "fn x() {"),
            ("a\n\n\nb\n", " \n \n", "x"),
            ("a\n", "a\nb\nc\n", "x"),
        ] {
            assert_eq!(apply(text, &edit(old, new, false)), Err(Unmatched::Absent), "{old}");
        }
    }
}
