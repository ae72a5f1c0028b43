//! Finds literal examples in an issue's words: an expression, and its expected value.
//!
//! Owns: the usual forms: `` `f(1)` gives `2` ``, `` `f(1) == 2` ``, a code block with `f(1)  # 2` or `>>> f(1)`. A description of the
//! fault looks the same, so examples are first tried on the unchanged code. Anybody can write issues, so input and result are limited.
//! Pure. Tests: below.

use std::sync::LazyLock;

use regex::Regex;

use super::super::blocks::{Piece, pieces};
use crate::text;

/// The most examples.
const MOST: usize = 8;
/// The longest expression or value, in bytes.
const LONGEST: usize = 200;
/// The most lines of one block, and bytes of all preparing lines.
const LINES: usize = 40;
const SETUP: usize = 4 << 10;
/// The most bytes of all words, and of one line, that are searched.
const WORDS: usize = 32 << 10;
const LINE: usize = 2 << 10;

/// One line of the check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    /// Code that prepares later lines.
    Setup(String),
    Example {
        call: String,
        expected: Expected,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expected {
    /// A value, as code or as its text.
    Value(String),
    /// What is printed.
    Printed(String),
    /// The name of an error.
    Error(String),
}

fn regex(text: &str) -> Regex {
    Regex::new(text).expect("a literal")
}

static CALL: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^(?:(?:new|await)\s+)?[A-Za-z_$][\w$]*(?:(?:\.|::)[A-Za-z_$][\w$]*)*\(.*\)[\w.()\[\]'\x22]*$")
});
static LITERAL: LazyLock<Regex> = LazyLock::new(|| {
    regex(r#"^(?:-?\d[\d_.]*|'[^']*'|"[^"]*"|True|False|None|null|undefined|true|false|NaN|-?Infinity)"#)
});
/// A value in code other than a number or a string: a list, a dictionary, a tuple, a tag, a variant.
static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    regex(r#"^(?:\[.*\]|\{.*\}|\(.*[,'"\d].*\)|</?[A-Za-z].*>|(?:\w+::)*[A-Z]\w*\(.*\)|(?:\w+::)+[A-Z]\w*)$"#)
});
static NAME: LazyLock<Regex> = LazyLock::new(|| regex(r"^[A-Za-z_][\w.]*$"));
/// Words allowed between an expression and its value: `it should give`, `is`, `→`. With others the value may belong to something else.
static GIVES: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^(?:(?:but|and|so)\s+)?(?:(?:it|this|that|which)\s+)?(?:(?:should|must|will|would|shall|now|always|currently|today|then|has to|only|still)\s+)*(?:returns?|gives?|is|be|becomes?|yields?|equals?|prints?|shows?|evaluates? to|results? in|->|=>|→|={1,3})(?:\s+(?:exactly|equal to))?:?$",
    )
});
static RAISES: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^(?:(?:but|and|so)\s+)?(?:(?:it|this|that|which)\s+)?(?:(?:should|must|will|would|now|always|still)\s+)*(?:raises?|throws?|fails? with)(?:\s+an?)?$",
    )
});

/// All examples of these words, with their preparing lines.
pub(super) fn lines(words: &str) -> Vec<Line> {
    let (mut out, mut taken, mut setup): (Vec<Line>, _, _) = (Vec::new(), 0, 0);
    for piece in pieces(text::cut(words, WORDS).0) {
        if taken == MOST {
            break;
        }
        let found = match piece {
            Piece::Line(line) if line.len() <= LINE => prose(line),
            Piece::Line(_) => Vec::new(),
            Piece::Block { text: code, .. } => block(&code),
        };
        for line in found {
            match &line {
                Line::Setup(text) => setup += text.len(),
                Line::Example { .. } if out.contains(&line) => continue,
                Line::Example { .. } => taken += 1,
            }
            if taken <= MOST && setup <= SETUP {
                out.push(line);
            }
            taken = taken.min(MOST);
        }
    }
    let last = out.iter().rposition(|line| matches!(line, Line::Example { .. }));
    out.truncate(last.map_or(0, |last| last + 1));
    out
}

