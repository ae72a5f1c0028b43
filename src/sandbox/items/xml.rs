//! A parser for the part of XML 1.0 that test reports use: elements, attributes, text, CDATA; comments and declarations are skipped.
//!
//! Only the five predefined entities and numeric ones are resolved.

/// The most bytes of a tag that are searched for its end.
const TAG: usize = 64 << 10;

/// A piece of a document.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// An element begins; with `empty` it also ends.
    Open { name: &'a str, attributes: &'a str, empty: bool },
    /// An element ends.
    Close { name: &'a str },
    /// Text between tags, with its entities.
    Text(&'a str),
    /// Text without entities.
    Raw(&'a str),
}

/// The pieces of a text, up to one that has no end.
pub(super) struct Pieces<'a> {
    rest: &'a str,
}

pub(super) fn pieces(text: &str) -> Pieces<'_> {
    Pieces { rest: text }
}

impl<'a> Pieces<'a> {
    /// The text between these two delimiters, the first of which is here; ends the document if the second is missing.
    fn between(&mut self, opens: &str, closes: &str) -> &'a str {
        let inside = self.rest.get(opens.len()..).unwrap_or_default();
        let (found, rest) = inside.split_once(closes).unwrap_or((inside, ""));
        self.rest = rest;
        found
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        loop {
            if self.rest.starts_with("<![CDATA[") {
                return Some(Piece::Raw(self.between("<![CDATA[", "]]>")));
            } else if self.rest.starts_with("<!--") {
                self.between("<!--", "-->");
            } else if self.rest.starts_with("<?") {
                self.between("<?", "?>");
            } else if self.rest.starts_with("<!") {
                self.between("<!", ">");
            } else if self.rest.starts_with('<') {
                let end = end_of_tag(self.rest)?;
                let (tag, rest) = (&self.rest[1..end], &self.rest[end + 1..]);
                self.rest = rest;
                return Some(tag_of(tag));
            } else if self.rest.is_empty() {
                return None;
            } else {
                let end = self.rest.find('<').unwrap_or(self.rest.len());
                let (text, rest) = self.rest.split_at(end);
                self.rest = rest;
                return Some(Piece::Text(text));
            }
        }
    }
}

/// The end of the tag that begins here, ignoring brackets in quotes.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate().take(TAG) {
        match (quote, byte) {
            (None, b'>') => return Some(at),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            (None | Some(_), _) => {}
        }
    }
    None
}

fn tag_of(tag: &str) -> Piece<'_> {
    if let Some(name) = tag.strip_prefix('/') {
        return Piece::Close { name: name.trim() };
    }
    let (tag, empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
    let (name, attributes) = tag.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((tag, ""));
    Piece::Open { name, attributes, empty }
}

/// The value of an attribute of a tag.
pub(super) fn attribute(attributes: &str, wanted: &str) -> Option<String> {
    let mut rest = attributes;
    loop {
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (value, next) = after[1..].split_once(quote)?;
        if name.trim() == wanted {
            return Some(unescaped(value));
        }
        rest = next;
    }
}

/// The text with its entities resolved; unknown ones are left unchanged.
pub(super) fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        // The longest is `&#x10ffff;`.
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        match end.and_then(|end| Some((entity(&rest[1..end])?, end))) {
            Some((c, end)) => {
                out.push(c);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn entity(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        number => {
            let digits = number.strip_prefix('#')?;
            let code = match digits.strip_prefix('x') {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => digits.parse(),
            };
            char::from_u32(code.ok()?)
        }
    }
}
