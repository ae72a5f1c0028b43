//! A pattern, taken apart.

use crate::matcher;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatternError {
    /// `[` without its end.
    OpenSet,
    /// `[z-a]`
    Backwards(char, char),
}

/// One piece of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Char(char),
    /// `?`
    One,
    /// `*`
    Many,
    /// `**/`
    Folders,
    Set { inverted: bool, ranges: Vec<(char, char)> },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    pieces: Vec<Piece>,
}

impl Pattern {
    pub fn new(text: &str) -> Result<Pattern, PatternError> {
        let chars: Vec<char> = text.chars().collect();
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < chars.len() {
            match chars[at] {
                '*' if chars[at..].starts_with(&['*', '*', '/']) => {
                    pieces.push(Piece::Folders);
                    at += 3;
                }
                '*' => {
                    pieces.push(Piece::Many);
                    at += 1;
                }
                '?' => {
                    pieces.push(Piece::One);
                    at += 1;
                }
                '[' => {
                    let (piece, next) = set(&chars, at + 1)?;
                    pieces.push(piece);
                    at = next;
                }
                c => {
                    pieces.push(Piece::Char(c));
                    at += 1;
                }
            }
        }
        Ok(Pattern { text: text.to_string(), pieces })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn fits(&self, path: &str) -> bool {
        let path: Vec<char> = path.chars().collect();
        matcher::fits(&self.pieces, &path)
    }
}

/// The set that begins after a bracket, and where it ends. A `]` right at its beginning belongs to it.
fn set(chars: &[char], mut at: usize) -> Result<(Piece, usize), PatternError> {
    let inverted = chars.get(at) == Some(&'!');
    if inverted {
        at += 1;
    }
    let start = at;
    let mut ranges = Vec::new();
    loop {
        match chars.get(at) {
            None => return Err(PatternError::OpenSet),
            Some(']') if at > start => return Ok((Piece::Set { inverted, ranges }, at + 1)),
            Some(&first) => {
                let last = match (chars.get(at + 1), chars.get(at + 2)) {
                    (Some('-'), Some(&last)) if last != ']' => {
                        at += 2;
                        last
                    }
                    _ => first,
                };
                if first > last {
                    return Err(PatternError::Backwards(first, last));
                }
                ranges.push((first, last));
                at += 1;
            }
        }
    }
}
