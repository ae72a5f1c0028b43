//! A secret value: a token, a password, a hook's secret. Owns only the wrapper: `Debug` and `Display` never show the content, and it cannot
//! be serialised. Must not know where secrets come from or go to. Encryption with one: `secret/seal.rs`; the list of this process's
//! secrets, to remove them from texts: `secret/known.rs`. Tests: below.

mod known;
mod seal;

pub use known::{PLACE, SHORTEST, hidden, without};
pub use seal::{SealError, SealingKey};

use std::fmt;

/// Text that no log, error or `Debug` output may show; `expose` is the only access, so that all uses are found by its name.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps the text as it is, even an empty one.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The content; only for sending it or writing it to a file of mode 0600.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether it is empty, so that it protects nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A new secret of 32 random bytes from the operating system, as 64 hexadecimal digits.
    pub fn random() -> Result<Self, String> {
        let mut bytes = [0u8; 32];
        getrandom::fill(&mut bytes).map_err(|e| format!("the operating system gives no random bytes: {e}"))?;
        Ok(Self(hex::encode(bytes)))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_and_display_show_nothing() {
        let secret = Secret::new("hunter2");
        assert!(!format!("{secret:?} {secret}").contains("hunter2"));
    }

    #[test]
    fn random_ones_differ() {
        let (a, b) = (Secret::random().unwrap(), Secret::random().unwrap());
        assert_eq!(a.expose().len(), 64);
        assert_ne!(a, b);
    }
}