/// Examples of one line of prose: each expression in backticks with the values that directly follow it in its sentence.
fn prose(line: &str) -> Vec<Line> {
    let mut out = Vec::new();
    let mut call: Option<&str> = None;
    // Parts with an odd index are in backticks.
    let parts: Vec<&str> = line.split('`').collect();
    for (at, part) in parts.iter().enumerate() {
        if at % 2 == 0 {
            let sentence = sentence(part);
            out.extend(call.and_then(|call| example(call, bare(sentence)?)));
            call = call.filter(|_| sentence.len() == part.len());
            continue;
        }
        let (part, between) = (part.trim(), parts[at - 1]);
        if let Some((call, expected)) = equation(part) {
            out.extend(example(call, expected));
        } else if let Some((call, expected)) = call.and_then(|call| Some((call, value_of(between, part)?))) {
            out.extend(example(call, expected));
        } else {
            call = is_call(part).then_some(part);
        }
    }
    out
}

/// The text up to the end of the first sentence.
fn sentence(text: &str) -> &str {
    let end = [". ", "? ", "! "].iter().filter_map(|end| text.find(end)).min();
    end.map_or(text, |end| &text[..end])
}

/// The last clause before a value, in lower case.
fn clause(between: &str) -> String {
    between.rsplit([';', ',', '(']).next().unwrap_or_default().trim().to_lowercase()
}

fn example(call: &str, expected: Expected) -> Option<Line> {
    (is_call(call) && call.len() <= LONGEST).then(|| Line::Example { call: call.to_owned(), expected })
}

/// A call whose arguments are values; with mere names it is a signature.
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

/// The value in backticks, if the words before it introduce one.
fn value_of(between: &str, value: &str) -> Option<Expected> {
    let clause = clause(between);
    if RAISES.is_match(&clause) && NAME.is_match(value) {
        return Some(Expected::Error(value.to_owned()));
    }
    // Printed text may be anything, and often begins with a number.
    let printed = value.starts_with(|c: char| c.is_ascii_digit()) || clause.contains("print");
    let fits = is_value(value) || printed && value.len() <= LONGEST;
    let expected =
        if clause.contains("print") || clause.contains("show") { Expected::Printed } else { Expected::Value };
    (GIVES.is_match(&clause) && fits).then(|| expected(value.to_owned()))
}

/// A value without backticks after words that introduce one: `… gives 125`.
fn bare(text: &str) -> Option<Expected> {
    let value = text.split([';', ',']).find_map(|clause| {
        clause.match_indices(' ').find_map(|(at, _)| {
            let rest = clause[at..].trim_start();
            let value = LITERAL.find(rest)?.as_str().trim_end_matches('.');
            let tail = &rest[value.len()..];
            let ended = tail.is_empty() || tail.starts_with(['.', ')', ':']) || tail.starts_with(" (");
            (ended && GIVES.is_match(&clause[..at].trim().to_lowercase())).then_some(value)
        })
    });
    value.map(|value| Expected::Value(value.to_owned()))
}

fn is_value(text: &str) -> bool {
    let whole = LITERAL.find(text).is_some_and(|found| found.end() == text.len());
    !text.is_empty() && text.len() <= LONGEST && (whole || VALUE.is_match(text))
}

/// `f(1) == 2` and similar.
fn equation(code: &str) -> Option<(&str, Expected)> {
    ["===", "==", "=>", "->", "→"].iter().find_map(|sign| {
        let (call, value) = code.split_once(&format!(" {sign} "))?;
        let (call, value) = (call.trim(), value.trim());
        (is_call(call) && is_value(value)).then(|| (call, Expected::Value(value.to_owned())))
    })
}

/// A code block: lines with a value in a comment or below a prompt are examples, the others prepare them.
fn block(text: &str) -> Vec<Line> {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() > LINES {
        return Vec::new();
    }
    let prompted = lines.iter().any(|line| line.starts_with(">>> "));
    let mut out: Vec<Line> = Vec::new();
    let prepares = |out: &mut Vec<Line>, code: &str| match out.last_mut() {
        Some(Line::Setup(so_far)) => so_far.push_str(&format!("\n{code}")),
        _ if code.trim().is_empty() => {}
        _ => out.push(Line::Setup(code.to_owned())),
    };
    for (at, line) in lines.iter().enumerate() {
        let (code, value) = if prompted {
            let Some(code) = line.strip_prefix(">>> ").or_else(|| line.strip_prefix("... ")) else { continue };
            let below = |by: usize| lines.get(at + by).filter(|it| !it.starts_with(">>>") && !it.trim().is_empty());
            // Output of several lines is not a value.
            (code, below(1).filter(|_| below(2).is_none()).map(|value| value.trim()))
        } else {
            commented(line)
        };
        let shown = value.filter(|value| is_value(value)).and_then(|value| Some((printed(code)?, value)));
        match shown {
            Some((call, value)) => {
                let expected = if call.len() < code.len() { Expected::Printed } else { Expected::Value };
                out.push(Line::Example { call: call.to_owned(), expected: expected(value.to_owned()) });
            }
            None => prepares(&mut out, code),
        }
    }
    if out.iter().any(|line| matches!(line, Line::Example { .. })) { out } else { Vec::new() }
}

