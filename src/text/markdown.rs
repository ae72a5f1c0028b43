//! Untrusted text in Markdown: code spans, fences, table cells, and prose with every risky word as code.
//!
//! Backslash escapes do not protect on a forge, which searches for `@name` and `#1` in the *rendered* text. Only code is exempt, so
//! everything but plain words becomes code.

use super::credentials::without_keys;
use super::escape::{cut, is_hidden, one_line, visible};

/// The most characters in one code span; the rest is cut and counted.
pub const MAX_INLINE: usize = 160;
/// The most characters in one line of a fence; the rest is cut and counted.
pub const MAX_LINE: usize = 400;

fn longest_run(text: &str) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

fn span(shown: &str) -> String {
    if shown.is_empty() {
        return "` `".to_owned();
    }
    let ticks = "`".repeat(longest_run(shown) + 1);
    let edge = |c: Option<char>| c.is_some_and(|c| c == '`' || c == ' ');
    // Parsers trim one space at each end of a span, unless it has only spaces.
    let blank = shown.chars().all(|c| c == ' ');
    let pad = if !blank && (edge(shown.chars().next()) || edge(shown.chars().last())) { " " } else { "" };
    format!("{ticks}{pad}{shown}{pad}{ticks}")
}

fn cut_span(text: &str, each: impl Fn(&str) -> String) -> String {
    let shown = one_line(text);
    let (head, missing) = cut(&shown, MAX_INLINE);
    if missing == 0 { span(&each(head)) } else { format!("{}… ({missing} more characters)", span(&each(head))) }
}

/// Untrusted text as one code span on one line; cut after [`MAX_INLINE`] characters, and what is missing is counted.
pub fn code(text: &str) -> String {
    cut_span(text, str::to_owned)
}

/// As [`code`], for a table cell, which a `|` would end even inside of code.
pub fn plain_cell(text: &str) -> String {
    cut_span(text, |head| {
        let mut out = String::with_capacity(head.len() + 8);
        let mut slash = false;
        for c in head.chars() {
            match c {
                // Parsers disagree about `\\|`, so a bar after a backslash is written as an escape.
                '|' if slash => out.push_str("u{7c}"),
                '|' => out.push_str("\\|"),
                _ => out.push(c),
            }
            slash = c == '\\';
        }
        // A final backslash could escape the bar that ends the cell.
        if slash {
            out.push(' ');
        }
        out
    })
}

/// A fence that this text cannot close.
pub fn ticks(text: &str) -> String {
    "`".repeat(longest_run(text).max(2) + 1)
}

/// Untrusted text as a fenced block, its fence longer than its longest run of backticks. `lang` is ours.
/// Ends with a line feed; lines beyond [`MAX_LINE`] characters are cut and counted.
pub fn fence(text: &str, lang: &str) -> String {
    let shown = visible(text);
    let ticks = ticks(&shown);
    let mut out = format!("{ticks}{lang}\n");
    for line in shown.lines() {
        let (head, missing) = cut(line, MAX_LINE);
        out.push_str(head);
        if missing > 0 {
            out.push_str(&format!("… [{missing} more characters]"));
        }
        out.push('\n');
    }
    out.push_str(&ticks);
    out.push('\n');
    out
}

/// A part of a sentence, and whether white space precedes it.
enum Piece {
    Word(String, bool),
    Code(String, bool),
}

/// Untrusted sentences for a paragraph: plain words stay, everything else becomes code.
///
/// A word is plain if it consists of letters (or is a short number) with ordinary punctuation around it. Text in backticks stays code. Line
/// breaks become spaces. Must not be at the beginning of a line. Cut after `max` characters.
pub fn prose(text: &str, max: usize) -> String {
    sentences(text, max, code)
}

/// As [`prose`], for a cell of a table.
pub fn prose_cell(text: &str, max: usize) -> String {
    sentences(text, max, plain_cell)
}

