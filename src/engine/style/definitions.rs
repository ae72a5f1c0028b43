//! Where definitions of a text begin and end, judged by their lines alone.
//!
//! Owns: the forms in which definitions begin in common languages, and how far they extend, by indentation. It is not a parser: it places a
//! model's output into a file that was shown to it, in the host's process, in time linear in the text. Which lines are inside a string over
//! several lines: `texts.rs`. Destructuring patterns: `patterns.rs`.

mod patterns;
mod texts;

use std::collections::BTreeSet;
use std::iter;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

pub(super) use patterns::read as destructured;
pub(super) use texts::texts;

/// The most lines that a method's arguments take.
const ARGUMENTS: usize = 30;

/// Lines of a definition: from `lead` (with decorators, attributes and comments above it) up to, and without, `end`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Definition {
    pub name: String,
    /// Further names that it binds, if it is a destructuring pattern.
    pub others: Vec<String>,
    /// Whether it contains other definitions.
    pub holds: bool,
    pub lead: usize,
    pub first: usize,
    pub end: usize,
    pub indent: usize,
}

impl Definition {
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        iter::once(&self.name).chain(&self.others).map(String::as_str)
    }
}

static HEAD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^\s*(?:(?:pub(?:\([^)]*\))?|export|default|async|static|unsafe|public|private|protected|final|abstract|declare)\s+)*(def|class|(?:const\s+)?fn|function\s*\*?|struct|enum|trait|interface|type|mod|const|let|var|func|impl\b[^{]*)\s*([A-Za-z_$][\w$]*)?",
    )
    .expect("a literal")
});
static METHOD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s+(?:(?:async|static|get|set|public|private|protected)\s+)*\*?(#?[A-Za-z_$][\w$]*)\s*\([^;]*\)[^;={]*\{\s*$")
        .expect("a literal")
});

/// A static of Rust: elsewhere `static` stands before another word.
static STATIC: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:pub(?:\([^)]*\))?\s+)?static\s+(?:mut\s+|ref\s+)?([A-Z_][A-Z0-9_]*)\s*:").expect("a literal")
});

/// A top-level assignment, such as a table or an export.
static ASSIGNED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^([A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*)\s*(?::[^=]+)?=(?:[^=>]|$)").expect("a literal")
});

/// A top-level assignment of a table or an object.
static TABLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:export\s+)?(?:(?:const|let|var)\s+)?[A-Za-z_$][\w$.]*\s*(?::[^=]+)?=\s*[\[{]").expect("a literal")
});

/// Whether this line begins a top-level table or object.
pub(super) fn is_table(line: &str) -> bool {
    TABLE.is_match(line)
}

/// Columns of indentation; none for a blank line.
pub(super) fn indent(line: &str) -> Option<usize> {
    (!line.trim().is_empty()).then(|| line.len() - line.trim_start().len())
}

/// The indentation itself.
pub(super) fn prefix(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// The lines with another indentation. What is not indented so, such as the text of a string, stays where it is.
pub(super) fn shifted(lines: &[&str], from: &str, to: &str) -> Vec<String> {
    let shift = |line: &&str| match line.strip_prefix(from) {
        _ if from == to => (*line).to_owned(),
        _ if line.trim().is_empty() => String::new(),
        Some(rest) => format!("{to}{rest}"),
        None => (*line).to_owned(),
    };
    lines.iter().map(shift).collect()
}

/// The name whose definition begins in this line, and whether it contains other definitions.
pub(super) fn named(line: &str) -> Option<(String, bool)> {
    if let Some(found) = HEAD.captures(line) {
        let kind = found.get(1).map_or("", |kind| kind.as_str()).trim();
        if kind.starts_with("impl") {
            return Some((kind.split_whitespace().collect::<Vec<_>>().join(" "), true));
        }
        // `letters` does not begin with the keyword `let`, and `constructor()` is a method.
        let apart = |word: regex::Match<'_>, name: regex::Match<'_>| {
            word.end() < name.start() || !word.as_str().ends_with(char::is_alphanumeric)
        };
        let words = found.get(1).zip(found.get(2));
        if let Some((_, name)) = words.filter(|(word, name)| apart(*word, *name)) {
            let holds = matches!(kind, "class" | "trait" | "interface" | "mod");
            // Within a function `let` is a statement.
            let statement = matches!(kind, "let" | "var" | "const" | "type") && indent(line).unwrap_or(0) > 0;
            return (!statement).then(|| (name.as_str().to_owned(), holds));
        }
    }
    let name = STATIC.captures(line).or_else(|| METHOD.captures(line))?.get(1)?.as_str().to_owned();
    let keyword =
        matches!(name.as_str(), "if" | "for" | "while" | "switch" | "catch" | "function" | "return" | "match" | "with");
    (!keyword).then_some((name, false))
}

/// The name that a top-level line assigns to.
pub(super) fn assigned(line: &str) -> Option<&str> {
    ASSIGNED.captures(line).and_then(|found| found.get(1)).map(|name| name.as_str())
}

/// The same for a line of a text: a method's arguments may stand on lines of their own.
fn named_at(lines: &[&str], at: usize) -> Option<(String, bool)> {
    named(lines[at]).or_else(|| named(&with_arguments(lines, at)?))
}

/// A method's first line, joined with the lines of its arguments.
fn with_arguments(lines: &[&str], at: usize) -> Option<String> {
    let own = indent(lines[at]).filter(|_| lines[at].trim_end().ends_with('('))?;
    let behind = lines[at + 1..].iter().take(ARGUMENTS).position(|line| indent(line) == Some(own))?;
    let rest = &lines[at + 1..at + 2 + behind];
    // A call within a condition is closed together with it.
    let closes = |line: &str| line.trim_start().starts_with(')') && !line.trim_start().starts_with("))");
    rest.last().filter(|line| closes(line))?;
    Some(lines[at].to_owned() + &rest.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" "))
}

