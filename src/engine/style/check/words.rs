//! Literal examples in an issue's words: an expression, and what it should give.
//!
//! Owns: the forms in which people write them: `` `f(1)` gives `2` ``, `` `f(1) == 2` ``, a code block with `f(1)  # 2` or `>>> f(1)`.
//! What somebody says of a fault looks the same; whoever uses them holds them against the code as it is first. Pure. Tests: below.

use std::sync::LazyLock;

use regex::Regex;

use super::super::blocks::{Piece, pieces};

/// The most examples that are taken.
const MOST: usize = 8;
/// The longest expression or value, in bytes.
const LONGEST: usize = 200;
/// The most lines of a block that prepare its examples.
const LINES: usize = 40;

/// One line of what is to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    /// A line of a code block that prepares what comes.
    Setup(String),
    Example {
        call: String,
        wanted: Wanted,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// As it is written in code, or as it would be printed.
    Value(String),
    /// The name of an error.
    Error(String),
}

static CALL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:(?:new|await)\s+)?[A-Za-z_$][\w$]*(?:(?:\.|::)[A-Za-z_$][\w$]*)*\(.*\)[\w.()\[\]'\x22]*$")
        .expect("a literal")
});
static LITERAL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"^(?:-?\d[\d_.]*|'[^']*'|"[^"]*"|True|False|None|null|undefined|true|false|NaN|-?Infinity)"#)
        .expect("a literal")
});
/// A value in code that is no number or text: a list, a dictionary, a variant.
static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:[\[({<].*|(?:\w+::)*[A-Z]\w*\(.*\)|(?:\w+::)+[A-Z]\w*|[A-Z]\w+::\w+|\d.*)$").expect("a literal")
});
static NAME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^[A-Za-z_][\w.]*$").expect("a literal"));

/// Words right before a value, the last one decides.
const GIVES: [&str; 24] = [
    "returns",
    "return",
    "gives",
    "give",
    "is",
    "be",
    "becomes",
    "become",
    "yields",
    "yield",
    "equals",
    "equal",
    "prints",
    "print",
    "shows",
    "show",
    "evaluates to",
    "results in",
    "->",
    "=>",
    "→",
    "=",
    "==",
    "===",
];
const RAISES: [&str; 8] = ["raises", "raise", "throws", "throw", "a", "an", "with a", "with an"];
/// What is not said to be so.
const NOT: [&str; 5] = ["not", "n't", "never", "instead of", "no longer"];

/// All examples of these texts, with the lines that prepare them.
pub(super) fn lines(texts: &[&str]) -> Vec<Line> {
    let mut out: Vec<Line> = Vec::new();
    for piece in texts.iter().flat_map(|text| pieces(text)) {
        let found = match piece {
            Piece::Line(line) => prose(line),
            Piece::Block { text, .. } => block(&text),
        };
        for line in found {
            if matches!(line, Line::Setup(_)) || !out.contains(&line) {
                out.push(line);
            }
        }
    }
    let mut taken = 0;
    out.retain(|line| {
        taken += usize::from(matches!(line, Line::Example { .. }));
        taken <= MOST || matches!(line, Line::Setup(_))
    });
    if out.iter().any(|line| matches!(line, Line::Example { .. })) { out } else { Vec::new() }
}

/// What one line of prose says: each expression in backticks, with the values that follow it in its sentence before anything else does.
fn prose(line: &str) -> Vec<Line> {
    let mut out = Vec::new();
    let mut call: Option<&str> = None;
    // Odd parts stand in backticks.
    let parts: Vec<&str> = line.split('`').collect();
    for (at, part) in parts.iter().enumerate() {
        if at % 2 == 0 {
            let sentence = part.split(". ").next().unwrap_or(part);
            out.extend(call.and_then(|call| example(call, bare(sentence.trim())?)));
            call = call.filter(|_| sentence.len() == part.len());
            continue;
        }
        let part = part.trim();
        let before = parts[at - 1].rsplit(". ").next().unwrap_or_default();
        if let Some((call, wanted)) = equation(part) {
            out.extend(example(call, wanted));
        } else if let Some((call, wanted)) = call.and_then(|call| Some((call, said(before, part)?))) {
            out.extend(example(call, wanted));
        } else {
            call = is_call(part).then_some(part);
        }
    }
    out
}

