//! Which lines of a text are inside a string that extends over several lines.
//!
//! Owns: the marks of such strings in Python, JavaScript and Rust, and what hides them: comments, other strings, regular expressions.
//! Linear in the text.

use std::sync::LazyLock;

use regex::Regex;

/// How a string that may go on over several lines begins and ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    begin: &'static str,
    end: &'static str,
    /// Whether nothing is escaped in it.
    is_raw: bool,
}

const fn quoted(mark: &'static str) -> Mark {
    Mark { begin: mark, end: mark, is_raw: false }
}

const fn raw(begin: &'static str, end: &'static str) -> Mark {
    Mark { begin, end, is_raw: true }
}

const MARKS: [Mark; 3] = [quoted("\"\"\""), quoted("'''"), quoted("`")];
/// In Rust every string may go on; a comment, which may hold half of one, is read as one.
const MARKS_OF_RUST: [Mark; 6] =
    [raw("r###\"", "\"###"), raw("r##\"", "\"##"), raw("r#\"", "\"#"), raw("r\"", "\""), quoted("\""), raw("/*", "*/")];

/// Longer lines are not read.
const LONGEST: usize = 4096;

/// What only a text in Rust has.
static RUST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:(?:(?:async|const|unsafe)\s+)*fn\s+\w+\s*[<(]|impl\b.*\{|(?:const|static)\s+\w+\s*:\s*&)",
    )
    .expect("a literal")
});
/// What stands at the beginning of a line in other languages only.
static OTHER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:(?:async\s+)?(?:def|function)\b|class\b|import\b|from\b|export\b|(?:const|var)\s+[\w$]+\s*=)")
        .expect("a literal")
});

/// For each line whether it begins inside a string over several lines.
pub(in crate::engine::style) fn texts(lines: &[&str]) -> Vec<bool> {
    let is_rust = lines.iter().any(|line| RUST.is_match(line)) && !lines.iter().any(|line| OTHER.is_match(line));
    let mut marks = if is_rust { MARKS_OF_RUST.to_vec() } else { MARKS.to_vec() };
    let mut inside = vec![false; lines.len()];
    let mut open: Option<(Mark, usize)> = None;
    let mut at = 0;
    while at < lines.len() {
        inside[at] = open.is_some();
        let now = left_open(lines[at], open.map(|(mark, _)| mark), &marks, is_rust);
        open = now.map(|(mark, is_new)| match open {
            Some((_, from)) if !is_new => (mark, from),
            _ => (mark, at),
        });
        at += 1;
        if let Some((mark, from)) = open.filter(|_| at == lines.len()) {
            inside[from + 1..].fill(false);
            // It opens what nothing closes, and so is no string.
            marks.retain(|known| *known != mark);
            (open, at) = (None, from + 1);
        }
    }
    inside
}

/// The mark of the string that is open behind this line, and whether it begins in this line; `open`: the one before it.
fn left_open(line: &str, open: Option<Mark>, marks: &[Mark], is_rust: bool) -> Option<(Mark, bool)> {
    if line.len() > LONGEST {
        return None;
    }
    let mut open = open.map(|mark| (mark, false));
    let mut at = 0;
    while at < line.len() {
        let (before, rest) = line.split_at(at);
        if let Some((mark, _)) = open {
            let raw = || rest.find(mark.end).map(|at| at + mark.end.len());
            let Some(end) = (if mark.is_raw { raw() } else { behind(rest, mark.end) }) else { return open };
            at += end;
            open = None;
        } else if is_comment(before, rest, is_rust) {
            return None;
        } else if let Some(mark) = marks.iter().find(|mark| begins(before, rest, mark)) {
            at += mark.begin.len();
            open = Some((*mark, true));
        } else {
            at += if is_rust { unit_of_rust(rest) } else { unit(before, rest) };
        }
    }
    open
}

/// Whether the string begins here. Before the `r` of a raw one only `b` or `c` may stand.
fn begins(before: &str, rest: &str, mark: &Mark) -> bool {
    let is_name = |text: &str| text.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let head = before.strip_suffix(['b', 'c']).unwrap_or(before);
    rest.starts_with(mark.begin) && !(mark.begin.starts_with('r') && is_name(head))
}

