//! Locates the first syntax error of a text.
//!
//! The tree marks only a range that contains the error, often beginning at the file's first line. The parser knows the token that it could
//! not accept and logs it, so a text with an error is parsed again with logging. Tests: below.

use std::sync::{Arc, Mutex, PoisonError};

use tree_sitter::{LogType, Node, Tree};

use super::{Mistake, each, parse, parser};
use crate::language::Language;

/// The most characters shown of a token.
const SHOWN: usize = 24;

/// A token that was not accepted.
struct Stuck {
    /// Row and column after the token before it.
    at: (usize, usize),
    kind: String,
    /// Kind of the token before it.
    taken: String,
}

/// The parser's state according to its log, until error recovery begins.
#[derive(Default)]
struct ParserState {
    /// Row and column (bytes) after the last accepted token.
    at: (usize, usize),
    /// Kinds of the last token read, and of the last one accepted.
    read: String,
    taken: String,
    /// The farthest place reached, with the kind of the rejected token.
    stuck: Option<Stuck>,
    guessing: bool,
}

impl ParserState {
    fn hear(&mut self, line: &str) {
        if self.guessing {
            return;
        }
        if line.starts_with("process version:") {
            let number = |name: &str| {
                let (_, rest) = line.split_once(name)?;
                rest.split(',').next()?.parse().ok()
            };
            if let Some(at) = number(" row:").zip(number(" col:")) {
                self.at = at;
            }
        } else if let Some(kind) = line.strip_prefix("detect_error lookahead:") {
            if self.stuck.as_ref().is_none_or(|stuck| stuck.at <= self.at) {
                self.stuck = Some(Stuck { at: self.at, kind: kind.to_owned(), taken: self.taken.clone() });
            }
        } else if let Some(read) = line.strip_prefix("lexed_lookahead sym:") {
            read.split(", size:").next().unwrap_or_default().clone_into(&mut self.read);
        } else if line.starts_with("shift") {
            self.taken.clone_from(&self.read);
        } else if line.starts_with("resume version") {
            self.guessing = true;
        }
    }
}

/// The first error of a text that has one; `None` when it cannot be located.
pub fn first(language: Language, text: &str, tree: &Tree) -> Option<Mistake> {
    let heard = Arc::new(Mutex::new(ParserState::default()));
    let ear = Arc::clone(&heard);
    let mut parser = parser(language)?;
    parser.set_logger(Some(Box::new(move |kind, line| {
        if kind == LogType::Parse {
            ear.lock().unwrap_or_else(PoisonError::into_inner).hear(line);
        }
    })));
    parse(&mut parser, text)?;
    let Stuck { at, kind, taken } = heard.lock().unwrap_or_else(PoisonError::into_inner).stuck.take()?;
    let behind = offset(text, at)?;
    let rest = &text[behind..];
    let begin = behind + (rest.len() - rest.trim_start().len());
    if let Some(line) = open_bracket(language, tree, begin, kind == "end") {
        return Some(line);
    }
    let ends_line = |kind: &str| matches!(kind, "_newline" | "_dedent" | "_automatic_semicolon" | "\\n");
    let line = text[..begin].matches('\n').count() + 1;
    // Python's grammar has no token between an incomplete line and the next one.
    let short = language == Language::Python && line > at.0 + 1 && !ends_line(&taken) && taken != "_indent";
    if kind == "end" || begin >= text.len() {
        let line = text.trim_end().lines().count().max(1);
        return Some(Mistake { line, what: "syntax error at the end of the file".to_owned() });
    }
    if ends_line(&kind) || (short && kind != "_indent" && taken != "comment") {
        return Some(Mistake { line: at.0 + 1, what: "syntax error at the end of the line".to_owned() });
    }
    // Rust allows macros named like keywords and attributes in more places than this grammar does.
    if language == Language::Rust && text[begin..].starts_with(['!', '#']) {
        return None;
    }
    let what = match kind.as_str() {
        "_indent" => "unexpected indentation".to_owned(),
        _ => format!("syntax error near `{}`", token(&text[begin..])),
    };
    Some(Mistake { line, what })
}

