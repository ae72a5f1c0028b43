//! Replacing text in a file, and saying precisely why it can't be done.

use std::fmt::Write as _;

use super::path::show;
use super::read::shorten;
use super::{FileError, Scope, read, write};

/// Lines shown on either side of a change.
const AROUND: usize = 3;

pub struct Edit {
    pub old: String,
    pub new: String,
    pub all: bool,
}

pub fn edit_file(scope: &Scope<'_>, path: &str, edit: &Edit) -> Result<String, FileError> {
    let relative = scope.workspace.relative(path)?;
    let shown = show(&relative);
    let bytes = read::bytes(scope, &relative)?;
    let Ok(text) = String::from_utf8(bytes) else {
        return FileError::told(format!("{shown} is not UTF-8 text; change it with bash"));
    };
    let changed = apply(&text, edit).map_err(|reason| FileError::Told(format!("{shown}: {reason}")))?;
    write::replace(scope, &relative, changed.text.as_bytes(), false)?;
    let times = if changed.count == 1 { "once".to_owned() } else { format!("{} times", changed.count) };
    Ok(format!("{shown}: replaced {times}\n{}", around(&changed.text, changed.first, &edit.new)))
}

struct Changed {
    text: String,
    count: usize,
    /// Byte at which the first change begins.
    first: usize,
}

/// The text after the edit, or a sentence about what is wrong with it.
fn apply(text: &str, edit: &Edit) -> Result<Changed, String> {
    if edit.old.is_empty() {
        return Err("`old` is empty; use write_file to make a file, or name the text to replace".to_owned());
    }
    if edit.old == edit.new {
        return Err("`old` and `new` are the same; nothing would change".to_owned());
    }
    let places: Vec<usize> = text.match_indices(&edit.old).map(|(at, _)| at).collect();
    match places.as_slice() {
        [] => Err(absent(text, &edit.old)),
        [_, _, ..] if !edit.all => Err(ambiguous(text, &places)),
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

/// `old` occurs 0 times: what is closest, and why it differs.
fn absent(text: &str, old: &str) -> String {
    let said = "`old` occurs 0 times";
    if text.contains("\r\n") && text.replace("\r\n", "\n").contains(&old.replace("\r\n", "\n")) {
        return format!("{said}: the file's lines end in CR LF; write them so, or change it with bash");
    }
    let squeeze = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some(wanted) = old.lines().map(squeeze).find(|line| !line.is_empty()) else {
        return format!("{said}: it is nothing but white space");
    };
    let mut similar = text.lines().enumerate().filter(|(_, line)| squeeze(line).contains(&wanted));
    match similar.next() {
        Some((number, line)) => format!(
            "{said}; line {} has its first line, so white space or what follows differs:\n{}",
            number + 1,
            shorten(line)
        ),
        None => format!("{said}, nor does its first line; read the file again, it may have changed"),
    }
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
            Err(reason) => reason,
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
        assert!(fails("a\n", "zebra").contains("occurs 0 times, nor does its first line"));
        assert!(fails("fn  main() {\n", "fn main() {").contains("line 1 has its first line"));
        assert!(fails("a\r\nb\r\n", "a\nb").contains("CR LF"));
        assert!(fails("a", "").contains("empty"));
        assert!(fails("new", "new").contains("the same"));
    }

    #[test]
    fn what_surrounds_a_change_is_numbered() {
        assert_eq!(around("1\n2\n3\n4\nX\n6\n", 8, "X"), "     2\t2\n     3\t3\n     4\t4\n     5\tX\n     6\t6\n");
    }
}
