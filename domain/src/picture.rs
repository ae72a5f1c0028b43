//! Metadata of a picture that a task's conversation shows; its bytes are stored elsewhere.

use serde::{Deserialize, Serialize};

/// One picture. Its bytes are in the store under their digest, so that the log stays small.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// SHA-256 of its bytes, in lower-case hex.
    pub digest: String,
    /// Its media type, read from its first bytes: `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media: String,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its name: that of an attachment, or a path in the workspace. Untrusted.
    pub name: String,
}
