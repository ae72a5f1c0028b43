//! An iterator over rows.

use std::iter::Peekable;
use std::str::Chars;

/// What is wrong, and in which line it begins (counted from 1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError {
    /// A quoted field without its end.
    OpenQuote { line: usize },
    /// Text right after the end of a quoted field.
    AfterQuote { line: usize },
}

/// Rows of a text.
pub struct Rows<'a> {
    chars: Peekable<Chars<'a>>,
    line: usize,
}

/// Reads a text. Fields are parted by commas; quoted ones may hold commas, line breaks, and quotes written twice.
pub fn read(text: &str) -> Rows<'_> {
    Rows { chars: text.chars().peekable(), line: 1 }
}

impl Rows<'_> {
    /// Whether a line ended here; takes `\n` and `\r\n`.
    fn line_end(&mut self) -> bool {
        if self.chars.peek() == Some(&'\r') {
            let mut ahead = self.chars.clone();
            ahead.next();
            if ahead.peek() == Some(&'\n') {
                self.chars.next();
            }
        }
        if self.chars.peek() == Some(&'\n') {
            self.chars.next();
            self.line += 1;
            return true;
        }
        false
    }

    fn quoted(&mut self) -> Result<String, ReadError> {
        let line = self.line;
        let mut field = String::new();
        loop {
            match self.chars.next() {
                None => return Err(ReadError::OpenQuote { line }),
                Some('"') if self.chars.peek() == Some(&'"') => {
                    self.chars.next();
                    field.push('"');
                }
                Some('"') => return Ok(field),
                Some(c) => {
                    if c == '\n' {
                        self.line += 1;
                    }
                    field.push(c);
                }
            }
        }
    }

    fn row(&mut self) -> Result<Vec<String>, ReadError> {
        let mut row = Vec::new();
        loop {
            let mut field = String::new();
            if self.chars.peek() == Some(&'"') {
                self.chars.next();
                field = self.quoted()?;
                let at_end = matches!(self.chars.peek(), None | Some(',' | '\n' | '\r'));
                if !at_end {
                    return Err(ReadError::AfterQuote { line: self.line });
                }
            }
            loop {
                if self.chars.peek().is_none() || self.line_end() {
                    row.push(field);
                    return Ok(row);
                }
                match self.chars.next() {
                    Some(',') => break,
                    Some(c) => field.push(c),
                    None => {}
                }
            }
            row.push(field);
        }
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<Vec<String>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.chars.peek()?;
        let row = self.row();
        if row.is_err() {
            // Nothing after an error makes sense.
            self.chars = "".chars().peekable();
        }
        Some(row)
    }
}
