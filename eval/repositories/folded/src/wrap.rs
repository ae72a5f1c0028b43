//! Words into lines.

use crate::align::{align, Align};
use crate::words::{length, words};

/// How to wrap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Characters in a line, indentation included.
    pub width: usize,
    /// Before the first line of a paragraph.
    pub first: String,
    /// Before all others.
    pub others: String,
    pub align: Align,
}

impl Default for Options {
    fn default() -> Self {
        Options { width: 72, first: String::new(), others: String::new(), align: Align::Left }
    }
}

/// The lines of a paragraph.
pub fn wrap(text: &str, options: &Options) -> Vec<String> {
    let widest = length(&options.first).max(length(&options.others));
    let room = options.width.saturating_sub(widest).max(1);
    let mut lines: Vec<Vec<String>> = Vec::new();
    let mut used = 0;
    for word in words(text, room) {
        match lines.last_mut() {
            Some(line) if used + 1 + length(&word) <= room => {
                used += 1 + length(&word);
                line.push(word);
            }
            _ => {
                used = length(&word);
                lines.push(vec![word]);
            }
        }
    }
    let count = lines.len();
    let mut out = Vec::new();
    for (index, line) in lines.into_iter().enumerate() {
        let before = if index == 0 { &options.first } else { &options.others };
        // The last line of a paragraph isn't stretched.
        let how = match options.align {
            Align::Justify if index + 1 == count => Align::Left,
            how => how,
        };
        out.push(format!("{before}{}", align(&line.join(" "), room, how)).trim_end().to_string());
    }
    out
}

/// Whole texts: paragraphs are parted by empty lines, and stay so.
pub fn fill(text: &str, options: &Options) -> String {
    let paragraphs: Vec<String> = text
        .split("\n\n")
        .map(|paragraph| wrap(paragraph, options).join("\n"))
        .filter(|paragraph| !paragraph.is_empty())
        .collect();
    paragraphs.join("\n\n")
}
