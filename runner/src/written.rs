//! Files as a write changed them, to be checked for mistakes.

use locate::Language;
use serde::{Deserialize, Serialize};

/// Longest text that is checked, in bytes; both texts of all files of a write may have four times as much.
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
    /// A file that can be checked: in a known language and, if it existed, with old content in UTF-8. `before` is the old content.
    pub fn new(path: String, before: Option<Vec<u8>>, after: &str) -> Option<Self> {
        Language::of(&path)?;
        let fits = after.len() <= LONGEST && before.as_ref().is_none_or(|old| old.len() <= LONGEST);
        let before = before.map(String::from_utf8).transpose().ok()?;
        fits.then(|| Self { path, before, after: after.to_owned() })
    }
}