fn offset(text: &str, (row, column): (usize, usize)) -> Option<usize> {
    let begin = if row == 0 { 0 } else { text.match_indices('\n').nth(row - 1)?.0 + 1 };
    let at = begin + column;
    text.is_char_boundary(at).then_some(at)
}

/// The word at the text's beginning, or the characters up to the next space or word.
fn token(text: &str) -> String {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let first = text.chars().next().unwrap_or_default();
    let mut length = if word(first) { SHOWN } else { 1 };
    if matches!(first, '"' | '\'' | '`') {
        length = SHOWN.min(text.lines().next().unwrap_or_default().chars().count());
    }
    let all = text.chars().take(length);
    all.take_while(|&c| !word(first) || word(c)).filter(|c| !c.is_control()).collect::<String>().replace('`', "'")
}

/// The innermost bracket open at the error. In Python a bracket opened on an earlier line is to blame, as for the interpreter; in languages
/// with braces only the end of the file shows that one is missing.
fn open_bracket(language: Language, tree: &Tree, until: usize, at_end: bool) -> Option<Mistake> {
    if language != Language::Python && !at_end {
        return None;
    }
    let mut open: Vec<(&str, usize)> = Vec::new();
    let mut row = None;
    each(tree, |node| {
        if node.child_count() > 0 || node.is_missing() {
            return;
        }
        if node.start_byte() >= until {
            row = row.or(Some(node.start_position().row));
            return;
        }
        match node.kind() {
            "(" | "[" | "{" | "${" => open.push((node.kind(), node.start_position().row)),
            ")" | "]" | "}" => drop(open.pop()),
            _ => {}
        }
    });
    let (bracket, opened) = *open.last()?;
    let earlier = at_end || row.is_none_or(|row| opened < row);
    earlier.then(|| Mistake { line: opened + 1, what: format!("`{bracket}` is never closed") })
}

/// The first error that Python's grammar accepts but its interpreter does not: an empty block, or a statement indented differently from
/// those before it.
pub fn misshapen(language: Language, text: &str, tree: &Tree) -> Option<Mistake> {
    // A byte order mark shifts the first column.
    if language != Language::Python || text.starts_with('\u{feff}') {
        return None;
    }
    let mut found: Option<Mistake> = None;
    each(tree, |node| {
        if !matches!(node.kind(), "block" | "module") {
            return;
        }
        let mistake = if node.kind() == "block" { empty(node) } else { None };
        let mistake = mistake.or_else(|| displaced(node, text));
        found = found.take().into_iter().chain(mistake).min_by_key(|mistake| mistake.line);
    });
    found
}

fn empty(block: Node<'_>) -> Option<Mistake> {
    // Comments are no statements, and may occur in the block.
    let mut cursor = block.walk();
    if block.named_children(&mut cursor).any(|child| child.kind() != "comment") {
        return None;
    }
    let row = block.prev_sibling().map_or(block.start_position().row, |colon| colon.end_position().row);
    Some(Mistake { line: row + 1, what: "an indented block is missing below".to_owned() })
}

