//! A text without its comments and without what its strings hold, for counting words that are code.
//!
//! Not a parser: it knows how each language begins and ends comments and strings, and reads on to the end where one is not closed.

use std::ops::Range;

/// How a language writes comments and strings.
#[derive(Clone, Copy)]
pub(super) struct Style {
    /// What begins a comment that ends with its line.
    pub line: &'static [&'static str],
    /// What begins and ends a comment of several lines.
    pub block: Option<(&'static str, &'static str)>,
    /// Whether such comments contain each other.
    pub nested: bool,
    /// Quotes of strings of several lines.
    pub long: &'static [&'static str],
    /// Whether a plain string may have several lines too.
    pub lines: bool,
    /// Whether a single quote is Rust's: of one character, or of a lifetime.
    pub lifetimes: bool,
    /// Whether a backtick begins a string, and whether a backslash escapes in it.
    pub backtick: Option<bool>,
}

/// Comments as in C and strings that end with their line.
pub(super) const C: Style = Style {
    line: &["//"],
    block: Some(("/*", "*/")),
    nested: false,
    long: &[],
    lines: false,
    lifetimes: false,
    backtick: None,
};

/// Comments with `#`.
pub(super) const HASH: Style = Style { line: &["#"], block: None, ..C };

/// What a part of a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Code,
    Comment,
    String,
}

/// What is code of a text. Of strings their quotes stay, of comments nothing does.
pub(super) fn code_alone(text: &str, style: &Style) -> String {
    let mut out = String::with_capacity(text.len());
    read(text, style, |range, _, instead| out.push_str(instead.unwrap_or(&text[range])));
    out
}

/// The text with a space for each byte of its comments and strings, so that a place in it is one in the text.
pub(super) fn blanked(text: &str, style: &Style) -> String {
    let mut out = String::with_capacity(text.len());
    read(text, style, |range, piece, _| match piece {
        Piece::Code => out.push_str(&text[range]),
        Piece::Comment | Piece::String => out.extend(std::iter::repeat_n(' ', range.len())),
    });
    out
}

/// The parts of the text in order, with their places in bytes.
pub(super) fn pieces(text: &str, style: &Style) -> Vec<(Range<usize>, Piece)> {
    let mut found: Vec<(Range<usize>, Piece)> = Vec::new();
    read(text, style, |range, piece, _| match found.last_mut() {
        Some((last, Piece::Code)) if piece == Piece::Code => last.end = range.end,
        _ => found.push((range, piece)),
    });
    found
}

/// Gives each character of code, each comment and each string, with what stays of one that is no code.
fn read(text: &str, style: &Style, mut each: impl FnMut(Range<usize>, Piece, Option<&str>)) {
    let (mut at, mut before) = (0, ' ');
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let left_out = comment(rest, style)
            .map(|len| (len, "", Piece::Comment))
            .or_else(|| string(rest, before, style).map(|(len, instead)| (len, instead, Piece::String)));
        let end = match left_out {
            Some((len, instead, piece)) => {
                // A place within a character is read on from, to its end.
                let end = (at + len..=text.len()).find(|end| text.is_char_boundary(*end)).unwrap_or(text.len());
                each(at..end, piece, Some(instead));
                before = ' ';
                end
            }
            None => {
                let end = at + c.len_utf8();
                each(at..end, Piece::Code, None);
                before = c;
                end
            }
        };
        at = end;
    }
}

/// Bytes of the comment that begins here.
fn comment(text: &str, style: &Style) -> Option<usize> {
    if style.line.iter().any(|mark| text.starts_with(mark)) {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    let (open, close) = style.block.filter(|(open, _)| text.starts_with(open))?;
    let (mut depth, mut at) = (1_u32, open.len());
    while depth > 0 && at < text.len() {
        let rest = &text[at..];
        at += if rest.starts_with(close) {
            depth -= 1;
            close.len()
        } else if style.nested && rest.starts_with(open) {
            depth += 1;
            open.len()
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
    }
    Some(at)
}

/// Bytes of the string that begins here, and what stays of it.
fn string(text: &str, before: char, style: &Style) -> Option<(usize, &'static str)> {
    if let Some(quote) = style.long.iter().find(|quote| text.starts_with(**quote)) {
        return Some((closed(text, quote, (true, true)), "\"\""));
    }
    if style.lifetimes
        && let Some(len) = raw(text, before)
    {
        return Some((len, "\"\""));
    }
    match text.chars().next()? {
        '"' => Some((closed(text, "\"", (true, style.lines)), "\"\"")),
        '\'' if style.lifetimes => character(text).map(|len| (len, "''")),
        '\'' => Some((closed(text, "'", (true, style.lines)), "''")),
        '`' => style.backtick.map(|escapes| (closed(text, "`", (escapes, true)), "``")),
        _ => None,
    }
}

/// Bytes up to and with the closing quote, or, where a string has one line, to its end.
fn closed(text: &str, quote: &str, (escapes, lines): (bool, bool)) -> usize {
    let mut at = quote.len();
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        if text[at..].starts_with(quote) {
            return at + quote.len();
        }
        if c == '\n' && !lines {
            return at;
        }
        at += c.len_utf8();
        if c == '\\' && escapes {
            at += text[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    text.len()
}

/// Bytes of a raw string of Rust: `r"…"`, `r#"…"#`, also with `b` or `c` before.
fn raw(text: &str, before: char) -> Option<usize> {
    if before.is_alphanumeric() || before == '_' {
        return None;
    }
    let bare = text.strip_prefix(['b', 'c']).unwrap_or(text).strip_prefix('r')?;
    let hashes = bare.bytes().take_while(|byte| *byte == b'#').count();
    let inner = bare[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let begun = text.len() - inner.len();
    Some(inner.find(&close).map_or(text.len(), |at| begun + at + close.len()))
}

/// Bytes of a character of Rust; none for a lifetime.
fn character(text: &str) -> Option<usize> {
    let mut chars = text[1..].chars();
    let first = chars.next()?;
    if first == '\\' {
        return Some(closed(text, "'", (true, false)));
    }
    (first != '\'' && chars.next() == Some('\'')).then(|| first.len_utf8() + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUST: Style = Style { nested: true, lines: true, lifetimes: true, ..C };

    #[test]
    fn comments_go_and_strings_are_emptied() {
        for (text, style, wanted) in [
            ("a // b\nc", C, "a \nc"),
            ("a /* b\n */ c /* d", C, "a  c "),
            ("f(\"a // b\") // c", C, "f(\"\") "),
            ("f(\"a\\\"b\", 'c')", C, "f(\"\", '')"),
            ("f(\"a\nb", C, "f(\"\"\nb"),
            ("x = '''a\n# b''' # c\ny", Style { long: &["\"\"\"", "'''"], ..HASH }, "x = \"\" \ny"),
            ("`a\n\\`b` c", Style { backtick: Some(true), ..C }, "`` c"),
            ("`a\\` c", Style { backtick: Some(false), ..C }, "`` c"),
            ("fn f<'a>(c: &'a str) { 'x'; '\\''; \"a\nb\" }", RUST, "fn f<'a>(c: &'a str) { ''; ''; \"\" }"),
            ("br##\"a\"# b\"## c for\"d\"", RUST, "\"\" c for\"\""),
            ("a /* b /* c */ d */ e", RUST, "a  e"),
        ] {
            assert_eq!(code_alone(text, &style), wanted, "{text}");
        }
    }
}
