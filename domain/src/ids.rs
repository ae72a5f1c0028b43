//! Identifiers. Each is a type of its own, so that none is passed for another.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Unix time in milliseconds.
pub type Millis = i64;

/// Number of a task, unique in one installation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(pub i64);

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A full object id of a git commit: 40 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Commit(String);

/// A text that is no full commit id.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a full commit id (40 lower-case hexadecimal digits): {0:?}")]
pub struct NotACommit(String);

impl Commit {
    /// Reads a full commit id; any other text, an abbreviated or upper-case id included, is [`NotACommit`].
    pub fn parse(text: &str) -> Result<Self, NotACommit> {
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if text.len() == 40 && text.bytes().all(hex) {
            Ok(Self(text.to_owned()))
        } else {
            Err(NotACommit(text.to_owned()))
        }
    }

    /// The 40 digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first ten digits, as they are shown to people.
    pub fn short(&self) -> &str {
        &self.0[..10]
    }
}

impl fmt::Display for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Commit {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        Commit::parse(&text).map_err(serde::de::Error::custom)
    }
}