fn sentences(text: &str, max: usize, as_code: fn(&str) -> String) -> String {
    let text = without_keys(text);
    let (head, missing) = cut(text.trim(), max);
    let mut pieces: Vec<Piece> = Vec::new();
    let mut spaced = true;
    for (at, part) in head.split('`').enumerate() {
        // Odd parts were between backticks; an unclosed one is treated alike, which is safe.
        if at % 2 == 1 && !part.trim().is_empty() {
            pieces.push(Piece::Code(part.trim().to_owned(), spaced));
            spaced = false;
            continue;
        }
        spaced |= part.starts_with(char::is_whitespace);
        for word in part.split_whitespace() {
            push_word(&mut pieces, word, spaced);
            spaced = true;
        }
        if !part.is_empty() {
            spaced = part.ends_with(char::is_whitespace);
        }
    }
    let mut out = join(pieces, as_code);
    if missing > 0 {
        out.push_str(&format!(" … ({missing} more characters)"));
    }
    out
}

/// Adds a word, or the code in it with surrounding punctuation outside.
fn push_word(pieces: &mut Vec<Piece>, word: &str, spaced: bool) {
    if is_plain_word(word) {
        return pieces.push(Piece::Word(word.to_owned(), spaced));
    }
    let inner = word.trim_start_matches(['(', '"', '\'']);
    let lead = &word[..word.len() - inner.len()];
    let marks: &[char] =
        if inner.contains('(') { &['.', ',', ';', '!', '?'] } else { &['.', ',', ';', ':', '!', '?', ')', '"', '\''] };
    let core = inner.trim_end_matches(marks);
    let trail = &inner[core.len()..];
    if core.is_empty() {
        return pieces.push(Piece::Code(word.to_owned(), spaced));
    }
    if !lead.is_empty() {
        pieces.push(Piece::Word(lead.to_owned(), spaced));
    }
    pieces.push(Piece::Code(core.to_owned(), spaced && lead.is_empty()));
    if !trail.is_empty() {
        pieces.push(Piece::Word(trail.to_owned(), false));
    }
}

/// Joins adjacent pieces of code to one span.
fn join(pieces: Vec<Piece>, as_code: fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut open = String::new();
    let gap = |text: &mut String, spaced: bool| {
        if spaced && !text.is_empty() {
            text.push(' ');
        }
    };
    let mut open_spaced = false;
    let mut after_word = false;
    for piece in pieces {
        match piece {
            Piece::Code(text, spaced) if open.is_empty() => (open, open_spaced) = (text, spaced),
            Piece::Code(text, spaced) => {
                gap(&mut open, spaced);
                open.push_str(&text);
            }
            Piece::Word(word, spaced) => {
                if !open.is_empty() {
                    gap(&mut out, open_spaced);
                    out.push_str(&as_code(&std::mem::take(&mut open)));
                    after_word = false;
                }
                // Two adjacent words, because the code between was empty, must not join to one that was not checked.
                gap(&mut out, spaced || after_word);
                out.push_str(&word);
                after_word = true;
            }
        }
    }
    if !open.is_empty() {
        gap(&mut out, open_spaced);
        out.push_str(&as_code(&open));
    }
    out
}

/// Letters with inner apostrophes or hyphens, or a number of up to six digits, in ordinary punctuation; no possible commit id (seven or
/// more hexadecimal digits), which a forge would link.
fn is_plain_word(word: &str) -> bool {
    let core =
        word.trim_start_matches(['(', '"', '\'']).trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '"', '\'']);
    if word.chars().any(is_hidden) {
        return false;
    }
    if core.is_empty() {
        return matches!(word, "." | "," | ";" | ":" | "?" | "!" | "(" | ")" | ")." | ")," | "…");
    }
    if matches!(core, "–" | "—" | "→" | "…") {
        return true;
    }
    if core.chars().all(|c| c.is_ascii_digit()) {
        return core.len() <= 6;
    }
    let letters = core.chars().all(|c| c.is_alphabetic() || c == '\'' || c == '’' || c == '-');
    let framed = core.starts_with(char::is_alphabetic) && core.ends_with(char::is_alphabetic);
    let commit_like = core.len() >= 7 && core.chars().all(|c| c.is_ascii_hexdigit());
    letters && framed && !commit_like
}