fn is_comment(before: &str, rest: &str, is_rust: bool) -> bool {
    let others = ["/*", "# "].iter().any(|mark| rest.starts_with(mark))
        || rest == "#"
        || (rest.starts_with('*') && before.trim_start().is_empty());
    rest.starts_with("//") || (others && !is_rust)
}

/// How much of a line in Rust is one: a character in quotes, which may be a mark, or a single sign.
fn unit_of_rust(rest: &str) -> usize {
    let mut signs = rest.chars();
    let first = signs.next().map_or(1, char::len_utf8);
    let quoted = match (signs.next(), signs.next()) {
        _ if !rest.starts_with('\'') => None,
        (Some('\\'), _) => behind(&rest[1..], "'").map(|end| end + 1),
        (Some(sign), Some('\'')) => Some(sign.len_utf8() + 2),
        _ => None,
    };
    quoted.unwrap_or(first)
}

/// How much of the line is one: a string in quotes, a regular expression, an escaped character or a single one.
fn unit(before: &str, rest: &str) -> usize {
    let Some(first) = rest.chars().next() else { return 1 };
    let operators = ['(', ',', '=', ':', '[', '!', '&', '|', '?', '{', ';', '>'];
    let is_expression = || before.trim_end().is_empty() || before.trim_end().ends_with(operators);
    let quoted = match first {
        '"' => behind(&rest[1..], "\""),
        '\'' => behind(&rest[1..], "'"),
        '/' if is_expression() => behind(&rest[1..], "/"),
        '\\' => rest[1..].chars().next().map(char::len_utf8),
        _ => None,
    };
    quoted.map_or(first.len_utf8(), |end| end + 1)
}

/// Where the text goes on behind the mark, which is not escaped.
fn behind(text: &str, mark: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if !escaped && text[at..].starts_with(mark) {
            return Some(at + mark.len());
        }
        escaped = !escaped && c == '\\';
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(text: &str) -> Vec<usize> {
        let lines: Vec<&str> = text.lines().collect();
        texts(&lines).iter().enumerate().filter(|(_, inside)| **inside).map(|(at, _)| at).collect()
    }

    #[test]
    fn strings_over_several_lines_are_found_and_nothing_else() {
        assert_eq!(inside("x = \"\"\"a\nb\n\"\"\"\ny = 1\n"), [1, 2]);
        assert_eq!(inside("const a = `x\n${b} \\` '\n`;\nf();\n"), [1, 2]);
        let others = "'\"\"\"'\n\"'''\"\n/// a ` tick\n// `\n# `\n/*\n * `\n */\nconst r = /[`'\"]/;\nfn f<'a>(x: &'a str) {}\nx = \"\"\"one\"\"\"\n";
        assert_eq!(inside(others), Vec::<usize>::new());
    }

    #[test]
    fn every_string_of_rust_may_go_on() {
        let plain = "fn f() {\n    a(\"x \\\n      \\\"}\n\", '\"', b'\\'');\n    let x: &'static str = \"y\";\n}\n";
        assert_eq!(inside(plain), [2, 3]);
        let raw = "const A: &str = r#\"\nfn no() { \"{\" \\\n\"#;\nconst B: &[u8] = br\"\\\";\nfn g() {}\n";
        assert_eq!(inside(raw), [1, 2]);
        let others = "// a \" mark\n/* a \" mark */\nfn for_r(x: &'a str) -> char { '\"' }\nfn g() { *x = \"a\"; \"/*\" }\nmacro!(# \"b\")\n";
        assert_eq!(inside(others), Vec::<usize>::new());
        assert_eq!(inside("fn f() {\n    /* a \"\n    mark */\n}\nfn g() {}\n"), [2]);
        assert_eq!(inside("def f():\n    return \"a\nfn g() {\n\"\n"), Vec::<usize>::new(), "not in Python");
    }

    #[test]
    fn what_nothing_closes_is_no_string() {
        assert_eq!(inside("a ` b\nx = '''\ny\n'''\nz\n"), [2, 3]);
    }
}