/// Methods that stand at the beginning of their lines, where no language has them: name and lines.
pub(super) fn bare_methods(lines: &[&str]) -> Vec<(String, Range<usize>)> {
    let texts = texts(lines);
    let found = (0..lines.len()).filter_map(|at| {
        let is_other = || named_at(lines, at).is_some() || assigned(lines[at]).is_some();
        if texts[at] || indent(lines[at]) != Some(0) || is_other() {
            return None;
        }
        let head = with_arguments(lines, at).unwrap_or_else(|| lines[at].to_owned());
        let (name, _) = named(&format!(" {head}"))?;
        Some((name, lead(lines, at, 0)..end(lines, &texts, at, 0)))
    });
    found.collect()
}

/// All definitions of the text, outer ones before those within them.
pub(super) fn all(lines: &[&str]) -> Vec<Definition> {
    let texts = texts(lines);
    let found = lines.iter().enumerate().filter(|(at, _)| !texts[*at]).filter_map(|(at, line)| {
        let one = named_at(lines, at).or_else(|| Some((assigned(line)?.to_owned(), false)));
        let ((name, holds), others) = match one {
            Some(one) => (one, Vec::new()),
            None => {
                let mut names = bound(lines, &texts, at)?.into_iter();
                ((names.next()?, false), names.collect())
            }
        };
        let indent = indent(line)?;
        let end = end(lines, &texts, at, indent);
        Some(Definition { name, others, holds, lead: lead(lines, at, indent), first: at, end, indent })
    });
    let mut all: Vec<Definition> = found.collect();
    // An object may contain functions.
    for at in 0..all.len() {
        let end = all[at].end;
        all[at].holds |= is_table(lines[all[at].first])
            && all.get(at + 1).is_some_and(|next| next.end <= end && next.indent > all[at].indent);
    }
    all
}

/// The names that the destructuring pattern in this line binds.
fn bound(lines: &[&str], texts: &[bool], at: usize) -> Option<Vec<String>> {
    let pattern = patterns::begins(lines[at]).then(|| destructured(&lines[at..end(lines, texts, at, 0)]))??;
    Some(pattern.names)
}

/// Names that a text defines at its top level.
pub(super) fn top_level(text: &str) -> BTreeSet<String> {
    let lines: Vec<&str> = text.lines().collect();
    let outer = all(&lines).into_iter().filter(|one| one.indent == 0);
    outer.flat_map(|one| iter::once(one.name).chain(one.others)).collect()
}

fn lead(lines: &[&str], at: usize, own: usize) -> usize {
    let above = |line: &&str| {
        let text = line.trim_start();
        let marks = ["@", "#[", "///", "//", "/**", "* ", "*/", "# "];
        indent(line).is_some_and(|deep| deep == own || (text.starts_with('*') && deep == own + 1))
            && (marks.iter().any(|mark| text.starts_with(mark)) || ["*", "#"].contains(&text.trim_end()))
    };
    at - lines[..at].iter().rev().take_while(|line| above(line)).count()
}

