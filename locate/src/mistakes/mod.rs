//! Mistakes that show without running a text: syntax errors, and names that nothing defines.
//!
//! Owns the choice of those that are reported: only new ones, and only where a false report is nearly impossible. Must not read files.
//! Tests: below and in `syntax.rs`, `names.rs` and `constants.rs`; measured in `docs/models.md`.

mod constants;
mod names;
mod syntax;

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{ParseOptions, Parser, Tree};

use crate::language::Language;

/// Longest text that is checked, in bytes; longer ones are generated.
const LONGEST: usize = 512 << 10;
/// A text that takes longer to parse is not checked.
const PARSE: Duration = Duration::from_millis(700);

/// One mistake in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, without the place: "syntax error near `)`". May quote the text.
    pub what: String,
}

/// All mistakes of a text.
struct TextMistakes {
    /// The first syntax error, if any; what follows it is not checked.
    syntax: Option<Mistake>,
    /// Undefined names, each with its mistake.
    names: Vec<(String, Mistake)>,
}

/// The mistakes of `after` that `before` did not have (`None`: a new file), by line.
pub fn mistakes(language: Language, before: Option<&str>, after: &str) -> Vec<Mistake> {
    let Some(now) = seen(language, after) else { return Vec::new() };
    // The old text is needed to find new mistakes; if it cannot be checked, nothing is reported.
    let old = match before.map(|text| (text, seen(language, text))) {
        None => None,
        Some((text, Some(old))) => Some((text, old)),
        Some((_, None)) => return Vec::new(),
    };
    let mut told = Vec::new();
    match (now.syntax, &old) {
        (Some(mistake), Some((text, TextMistakes { syntax: Some(_), .. }))) => {
            // The old text did not parse either, so only a changed line can hold a new error.
            let line = |text: &str, number: usize| text.lines().nth(number - 1).unwrap_or_default().trim().to_owned();
            let (wrong, known) = (line(after, mistake.line), text.lines().map(str::trim).collect::<HashSet<_>>());
            if !known.contains(wrong.as_str()) {
                told.push(mistake);
            }
        }
        (Some(mistake), _) => told.push(mistake),
        (None, _) => {
            let known: HashSet<&str> =
                old.iter().flat_map(|(_, old)| &old.names).map(|(name, _)| name.as_str()).collect();
            told.extend(now.names.into_iter().filter(|(name, _)| !known.contains(name.as_str())).map(|(_, one)| one));
        }
    }
    told.sort_by_key(|mistake| mistake.line);
    told
}

fn seen(language: Language, text: &str) -> Option<TextMistakes> {
    // Qt's translation files are XML with TypeScript's extension, as other formats are.
    let typed = matches!(language, Language::TypeScript | Language::Tsx);
    let other = typed && text.trim_start().starts_with(['<', '#']) && !text.starts_with("#!");
    if other || text.len() > LONGEST {
        return None;
    }
    let tree = parse(&mut parser(language)?, text)?;
    let syntax = match tree.root_node().has_error() {
        true => Some(syntax::first(language, text, &tree)?),
        false => syntax::misshapen(language, text, &tree),
    };
    let names = match language {
        Language::Python => names::undefined(text, &tree),
        Language::JavaScript => constants::assigned(text, &tree),
        Language::TypeScript | Language::Tsx | Language::Rust | Language::Go | Language::Java => Vec::new(),
    };
    Some(TextMistakes { syntax, names })
}

fn parser(language: Language) -> Option<Parser> {
    let mut parser = Parser::new();
    parser.set_language(&language.grammar()).ok()?;
    Some(parser)
}

/// `None` when parsing takes too long.
fn parse(parser: &mut Parser, text: &str) -> Option<Tree> {
    let end = Instant::now() + PARSE;
    let mut late = |_: &_| if Instant::now() > end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let options = ParseOptions::new().progress_callback(&mut late);
    parser.parse_with_options(&mut |at, _| text.as_bytes().get(at..).unwrap_or_default(), None, Some(options))
}

/// Visits all nodes of a tree in pre-order; with a cursor, because some texts nest deeper than the stack allows.
fn each<'tree>(tree: &'tree Tree, mut look: impl FnMut(tree_sitter::Node<'tree>)) {
    let mut cursor = tree.walk();
    loop {
        look(cursor.node());
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(language: Language, before: Option<&str>, after: &str) -> Vec<(usize, String)> {
        mistakes(language, before, after).into_iter().map(|one| (one.line, one.what)).collect()
    }

    #[test]
    fn only_what_was_not_there_before_is_told() {
        let broken = "def f(:\n    pass\n";
        assert_eq!(told(Language::Python, None, broken).len(), 1);
        assert_eq!(told(Language::Python, Some("def f():\n    pass\n"), broken).len(), 1);
        assert_eq!(told(Language::Python, Some("\n\ndef f(:\n"), broken), []);
        let other = "x = = 1\ndef f(:\n    pass\n";
        assert_eq!(told(Language::Python, Some(broken), other), [(1, "syntax error near `=`".to_owned())]);
        let name = "def f():\n    return later\n";
        assert_eq!(told(Language::Python, Some("print(later)\n"), name), []);
        assert_eq!(told(Language::Python, Some("later = 1\n"), name), [(2, "undefined name `later`".to_owned())]);
        assert_eq!(told(Language::Python, Some("from x import *\n"), name).len(), 1);
    }

    #[test]
    fn what_can_not_be_judged_is_not_told() {
        let long = "x = 1\n".repeat(LONGEST);
        assert_eq!(told(Language::Python, None, &format!("def f(:\n{long}")), []);
        assert_eq!(told(Language::Python, Some(&long), "def f(:\n"), []);
        assert_eq!(told(Language::Python, None, ""), []);
        let deep = format!("x = {}1{}\n", "(".repeat(20_000), ")".repeat(20_000));
        assert_eq!(told(Language::Python, None, &deep), []);
    }
}