fn displaced(block: Node<'_>, text: &str) -> Option<Mistake> {
    let mut cursor = block.walk();
    let mut first = None;
    for statement in block.named_children(&mut cursor).filter(|child| child.kind() != "comment") {
        let before = text[..statement.start_byte()].rsplit('\n').next().unwrap_or_default();
        // Nothing is reported after other text on the line, or with tabs.
        if !before.chars().all(|c| c == ' ') {
            continue;
        }
        let wanted = *first.get_or_insert(if block.kind() == "module" { 0 } else { before.len() });
        if before.len() != wanted {
            let line = statement.start_position().row + 1;
            return Some(Mistake { line, what: "unexpected indentation".to_owned() });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::mistakes;
    use super::*;

    fn told(language: Language, text: &str) -> Vec<String> {
        mistakes(language, None, text).into_iter().map(|one| format!("{}: {}", one.line, one.what)).collect()
    }

    #[test]
    fn the_token_that_does_not_fit_is_named() {
        for (text, wanted) in [
            ("def f(a):\n    return 1)\n\nx = 2\n", "2: syntax error near `)`"),
            ("x = 1\nif x = 2:\n    pass\n", "2: syntax error near `=`"),
            ("def f():\n    return [1,\n\ndef g():\n    pass\n", "2: `[` is never closed"),
            ("print('a'\n\nfor x in y:\n    pass\n", "1: `(` is never closed"),
            ("class A\n    x = 1\n", "1: syntax error at the end of the line"),
            ("x = 1\n    y = 2\n", "2: unexpected indentation"),
            ("if 1:\n        x = 1\n    y = 2\n", "3: unexpected indentation"),
            ("def f():\n    x = 1\n     y = 2\n", "3: unexpected indentation"),
            ("def f():\n\nx = 1\n", "1: an indented block is missing below"),
            ("for x in [1]:\n    # nothing\ny = 2\n", "1: an indented block is missing below"),
            ("```python\nx = 1\n```\n", "1: syntax error near `python`"),
            ("x = 1\nelse:\n    y = 1\n", "2: syntax error near `else`"),
        ] {
            assert_eq!(told(Language::Python, text), [wanted], "{text}");
        }
        for (language, text, wanted) in [
            (
                Language::JavaScript,
                "function f() {\n  if (a) {\n    b();\n}\nfunction g() {}\n",
                "1: `{` is never closed",
            ),
            (Language::JavaScript, "const a = 1;\nconst = 2;\n", "2: syntax error near `=`"),
            (Language::JavaScript, "f(1));\n", "1: syntax error near `)`"),
            (Language::TypeScript, "const a: = 1;\n", "1: syntax error near `=`"),
            (Language::Rust, "fn f() {\n    let x = 1\n    let y = 2;\n}\n", "3: syntax error near `let`"),
            (Language::Rust, "fn f() {}\n}\n", "2: syntax error near `}`"),
            (Language::Go, "package a\n\nfunc f() {\n\tx := \n}\n", "5: syntax error near `}`"),
            (Language::Java, "class A {\n  void f() {\n    int x = ;\n  }\n}\n", "3: syntax error near `;`"),
        ] {
            assert_eq!(told(language, text), [wanted], "{text}");
        }
    }

    #[test]
    fn a_text_that_is_well_formed_or_of_another_format_has_no_error() {
        for (language, text) in [
            (
                Language::Python,
                "x = 1\nmatch x:\n    case 1: pass\nx = f\"{x!r:>{x}}\"\nasync def f[T](*, a: T = 1): ...\n",
            ),
            (Language::JavaScript, "const a = <b c={1}>d</b>;\nexport default class { #x = a?.b ?? 1; }\n"),
            (Language::TypeScript, "export type A<T> = T extends infer U ? U : never;\nlet x = y satisfies Z;\n"),
            (Language::Rust, "fn f() -> impl Fn() { if let Some(x) = y && x > 1 { } || {} }\n"),
            (Language::Go, "package a\n\nfunc f[T any](x T) (T, error) { return x, nil }\n"),
            (Language::Rust, "fn f() { let x = try!(g()); match x { A { #[cfg(a)] ref b } => {} } }\n"),
            (Language::TypeScript, "<?xml version=\"1.0\"?>\n<TS></TS>\n"),
            (Language::Java, "record A(int x) { sealed interface B permits C {} }\n"),
        ] {
            assert_eq!(told(language, text), Vec::<String>::new(), "{text}");
        }
    }
}