/// A line's code, and the value in its comment, if any.
fn commented(line: &str) -> (&str, Option<&str>) {
    let Some((code, comment)) = ["#", "//"].iter().find_map(|mark| line.split_once(&format!(" {mark} "))) else {
        return (line, None);
    };
    let comment = comment.trim();
    let signs = ["=>", "->", "→", "==", "returns ", "gives ", "= "];
    let value = signs.iter().find_map(|sign| comment.strip_prefix(sign)).unwrap_or(comment).trim();
    (if is_value(value) { code.trim_end().trim_end_matches(';') } else { line }, Some(value))
}

/// The expression within a statement that prints it; none if there is none.
fn printed(code: &str) -> Option<&str> {
    let inner = ["print(", "console.log("].iter().find_map(|by| code.strip_prefix(by)?.strip_suffix(')'));
    let code = inner.unwrap_or(code);
    (!code.starts_with([' ', '\t']) && code.len() <= LONGEST && CALL.is_match(code)).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let shown = |line| match line {
            Line::Setup(text) => format!("| {text}"),
            Line::Example { call, expected: Expected::Value(value) } => format!("{call} = {value}"),
            Line::Example { call, expected: Expected::Printed(text) } => format!("{call} > {text}"),
            Line::Example { call, expected: Expected::Error(name) } => format!("{call} ! {name}"),
        };
        lines(text).into_iter().map(shown).collect()
    }

    #[test]
    fn prose_says_what_calls_give() {
        for (text, expected) in [
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
            ("`show(90061)` prints `25h 1m`, it should be `1d 1h`.", &["show(90061) > 25h 1m", "show(90061) = 1d 1h"]),
            ("`add(1, 2) == 3`, and `add(1) -> 1`", &["add(1, 2) == 3".replace("==", "=").as_str(), "add(1) = 1"]),
            ("`parse('1:5')` raises a `DurationError`", &["parse('1:5') ! DurationError"]),
            ("`a.b('x')` → `[1, 2]`", &["a.b('x') = [1, 2]"]),
        ] {
            assert_eq!(found(text), expected, "{text}");
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
            "With `Parser(strict=True)` the default separator is `','`",
            "After `cart.add('x', 2)` the total should be `4`",
            "Call `setup()` first; the port is 8080.",
            "`list.pop()` is called when the size is 0",
            "`f(1)` used to return `3`",
            "```python\nparse(\"x\")  # <- raises here\n```",
            "```python\nf(1)  # 2 spaces wide\nf(2)  # (fails)\n```",
            "```\n>>> f(1)\n[1,\n 2]\n```",
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
        assert_eq!(found(text), ["| x = 1", "f(x) = 2"], "what comes after the last one prepares nothing");
        assert_eq!(found("```js\nconst a = 1;\nadd(a, 2); // => 3\n```"), ["| const a = 1;", "add(a, 2) = 3"]);
        assert_eq!(found("```js\nconsole.log(add(2, 2)); // 4\n```"), ["add(2, 2) > 4"]);
        assert_eq!(found("```\n>>> print(f(1))\n4\n```"), ["f(1) > 4"]);
    }

    #[test]
    fn what_is_read_is_bounded() {
        let many: String = (0..5_000).map(|n| format!("`f({n})` gives {n}\n")).collect();
        assert_eq!(lines(&many).len(), MOST);
        let long = format!("`f(1)` {} gives 2", "a ".repeat(500_000));
        assert_eq!(lines(&long), []);
        let block = format!("```python\n{}f(1)  # 2\n```", "x = 1\n".repeat(LINES + 1));
        assert_eq!(lines(&block), []);
        let wide = format!("```python\nx = '{}'\nf(x)  # 2\n```", "y".repeat(SETUP));
        assert_eq!(lines(&wide), [], "what it needs is not there, nor is it");
    }
}
