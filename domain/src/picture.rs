//! A picture that a task's conversation shows: what is known of it, never its bytes.

use serde::{Deserialize, Serialize};

/// One picture. Its bytes lie in the store beside the log, under their digest: the log stays small, and says what was shown all the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// SHA-256 of its bytes, in lower-case hex.
    pub digest: String,
    /// Its media type, as its own first bytes say: `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media: String,
    /// Pixels from left to right.
    pub width: u32,
    /// Pixels from top to bottom.
    pub height: u32,
    /// Its length.
    pub bytes: u64,
    /// What it is called: an attachment's name, or a path in the workspace. Foreign.
    pub name: String,
}
