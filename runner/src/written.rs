//! What a write left of a file, for whoever looks for mistakes in it.

use locate::Language;
use serde::{Deserialize, Serialize};

/// Longest text that is looked at, in bytes; both texts of all files of a write together have four times as much.
pub const LONGEST: usize = 512 << 10;

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    pub path: String,
    /// Its text before; none for a new file.
    pub before: Option<String>,
    pub after: String,
}

impl Written {
    /// One that can be looked at: in a known language, with a text before it that was one. `before`: bytes that stood there.
    pub fn new(path: String, before: Option<Vec<u8>>, after: &str) -> Option<Self> {
        Language::of(&path)?;
        let fits = after.len() <= LONGEST && before.as_ref().is_none_or(|old| old.len() <= LONGEST);
        let before = before.map(String::from_utf8).transpose().ok()?;
        fits.then(|| Self { path, before, after: after.to_owned() })
    }
}
