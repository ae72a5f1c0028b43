//! Replaces text in a file, or explains precisely why it can't be replaced.

use std::fmt::Write as _;

use protocol::edit::{Edit, Unmatched, apply};

use super::nearest::nearest;
use super::read::shorten;
use super::shown::show;
use super::{FileError, FileResult, Scope, read, write};
use crate::written::Written;

/// Lines shown on either side of a change.
const AROUND: usize = 3;

/// Applies all of the edits, each to the result of the one before it, or none.
pub fn edit_file(scope: &Scope<'_>, path: &str, edits: &[Edit]) -> Result<FileResult, FileError> {
    let relative = scope.workspace.relative(path)?;
    let shown = show(&relative);
    let bytes = read::bytes(scope, &relative)?;
    let Ok(before) = String::from_utf8(bytes) else {
        return FileError::sentence(format!("{shown} is not UTF-8 text; change it with bash"));
    };
    let mut text = before.clone();
    // Position of each edit's first change in the present text, and the number of its lines.
    let mut changes: Vec<(usize, usize)> = Vec::new();
    let (mut count, mut loosely) = (0, Vec::new());
    for (nth, edit) in edits.iter().enumerate() {
        let edited =
            apply(&text, edit).map_err(|why| sentence(&shown, (nth, edits.len()), refused(&text, edit, why)))?;
        for (at, _) in &mut changes {
            let before = edited.places.iter().filter(|place| **place < *at).count();
            // A place that a later edit replaced as well has no exact position any more.
            *at = edited.text.floor_char_boundary(at.saturating_add_signed(edited.grew * before as isize));
        }
        if edited.loosely {
            loosely.push(line_of(&edited.text, edited.places[0]));
        }
        changes.push((edited.places[0], edited.new.lines().count()));
        count += edited.places.len();
        text = edited.text;
    }
    scope.go_on()?;
    write::replace(scope, &relative, text.as_bytes(), false)?;
    let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
    let mut said = format!("{shown}: replaced {times}\n");
    for line in loosely {
        // Writing to a string can't fail.
        let _ = writeln!(
            said,
            "(`old` did not match exactly: white space differed at line {line}; the file's own was kept)"
        );
    }
    for (at, lines) in changes {
        said.push_str(&around(&text, at, lines));
    }
    let written = Written::new(shown, Some(before.into_bytes()), &text);
    Ok(FileResult { text: said, written: written.into_iter().collect(), picture: None })
}

/// Why nothing was changed.
#[derive(Debug)]
struct Refused {
    reason: String,
    /// Lines of the file that `old` was probably meant to match.
    near: Option<String>,
}

impl From<&str> for Refused {
    fn from(reason: &str) -> Self {
        Self { reason: reason.to_owned(), near: None }
    }
}

fn refused(text: &str, edit: &Edit, why: Unmatched) -> Refused {
    match why {
        Unmatched::Empty => "`old` is empty; use write_file to make a file, or name the text to replace".into(),
        Unmatched::TooLong => "the file would become too long; write less at once".into(),
        Unmatched::Same => "`old` and `new` are the same; nothing would change".into(),
        Unmatched::Several(places) => ambiguous(text, &places).as_str().into(),
        Unmatched::Absent => absent(text, &edit.old),
    }
}

/// The reason why one edit was refused, with its place `nth` (from 0) among all edits.
fn sentence(shown: &str, (nth, of): (usize, usize), refused: Refused) -> FileError {
    let sentence = match of {
        1 => format!("{shown}: {}", refused.reason),
        _ => format!("{shown}, edit {} of {of} (none was made): {}", nth + 1, refused.reason),
    };
    match refused.near {
        Some(lines) => FileError::Near { sentence, lines },
        None => FileError::Sentence(sentence),
    }
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

fn ambiguous(text: &str, places: &[usize]) -> String {
    let lines: Vec<_> = places.iter().take(10).map(|&at| line_of(text, at).to_string()).collect();
    let more = if places.len() > 10 { ", ..." } else { "" };
    format!(
        "`old` occurs {} times (lines {}{more}); add surrounding lines so that it occurs once, or set `all`",
        places.len(),
        lines.join(", ")
    )
}

/// `old` does not occur: finds the nearest lines and how they differ.
fn absent(text: &str, old: &str) -> Refused {
    let said = "`old` occurs 0 times";
    let sentence = |reason: &str| Refused { reason: format!("{said}{reason}"), near: None };
    if text.contains("\r\n") && text.replace("\r\n", "\n").contains(&old.replace("\r\n", "\n")) {
        return sentence(": the file's lines end in CR LF; write them so, or change it with bash");
    }
    if old.trim().is_empty() {
        return sentence(": it is nothing but white space");
    }
    let Some(near) = nearest(text, old) else {
        return sentence(", and nothing is like it; read the file again, it may have changed");
    };
    let lines = if near.first == near.last {
        format!("line {}", near.first)
    } else {
        format!("lines {} to {}", near.first, near.last)
    };
    let how = if near.blanks_only { "there only white space differs" } else { "copy what is really there" };
    Refused { reason: format!("{said}; nearest is {lines}, below: {how}"), near: Some(near.shown) }
}

/// The changed lines with a few around them, numbered.
fn around(text: &str, first: usize, lines: usize) -> String {
    let line = line_of(text, first);
    let from = line.saturating_sub(AROUND).max(1);
    let count = line - from + lines.clamp(1, 40) + AROUND;
    let mut out = String::new();
    for (index, line) in text.lines().enumerate().skip(from - 1).take(count) {
        // Writing to a string can't fail.
        let _ = writeln!(out, "{:>6}\t{}", index + 1, shorten(line));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(old: &str, new: &str, all: bool) -> Edit {
        Edit { old: old.to_owned(), new: new.to_owned(), all }
    }

    fn fails(text: &str, old: &str) -> String {
        let edit = edit(old, "new", false);
        match apply(text, &edit) {
            Ok(_) => panic!("{old} was found"),
            Err(why) => {
                let refused = refused(text, &edit, why);
                refused.reason + "\n" + &refused.near.unwrap_or_default()
            }
        }
    }

    #[test]
    fn it_says_how_often_and_where() {
        assert!(fails("a\nb\na\n", "a").contains("occurs 2 times (lines 1, 3)"));
        assert!(fails("a\n", "zebra").contains("occurs 0 times, and nothing is like it"));
        let blanks = fails("fn  main() {\n", "fn main() {");
        assert!(
            blanks.contains("nearest is line 1, below: there only white space differs\n     1\tfn  main() {"),
            "{blanks}"
        );
        let other = fails("fn run() {}\n\nfn main() {\n    run(1);\n}\n", "fn main() {\n    run(2);\n}");
        assert!(
            other.contains("nearest is lines 3 to 5, below: copy") && other.contains("     4\t    run(1);\n"),
            "{other}"
        );
        assert!(fails("a\n", " \n").contains("nothing but white space"));
        assert!(fails("a c\r\nb\r\n", "c\nb").contains("CR LF"));
        assert!(fails("a", "").contains("empty"));
        assert!(fails("new", "new").contains("the same"));
    }

    #[test]
    fn what_surrounds_a_change_is_numbered() {
        assert_eq!(around("1\n2\n3\n4\nX\n6\n", 8, 1), "     2\t2\n     3\t3\n     4\t4\n     5\tX\n     6\t6\n");
    }
}