fn example(call: &str, wanted: Wanted) -> Option<Line> {
    (is_call(call) && call.len() <= LONGEST).then(|| Line::Example { call: call.to_owned(), wanted })
}

/// An expression with arguments that are values: what names its arguments only is a signature.
fn is_call(text: &str) -> bool {
    if !CALL.is_match(text) || text.contains("self") {
        return false;
    }
    let arguments = text.split_once('(').map_or("", |(_, rest)| rest);
    let inside = arguments.rsplit_once(')').map_or("", |(inside, _)| inside);
    let valued = |c: char| c.is_ascii_digit() || "'\"[{-".contains(c);
    let words = ["True", "False", "None", "null", "undefined", "true", "false"];
    inside.trim().is_empty() || inside.contains(valued) || words.iter().any(|word| inside.contains(word))
}

/// The value in backticks that the words before it speak of.
fn said(before: &str, value: &str) -> Option<Wanted> {
    let before = words(before)?;
    let ends = |all: &[&str]| all.iter().any(|word| ends_with(&before, word));
    if RAISES[..4].iter().any(|word| before.contains(word)) && ends(&RAISES) && NAME.is_match(value) {
        return Some(Wanted::Error(value.to_owned()));
    }
    let printed = ends_with(&before, "prints") || ends_with(&before, "print");
    (ends(&GIVES) && (is_value(value) || printed)).then(|| Wanted::Value(value.to_owned()))
}

/// The words between two spans in lower case; none where they deny something.
fn words(between: &str) -> Option<String> {
    let lower = between.trim().trim_end_matches([':', ',']).trim().to_lowercase();
    (!NOT.iter().any(|word| lower.contains(word))).then_some(lower)
}

fn ends_with(text: &str, word: &str) -> bool {
    text.strip_suffix(word).is_some_and(|head| !head.ends_with(|c: char| c.is_alphanumeric()))
}

/// A value without backticks behind the words that speak of it: `… gives 125`.
fn bare(text: &str) -> Option<Wanted> {
    words(text)?;
    let value = text.rmatch_indices(' ').find_map(|(at, _)| {
        let (head, rest) = (text[..at].to_lowercase(), text[at..].trim_start());
        let spoken = GIVES.iter().any(|word| ends_with(head.trim_end_matches(':'), word));
        let value = spoken.then(|| LITERAL.find(rest)).flatten()?.as_str().trim_end_matches('.');
        let tail = &rest[value.len()..];
        let ended = tail.is_empty() || tail.starts_with(['.', ',', ';', ')', ':']) || tail.starts_with(" (");
        ended.then_some(value)
    });
    value.map(|value| Wanted::Value(value.to_owned()))
}

fn is_value(text: &str) -> bool {
    let whole = LITERAL.find(text).is_some_and(|found| found.end() == text.len());
    !text.is_empty() && text.len() <= LONGEST && (whole || VALUE.is_match(text))
}

/// `f(1) == 2` and its like.
fn equation(code: &str) -> Option<(&str, Wanted)> {
    ["===", "==", "=>", "->", "→"].iter().find_map(|sign| {
        let (call, value) = code.split_once(&format!(" {sign} "))?;
        let (call, value) = (call.trim(), value.trim());
        (is_call(call) && is_value(value)).then(|| (call, Wanted::Value(value.to_owned())))
    })
}

/// A code block: lines with a value in a comment or below a prompt are examples, the others prepare them.
fn block(text: &str) -> Vec<Line> {
    let lines: Vec<&str> = text.lines().collect();
    let prompted = lines.iter().any(|line| line.starts_with(">>> "));
    let mut out = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if prompted {
            let Some(code) = line.strip_prefix(">>> ").or_else(|| line.strip_prefix("... ")) else { continue };
            let below = lines.get(at + 1).filter(|next| !next.starts_with(">>>") && !next.trim().is_empty());
            let value = below.map(|value| value.trim()).filter(|value| is_value(value) && is_expression(code));
            out.push(match value {
                Some(value) => Line::Example { call: code.to_owned(), wanted: Wanted::Value(value.to_owned()) },
                None => Line::Setup(code.to_owned()),
            });
            continue;
        }
        let commented = ["#", "//"].iter().find_map(|mark| line.split_once(&format!(" {mark} ")));
        let told = commented.and_then(|(code, comment)| {
            let code = code.trim_end().trim_end_matches(';');
            let signs = ["=>", "->", "→", "==", "returns", "gives", "="];
            let value = signs.iter().find_map(|sign| comment.trim().strip_prefix(sign)).unwrap_or(comment).trim();
            (is_expression(code) && is_value(value))
                .then(|| Line::Example { call: code.to_owned(), wanted: Wanted::Value(value.to_owned()) })
        });
        out.push(told.unwrap_or_else(|| Line::Setup((*line).to_owned())));
    }
    let examples = out.iter().filter(|line| matches!(line, Line::Example { .. })).count();
    let shown = |line: &Line| !matches!(line, Line::Setup(text) if text.trim().is_empty());
    if examples == 0 || out.len() > LINES { Vec::new() } else { out.into_iter().filter(shown).collect() }
}

