//! Rebuilds a whole untrusted text with paragraphs and lists from safe pieces.

use super::credentials::without_keys;
use super::escape::cut;
use super::markdown::{fence, prose};

/// The most characters of one paragraph.
const MAX_PARAGRAPH: usize = 2000;
/// Words that alone in bold at the beginning of a quotation make Gitea show it as a call-out, which only the bot's own are to be.
const CALL_OUTS: [&str; 5] = ["note", "tip", "important", "warning", "caution"];

/// Untrusted Markdown as a quoted document: paragraphs, lists, headings (as bold words) and code blocks keep their form, and boxes of check lists
/// are signs: a click on a box would edit the post, which voids a checkpoint. Every line begins with `> `, so that none can pass for the bot's.
/// Everything else is as in [`prose`]: plain words, or code. Cut after `max` characters, and what is missing is counted.
pub fn document(text: &str, max: usize) -> String {
    let text = without_keys(text);
    let (head, missing) = cut(text.trim(), max);
    let mut out: Vec<String> = Vec::new();
    let mut block: Option<(&str, Vec<&str>)> = None;
    for line in head.lines() {
        let trimmed = line.trim();
        let ticks = ["```", "~~~"].into_iter().find(|ticks| trimmed.starts_with(ticks));
        block = match (block, ticks) {
            (Some((open, lines)), Some(ticks)) if ticks == open => {
                push_block(&mut out, &lines);
                None
            }
            (Some((open, mut lines)), _) => {
                lines.push(line);
                Some((open, lines))
            }
            (None, Some(ticks)) => Some((ticks, Vec::new())),
            (None, None) => {
                out.push(paragraph(line));
                None
            }
        };
    }
    if let Some((_, lines)) = block {
        push_block(&mut out, &lines);
    }
    if missing > 0 {
        out.push(String::new());
        out.push(format!("… ({missing} more characters)"));
    }
    out.iter().map(|line| format!("> {line}").trim_end().to_owned() + "\n").collect()
}

fn push_block(out: &mut Vec<String>, lines: &[&str]) {
    out.push(String::new());
    out.extend(fence(&lines.join("\n"), "text").lines().map(str::to_owned));
    out.push(String::new());
}

fn paragraph(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let text = line.trim();
    if let Some(heading) = heading(text) {
        let words = prose(heading, MAX_PARAGRAPH);
        let bare = words.replace('`', "").to_lowercase();
        let end = if CALL_OUTS.contains(&bare.trim()) { ":" } else { "" };
        return if words.is_empty() { words } else { format!("**{words}{end}**") };
    }
    if let Some((sign, rest)) = item(text) {
        let level = "  ".repeat((indent / 2).min(3));
        let (check, rest) = check(rest);
        let words = prose(rest, MAX_PARAGRAPH);
        // A single `-` would turn the line above into a heading.
        return if words.is_empty() && check.is_empty() { words } else { format!("{level}{sign} {check}{words}") };
    }
    // No other Markdown line start consists of plain words; a number with a point was handled as an item.
    prose(text, MAX_PARAGRAPH)
}

/// The words of a heading. A sign without a space behind it begins none: `#12`, `#include`.
fn heading(text: &str) -> Option<&str> {
    let words = text.trim_start_matches('#');
    let begins = words.len() < text.len() && (words.is_empty() || words.starts_with(char::is_whitespace));
    begins.then_some(words)
}

fn item(text: &str) -> Option<(String, &str)> {
    if let Some(rest) = ["- ", "* ", "+ "].into_iter().find_map(|sign| text.strip_prefix(sign)) {
        return Some(("-".to_owned(), rest));
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text.get(digits..)?;
    let rest = rest.strip_prefix('.').or_else(|| rest.strip_prefix(')'))?;
    if (1..=4).contains(&digits) { Some((format!("{}.", &text[..digits]), rest)) } else { None }
}

fn check(rest: &str) -> (&'static str, &str) {
    let rest = rest.trim_start();
    match (rest.strip_prefix("[ ] "), rest.strip_prefix("[x] ").or_else(|| rest.strip_prefix("[X] "))) {
        (Some(open), _) => ("☐ ", open),
        (None, Some(done)) => ("☑ ", done),
        (None, None) => ("", rest),
    }
}
