//! Which lines of a text are inside a string that extends over several lines.
//!
//! Owns: the marks of such strings in Python and JavaScript, and what hides them: comments, other strings, regular expressions. Linear in the
//! text.

const MARKS: [&str; 3] = ["\"\"\"", "'''", "`"];

/// Longer lines are not read.
const LONGEST: usize = 4096;

/// For each line whether it begins inside a string over several lines.
pub(in crate::engine::style) fn texts(lines: &[&str]) -> Vec<bool> {
    let mut inside = vec![false; lines.len()];
    // Marks that open what nothing closes, and so are no strings.
    let mut endless: Vec<&str> = Vec::new();
    let mut open: Option<(&'static str, usize)> = None;
    let mut at = 0;
    while at < lines.len() {
        inside[at] = open.is_some();
        let now = left_open(lines[at], open.map(|(mark, _)| mark), &endless);
        open = now.map(|mark| match open {
            Some((_, from)) if !lines[at].contains(mark) => (mark, from),
            _ => (mark, at),
        });
        at += 1;
        if let Some((mark, from)) = open.filter(|_| at == lines.len()) {
            inside[from + 1..].fill(false);
            endless.push(mark);
            (open, at) = (None, from + 1);
        }
    }
    inside
}

/// The mark of the string that is open behind this line; `open`: the one before it.
fn left_open(line: &str, open: Option<&'static str>, endless: &[&str]) -> Option<&'static str> {
    if line.len() > LONGEST {
        return None;
    }
    let mut open = open;
    let mut at = 0;
    while at < line.len() {
        let (before, rest) = line.split_at(at);
        if let Some(mark) = open {
            let Some(end) = behind(rest, mark) else { return open };
            at += end;
            open = None;
        } else if is_comment(before, rest) {
            return None;
        } else if let Some(mark) = MARKS.into_iter().find(|mark| rest.starts_with(mark) && !endless.contains(mark)) {
            at += mark.len();
            open = Some(mark);
        } else {
            at += unit(before, rest);
        }
    }
    open
}

fn is_comment(before: &str, rest: &str) -> bool {
    ["//", "/*", "# "].iter().any(|mark| rest.starts_with(mark))
        || rest == "#"
        || (rest.starts_with('*') && before.trim_start().is_empty())
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
    fn what_nothing_closes_is_no_string() {
        assert_eq!(inside("a ` b\nx = '''\ny\n'''\nz\n"), [2, 3]);
    }
}