fn is_expression(code: &str) -> bool {
    !code.starts_with([' ', '\t']) && code.len() <= LONGEST && CALL.is_match(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let shown = |line| match line {
            Line::Setup(text) => format!("| {text}"),
            Line::Example { call, wanted: Wanted::Value(value) } => format!("{call} = {value}"),
            Line::Example { call, wanted: Wanted::Error(name) } => format!("{call} ! {name}"),
        };
        lines(&[text]).into_iter().map(shown).collect()
    }

    #[test]
    fn prose_says_what_calls_give() {
        for (text, wanted) in [
            ("- `parse(\"2:05\")` gives 125", &["parse(\"2:05\") = 125"][..]),
            (
                "- `parse(\"90:00\")` gives 5400 (the first part may be as big as it likes)",
                &["parse(\"90:00\") = 5400"],
            ),
            ("- `capitalize('a b')` returns `'A b'`", &["capitalize('a b') = 'A b'"]),
            (
                "`money(cents)` there (`money(1250)` is `\"12.50\"`, `money(5)` is `\"0.05\"`) and",
                &["money(1250) = \"12.50\"", "money(5) = \"0.05\""],
            ),
            ("`from_roman(\"xiv\")` is refused today; it should be 14.", &["from_roman(\"xiv\") = 14"]),
            ("in the text (`from_roman(\"xiq\")` is `Unknown('q')`), and", &["from_roman(\"xiq\") = Unknown('q')"]),
            ("`show(90061)` prints `25h 1m`, it should be `1d 1h`.", &["show(90061) = 25h 1m", "show(90061) = 1d 1h"]),
            ("`add(1, 2) == 3`, and `add(1) -> 1`", &["add(1, 2) == 3".replace("==", "=").as_str(), "add(1) = 1"]),
            ("`parse('1:5')` raises a `DurationError`", &["parse('1:5') ! DurationError"]),
            ("`a.b('x')` → `[1, 2]`", &["a.b('x') = [1, 2]"]),
        ] {
            assert_eq!(found(text), wanted, "{text}");
        }
    }

    #[test]
    fn other_words_are_no_examples() {
        for text in [
            "`whole_minutes` should be `return round_to(seconds, 60)`",
            "`Section::remove(&mut self, key: &str) -> Option<String>`: takes the key out",
            "`f(1)` is not `2`, and `f(1)` isn't `3`",
            "`f(seconds, size) -> 3`",
            "`f(1)` is `slow`",
            "`f(1)` is 2 times slower than it was",
            "a constant of 100 and `x`",
            "`f(4)` fails. The list becomes 13 long, and its length is 13.",
            "`f(4)` needs the table `SIGNS`, whose length becomes 13",
            "`_concatValue(value, previous)`, because `lib/command.js` calls it",
            "```python\nround_to(1, 2)\n```",
            "```python\nf(1)  # this is wrong\n```",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn code_blocks_prepare_their_examples() {
        let text = "So:\n```python\nmd = make(link=\"x\")\nmd(\"[a](/b)\")   # <p>b</p>\n```\n";
        assert_eq!(found(text), ["| md = make(link=\"x\")", "md(\"[a](/b)\") = <p>b</p>"]);
        let text = "```\n>>> x = 1\n>>> f(x)\n2\n>>> g(x)\n```";
        assert_eq!(found(text), ["| x = 1", "f(x) = 2", "| g(x)"]);
        assert_eq!(found("```js\nconst a = 1;\nadd(a, 2); // => 3\n```"), ["| const a = 1;", "add(a, 2) = 3"]);
    }
}
