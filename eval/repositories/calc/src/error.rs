//! What can be wrong with a line.

use std::fmt;

#[derive(Debug, Clone, PartialEq)]
pub enum CalcError {
    /// A character that means nothing.
    Character(char),
    /// The line ends too early.
    End,
    /// Something stands where it can't: its text.
    Unexpected(String),
    /// A name without a value.
    Name(String),
    DivisionByZero,
}

impl fmt::Display for CalcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CalcError::Character(found) => write!(f, "unknown character {found:?}"),
            CalcError::End => write!(f, "the line ends too early"),
            CalcError::Unexpected(text) => write!(f, "{text} can't stand there"),
            CalcError::Name(name) => write!(f, "{name} has no value"),
            CalcError::DivisionByZero => write!(f, "division by zero"),
        }
    }
}

impl std::error::Error for CalcError {}
