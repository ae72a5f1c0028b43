//! Replacing text in a file, and saying precisely why it can't be done.

use std::fmt::Write as _;

use super::nearest::nearest;
use super::read::shorten;
use super::shown::show;
use super::{FileError, Said, Scope, read, write};
use crate::written::Written;

/// Lines shown on either side of a change.
const AROUND: usize = 3;

pub struct Edit {
    pub old: String,
    pub new: String,
    pub all: bool,
}

pub fn edit_file(scope: &Scope<'_>, path: &str, edit: &Edit) -> Result<Said, FileError> {
    let relative = scope.workspace.relative(path)?;
    let shown = show(&relative);
    let bytes = read::bytes(scope, &relative)?;
    let Ok(text) = String::from_utf8(bytes) else {
        return FileError::told(format!("{shown} is not UTF-8 text; change it with bash"));
    };
    let changed = apply(&text, edit).map_err(|refused| {
        let told = format!("{shown}: {}", refused.reason);
        match refused.near {
            Some(lines) => FileError::Near { told, lines },
            None => FileError::Told(told),
        }
    })?;
    write::replace(scope, &relative, changed.text.as_bytes(), false)?;
    let times = if changed.count == 1 { "once".to_owned() } else { format!("{} times", changed.count) };
    let said = format!("{shown}: replaced {times}\n{}", around(&changed.text, changed.first, &edit.new));
    let written = Written::new(shown, Some(text.into_bytes()), &changed.text);
    Ok(Said { text: said, written: written.into_iter().collect() })
}

struct Changed {
    text: String,
    count: usize,
    /// Byte at which the first change begins.
    first: usize,
}

/// Why nothing was changed.
#[derive(Debug)]
struct Refused {
    reason: String,
    /// Lines of the file that `old` was probably meant to be.
    near: Option<String>,
}

impl From<&str> for Refused {
    fn from(reason: &str) -> Self {
        Self { reason: reason.to_owned(), near: None }
    }
}

/// The text after the edit, or a sentence about what is wrong with it.
fn apply(text: &str, edit: &Edit) -> Result<Changed, Refused> {
    if edit.old.is_empty() {
        return Err("`old` is empty; use write_file to make a file, or name the text to replace".into());
    }
    if edit.old == edit.new {
        return Err("`old` and `new` are the same; nothing would change".into());
    }
    let places: Vec<usize> = text.match_indices(&edit.old).map(|(at, _)| at).collect();
    match places.as_slice() {
        [] => Err(absent(text, &edit.old)),
        [_, _, ..] if !edit.all => Err(ambiguous(text, &places).as_str().into()),
        [first, ..] => {
            let changed = text.replace(&edit.old, &edit.new);
            Ok(Changed { text: changed, count: places.len(), first: *first })
        }
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

/// `old` occurs 0 times: what is nearest, and how it differs.
fn absent(text: &str, old: &str) -> Refused {
    let said = "`old` occurs 0 times";
    let told = |reason: &str| Refused { reason: format!("{said}{reason}"), near: None };
    if text.contains("\r\n") && text.replace("\r\n", "\n").contains(&old.replace("\r\n", "\n")) {
        return told(": the file's lines end in CR LF; write them so, or change it with bash");
    }
    if old.trim().is_empty() {
        return told(": it is nothing but white space");
    }
    let Some(near) = nearest(text, old) else {
        return told(", and nothing is like it; read the file again, it may have changed");
    };
    let lines = if near.first == near.last {
        format!("line {}", near.first)
    } else {
        format!("lines {} to {}", near.first, near.last)
    };
    let how = if near.blanks_only { "there only white space differs" } else { "copy what is really there" };
    Refused { reason: format!("{said}; nearest is {lines}, below: {how}"), near: Some(near.shown) }
}

/// The changed lines with a few on either side, numbered.
fn around(text: &str, first: usize, new: &str) -> String {
    let line = line_of(text, first);
    let from = line.saturating_sub(AROUND).max(1);
    let count = line - from + new.lines().count().clamp(1, 40) + AROUND;
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
        match apply(text, &edit(old, "new", false)) {
            Ok(_) => panic!("{old} was found"),
            Err(refused) => refused.reason + "\n" + &refused.near.unwrap_or_default(),
        }
    }

    #[test]
    fn the_only_occurrence_is_replaced_and_several_only_on_request() {
        let one = apply("a b a\n", &edit("b", "c", false)).expect("one");
        assert_eq!((one.text.as_str(), one.count), ("a c a\n", 1));
        let all = apply("a b\na\n", &edit("a", "x", true)).expect("all");
        assert_eq!((all.text.as_str(), all.count), ("x b\nx\n", 2));
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
        assert!(fails("a\r\nb\r\n", "a\nb").contains("CR LF"));
        assert!(fails("a", "").contains("empty"));
        assert!(fails("new", "new").contains("the same"));
    }

    #[test]
    fn what_surrounds_a_change_is_numbered() {
        assert_eq!(around("1\n2\n3\n4\nX\n6\n", 8, "X"), "     2\t2\n     3\t3\n     4\t4\n     5\tX\n     6\t6\n");
    }
}
