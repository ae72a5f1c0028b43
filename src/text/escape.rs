//! Makes invisible characters visible.

use regex::{Captures, Regex};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::LazyLock;

/// Whether a character is invisible or misleading: control, bidirectional, zero-width, filler, variation selector, tag, private-use or
/// non-character. Line feed and tab count too, and callers that keep them handle them first.
pub fn is_hidden(c: char) -> bool {
    let code = u32::from(c);
    c.is_control()
        || matches!(code,
            0x00AD | 0x034F | 0x061C | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x180B..=0x180F
            | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0x2800 | 0x3164
            | 0xE000..=0xF8FF | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0 | 0xFFF0..=0xFFFB | 0xFDD0..=0xFDEF
            | 0x1BCA0..=0x1BCA3 | 0x1D173..=0x1D17A | 0xE0000..=0xE0FFF | 0xF0000..=0x10FFFF)
        || code & 0xFFFE == 0xFFFE
}

/// Whether nothing but printable ASCII, line feeds and tabs stands in it, as in most outputs: nothing in it is hidden then.
pub fn is_plain(text: &str) -> bool {
    // Without an early end inside a piece the compiler compares many bytes at once.
    let plain = |piece: &[u8]| piece.iter().fold(true, |all, byte| all & is_plain_byte(*byte));
    text.as_bytes().chunks(256).all(plain)
}

fn is_plain_byte(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\t')
}

fn push_escaped(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        _ => {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        }
    }
}

/// The text with its lines: line feeds and tabs stay (a carriage return before a line feed is dropped), every hidden character is shown as
/// `\u{202e}`. An emoji's own variation selector stays.
pub fn visible(text: &str) -> String {
    shown(text, true)
}

/// The text on one line: as [`visible`], with line feeds and tabs shown as `\n` and `\t`.
pub fn one_line(text: &str) -> String {
    shown(text, false)
}

/// JSON on one line with its hidden characters in JSON's own form, so that it stays valid: `\u202e`. They stand in its texts alone.
pub fn json_line(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_hidden(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

fn shown(text: &str, lines: bool) -> String {
    if lines && is_plain(text) {
        return text.to_owned();
    }
    let plain = |byte: u8| is_plain_byte(byte) && (lines || byte >= b' ');
    let mut out = String::with_capacity(text.len());
    let (mut before, mut rest) = (' ', text);
    loop {
        // The common case, copied at once because long conversations are processed before each call.
        let end = rest.bytes().position(|byte| !plain(byte)).unwrap_or(rest.len());
        let (copied, other) = rest.split_at(end);
        out.push_str(copied);
        before = copied.chars().next_back().unwrap_or(before);
        let mut chars = other.chars();
        let Some(c) = chars.next() else { return out };
        rest = chars.as_str();
        let line_end = c == '\r' && rest.starts_with('\n');
        let emoji_style = c == '\u{fe0f}' && !before.is_ascii() && !is_hidden(before);
        if line_end && lines {
            // The line feed after it is enough.
        } else if emoji_style || !is_hidden(c) {
            out.push(c);
        } else {
            push_escaped(&mut out, c);
        }
        before = c;
    }
}

/// Columns that a line takes where it is shown: a tab counts as 8, any other character as one.
pub fn columns(line: &str) -> usize {
    line.chars().map(|c| if c == '\t' { 8_usize } else { 1 }).sum()
}

/// The first `max` characters, and how many are missing.
pub fn cut(text: &str, max: usize) -> (&str, usize) {
    // No text has more characters than bytes.
    if text.len() <= max {
        return (text, 0);
    }
    match text.char_indices().nth(max) {
        Some((at, _)) => (&text[..at], text[at..].chars().count()),
        None => (text, 0),
    }
}

/// Untrusted text on one line of a place without code spans: a status, a log.
///
/// Keeps letters, digits and a few harmless signs; whatever a forge reads as a mention, link or markup becomes a space. At most `max`
/// characters, cut at a word if possible.
pub fn plain_line(text: &str, max: usize) -> String {
    at_most(&plain_words(text), max)
}

/// As [`plain_line`], for what a forge renders: a pull request's title, a commit's subject. Nothing in it refers to an issue (`GH-12`) or, with
/// seven hexadecimal digits or more, to a commit.
pub fn title_line(text: &str, max: usize) -> String {
    at_most(&REFERENCE.replace_all(&plain_words(text), |found: &Captures<'_>| apart(&found[0])), max)
}

/// The ends of words are ASCII's, as forges see them: a mark or a letter of another script that touches a commit's digits hides none.
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?i)(?:(?-u:\b)|_)GH-[0-9]|(?-u:\b)[0-9A-F]{7,}(?-u:\b)";
    Regex::new(pattern).expect("the pattern is compiled in, and a test tries it")
});

/// A text that a forge may take as a commit's message, in which code is no code: a space stands within each reference to an issue, each time
/// that was worked (`@2h`) and each address.
pub fn unreferring(text: &str) -> Cow<'_, str> {
    static LIVE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)(?:[#!@]|\bGH-)[0-9]|://\S").expect("the pattern is compiled in, and a test tries it")
    });
    LIVE.replace_all(text, |found: &Captures<'_>| {
        let last = found[0].char_indices().next_back().map_or(0, |(at, _)| at);
        format!("{} {}", &found[0][..last], &found[0][last..])
    })
}

/// A reference in pieces that are none: a number in groups of three digits, as `text::grouped` has them.
fn apart(reference: &str) -> String {
    if reference.contains('-') {
        return reference.replace('-', " ");
    }
    let is_number = reference.bytes().all(|byte| byte.is_ascii_digit());
    let is_gap = |at: usize| match is_number {
        true => (reference.len() - at).is_multiple_of(3),
        false => at.is_multiple_of(6),
    };
    let mut out = String::new();
    for (at, digit) in reference.chars().enumerate() {
        if at > 0 && is_gap(at) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// The most marks of one letter that are kept; more would lie over what stands above and below.
const MOST_MARKS: usize = 2;

/// The words of a text, with the marks that their letters have in many languages, and a few signs that nothing reads as more, with single
/// spaces between.
fn plain_words(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut marks = MOST_MARKS;
    for c in text.chars() {
        if c.is_alphanumeric() {
            marks = 0;
            kept.extend(Some(c).filter(|c| !is_hidden(*c)));
        } else if marks < MOST_MARKS && is_mark(c) && !is_hidden(c) {
            marks += 1;
            kept.push(c);
        } else {
            marks = MOST_MARKS;
            kept.push(if ".,()'_-=+".contains(c) { c } else { ' ' });
        }
    }
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a character is shown as a part of the letter before it.
fn is_mark(c: char) -> bool {
    static MARK: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\p{M}$").expect("the pattern is compiled in, and a test tries it"));
    !c.is_ascii() && MARK.is_match(c.encode_utf8(&mut [0; 4]))
}

/// The line, cut at a word if possible.
fn at_most(line: &str, max: usize) -> String {
    let (head, missing) = cut(line, max);
    if missing == 0 {
        return head.to_owned();
    }
    let (head, _) = cut(line, max.saturating_sub(1));
    let end = head.rfind(' ').filter(|at| *at > head.len() / 2).unwrap_or(head.len());
    format!("{}…", head[..end].trim_end())
}
