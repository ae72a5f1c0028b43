//! From text to [`Ini`].

use crate::model::Ini;

/// What is wrong, and in which line (counted from 1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParseError {
    /// `[name` without its end.
    OpenSection(usize),
    /// A line that is neither a section nor `key = value`.
    NoValue(usize),
    /// `= value`.
    NoKey(usize),
}

/// Reads a file's text.
pub fn parse(text: &str) -> Result<Ini, ParseError> {
    let mut ini = Ini::new();
    let mut current = String::new();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let line = line.trim();
        if line.is_empty() || line.starts_with(';') || line.starts_with('#') {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let name = rest.strip_suffix(']').ok_or(ParseError::OpenSection(number))?;
            current = name.trim().to_string();
            ini.section_mut(&current);
            continue;
        }
        let (key, value) = line.split_once('=').ok_or(ParseError::NoValue(number))?;
        let key = key.trim();
        if key.is_empty() {
            return Err(ParseError::NoKey(number));
        }
        ini.set(&current, key, unquoted(value.trim()));
    }
    Ok(ini)
}

/// The text between two double quotes, or all of it.
fn unquoted(value: &str) -> &str {
    value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value)
}
