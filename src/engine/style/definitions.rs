//! Where definitions of a text begin and end, judged by their lines alone.
//!
//! Owns: the forms in which definitions begin in common languages, and how far they extend, by indentation. It is not a parser: it places a
//! model's output into a file that was shown to it, in the host's process, in time linear in the text.

use std::sync::LazyLock;

use regex::Regex;

/// Lines of a definition: from `lead` (with decorators, attributes and comments above it) up to, and without, `end`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Definition {
    pub name: String,
    /// Whether it contains other definitions.
    pub holds: bool,
    pub lead: usize,
    pub first: usize,
    pub end: usize,
    pub indent: usize,
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

/// A top-level assignment, such as a table or an export.
static ASSIGNED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^([A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*)\s*(?::[^=]+)?=(?:[^=>]|$)").expect("a literal")
});

/// The beginning of a string that may extend over several lines.
static TEXT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#"^[^"'`=]*=[^"'`]*?("""|'''|`)"#).expect("a literal"));
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
    let name = METHOD.captures(line)?.get(1)?.as_str().to_owned();
    let keyword =
        matches!(name.as_str(), "if" | "for" | "while" | "switch" | "catch" | "function" | "return" | "match" | "with");
    (!keyword).then_some((name, false))
}

/// The name that a top-level line assigns to.
pub(super) fn assigned(line: &str) -> Option<&str> {
    ASSIGNED.captures(line).and_then(|found| found.get(1)).map(|name| name.as_str())
}

/// All definitions of the text, outer ones before those within them.
pub(super) fn all(lines: &[&str]) -> Vec<Definition> {
    // Lines within a multi-line string are not definitions.
    let mut text = 0;
    let found = lines.iter().enumerate().filter_map(|(at, line)| {
        if at < text {
            return None;
        }
        let (name, holds) = named(line).or_else(|| Some((assigned(line)?.to_owned(), false)))?;
        let indent = indent(line)?;
        text = text_end(lines, at).unwrap_or(text);
        let end = if at < text { text } else { end(lines, at, indent) };
        Some(Definition { name, holds, lead: lead(lines, at, indent), first: at, end, indent })
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

/// The line after a multi-line string that begins in this line.
fn text_end(lines: &[&str], at: usize) -> Option<usize> {
    let mark = TEXT.captures(lines[at])?.get(1)?.as_str();
    if lines[at].matches(mark).count() % 2 == 0 {
        return None;
    }
    let last = lines[at + 1..].iter().position(|line| line.contains(mark))?;
    Some(at + last + 2)
}

fn lead(lines: &[&str], at: usize, own: usize) -> usize {
    let above = |line: &&str| {
        let text = line.trim_start();
        let marks = ["@", "#[", "///", "//", "/**", "* ", "*/", "# "];
        indent(line).is_some_and(|deep| deep == own || (text.starts_with('*') && deep == own + 1))
            && (text.trim_end() == "*" || marks.iter().any(|mark| text.starts_with(mark)))
    };
    at - lines[..at].iter().rev().take_while(|line| above(line)).count()
}

/// The line after the definition's last: it continues while lines are indented deeper, or close what was opened.
fn end(lines: &[&str], at: usize, own: usize) -> usize {
    let (mut last, mut header, mut bounds) = (at, true, false);
    for (line, text) in lines.iter().enumerate().skip(at + 1) {
        let Some(deep) = indent(text) else { continue };
        let word = text.trim_start();
        let closes = deep == own && word.starts_with(['}', ')', ']']);
        // Rust's bounds on lines of their own belong to the header.
        let clause = deep == own && (word == "where" || word.starts_with("where "));
        bounds |= clause;
        // A header over several lines is closed before the body begins.
        let opens = clause || deep == own && (header || bounds) && word.starts_with('{');
        if deep <= own && !closes && !opens {
            break;
        }
        bounds &= !word.starts_with('{');
        last = line;
        header &= closes && !word.starts_with('}');
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
}