/// The line after the definition's last: it continues while lines are indented deeper, are inside a string, or close what was opened.
fn end(lines: &[&str], texts: &[bool], at: usize, own: usize) -> usize {
    let ends_header = |line: &str| line.trim_end().ends_with(['{', ':', ';', '}']);
    let mut last = at;
    let mut header = !ends_header(lines[at]);
    for (line, text) in lines.iter().enumerate().skip(at + 1) {
        if texts[line] {
            last = line;
            continue;
        }
        let Some(deep) = indent(text) else { continue };
        let word = text.trim_start();
        // A line of code that was commented out at the margin ends nothing.
        if deep <= own
            && (word.starts_with("//")
                || (word.starts_with('#') && !word.starts_with("#[") && !word.starts_with("#include")))
        {
            continue;
        }
        let closes = deep == own && word.starts_with(['}', ')', ']']);
        let bounds = word.trim_end() == "where" || (word.starts_with("where ") && word.contains(':'));
        // A header over several lines is closed before the body begins.
        let opens = deep == own && header && (word.starts_with('{') || bounds);
        if deep <= own && !closes && !opens {
            break;
        }
        last = line;
        header &= !ends_header(text);
        if closes && word.starts_with('}') {
            break;
        }
    }
    last + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> Vec<(String, usize, usize, usize)> {
        let lines: Vec<&str> = text.lines().collect();
        all(&lines).into_iter().map(|d| (d.name, d.lead, d.first, d.end)).collect()
    }

    #[test]
    fn definitions_end_where_their_indentation_does() {
        let python = "import a\n\n@cached\ndef one(\n    x,\n):\n    return 1\n\n\nclass Two:\n    def three(self):\n        pass\n\nx = 1\n";
        assert_eq!(
            seen(python),
            [("one".into(), 2, 3, 7), ("Two".into(), 9, 9, 12), ("three".into(), 10, 10, 12), ("x".into(), 13, 13, 14)]
        );
        let rust = "/// Adds.\n#[inline]\npub fn add(a: u8) -> u8 {\n    if a > 1 {\n        2\n    } else {\n        1\n    }\n}\n\nimpl Set for Map {\n    fn put(&self) {}\n}\n";
        assert_eq!(
            seen(rust),
            [("add".into(), 0, 2, 9), ("impl Set for Map".into(), 10, 10, 13), ("put".into(), 11, 11, 12)],
        );
        let script = "export class Bag {\n  constructor() {\n  }\n  add(item) {\n    if (item) {\n      let x = 1;\n    }\n  }\n}\nconst f = (a) => {\n  return a;\n};\n";
        assert_eq!(
            seen(script),
            [("Bag".into(), 0, 0, 9), ("constructor".into(), 1, 1, 3), ("add".into(), 3, 3, 8), ("f".into(), 9, 9, 12)]
        );
        let bounds =
            "pub fn top<T>(all: &[T]) -> Option<&T>\nwhere\n    T: Ord,\n{\n    all.iter().max()\n}\n\nwhereas();\n";
        assert_eq!(seen(bounds), [("top".into(), 0, 0, 6)]);
        let documented =
            "class Text {\n  /**\n   * Wraps.\n   *\n   * @param {string} text\n   */\n  wrap(text) {\n  }\n}\n";
        assert_eq!(seen(documented)[1], ("wrap".into(), 1, 6, 8));
        assert_eq!(seen("module.exports = {\n  a,\n};\nif (a == b) {\n}\n"), [("module.exports".into(), 0, 0, 3)]);
    }

    #[test]
    fn a_text_over_several_lines_and_a_where_clause_end_nothing() {
        let script = "function help() {\n  return `\nUsage: x\nfunction no() {\n`;\n}\n\nfunction b() {\n}\n";
        assert_eq!(seen(script), [("help".into(), 0, 0, 6), ("b".into(), 7, 7, 9)]);
        let python = "def usage():\n    return \"\"\"\nusage: x\n\"\"\"\n\n\ndef b():\n    pass\n";
        assert_eq!(seen(python), [("usage".into(), 0, 0, 4), ("b".into(), 6, 6, 8)]);
        let rust = "pub fn f<T>(x: T) -> u8\nwhere\n    T: Into<u8>,\n{\n    x.into()\n}\n\nstatic MAX: u8 = 1;\n";
        assert_eq!(seen(rust), [("f".into(), 0, 0, 6), ("MAX".into(), 7, 7, 8)]);
        let raw = "const HELP: &str = r#\"\nfn no() {\n}\n\"#;\n\nfn b() {}\n";
        assert_eq!(seen(raw), [("HELP".into(), 0, 0, 4), ("b".into(), 5, 5, 6)]);
        let going_on = "fn a() -> &'static str {\n    \"x \\\n}\n\"\n}\n\nfn b() {}\n";
        assert_eq!(seen(going_on), [("a".into(), 0, 0, 5), ("b".into(), 6, 6, 7)]);
    }

    #[test]
    fn a_comment_with_an_empty_line_and_arguments_over_several_lines_belong_to_the_method() {
        let script = "class A {\n  /**\n   * Goes.\n   *\n   * @param {string} a\n   */\n  async go(\n    a,\n    b\n  ) {\n    return 1;\n  }\n}\n";
        assert_eq!(seen(script), [("A".into(), 0, 0, 13), ("go".into(), 1, 6, 12)]);
        let call = ["      if (a &&", "          go(", "            a", "          )) {", "      }"];
        assert_eq!(all(&call), []);
        let bare = bare_methods(&["go(a) {", "  if (a) {", "  }", "}", "if (b) {", "}", "describe(1);"]);
        assert_eq!(bare, [("go".to_owned(), 0..4)]);
    }
}
