//! Errors of a forge, and whether a retry makes sense. No error text contains a token or a URL's userinfo.

use thiserror::Error;

/// Why a call to the forge failed; texts name the call and the forge's message.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum ForgeError {
    /// It does not exist, or this account may not see it.
    #[error("the forge has no {0} (or this account may not see it)")]
    NotFound(String),
    /// The forge redirects. If the repository has another name now, [`crate::forge::ForgeReads::locate`] finds it by its id.
    #[error("the forge redirects to another address: {0}")]
    Moved(String),
    /// The answer exceeds the size limit.
    #[error("there is more of it than is read: {0}")]
    TooLarge(String),
    /// The forge's state prevents it: a duplicate, an archived repository, not mergeable.
    #[error("the forge refuses because of its present state: {0}")]
    Conflict(String),
    /// The token is refused or the account lacks the right.
    #[error("the forge forbids it: {0}")]
    Forbidden(String),
    /// The forge considers the request invalid.
    #[error("the forge calls the request invalid: {0}")]
    Invalid(String),
    /// Nothing was done: the forge is unreachable, overloaded, or answered a read with a 5xx.
    #[error("the forge cannot be reached or is overloaded: {text}")]
    Unavailable {
        /// The call, and what went wrong.
        text: String,
        /// Milliseconds that the forge asked to wait; none where it named no time.
        retry_after_ms: Option<u64>,
    },
    /// A write was sent and its answer is lost or a 5xx: it may have happened, or may still happen.
    #[error("the forge did not say whether it was done: {0}")]
    Ambiguous(String),
    /// The answer violates the forge's API.
    #[error("the forge answered something unexpected: {0}")]
    Protocol(String),
}

impl ForgeError {
    /// Whether a later retry may succeed; an ambiguous write must be read back first.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Ambiguous(_))
    }
}
