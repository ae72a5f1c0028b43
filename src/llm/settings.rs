//! The settings that every kind of model shares.

use std::time::Duration;

use super::{Facts, Price};
use crate::secret::Secret;

/// What a vendor's model needs. A recording uses only `context_tokens`.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `None` is the vendor's own address. Plain `http://` is meant for loopback and a network of one's own.
    pub base_url: Option<String>,
    /// Sent as it is.
    pub name: String,
    /// `None` for local servers that want none.
    pub key: Option<Secret>,
    /// What its tokens cost; all zero where they cost nothing.
    pub price: Price,
    /// Prompt and answer together, in tokens.
    pub context_tokens: u64,
    /// From sending to the last byte of a whole answer, and to the first word of a stream; thinking models take minutes.
    pub timeout: Duration,
    /// The longest that a stream may be silent between two bytes once its first word came.
    pub idle: Duration,
    /// Whether answers are asked for as streams.
    pub stream: bool,
    /// Whether a temperature may be sent.
    pub temperature: bool,
}

impl Settings {
    /// What is known of a model of these settings that is spoken to by this wire.
    pub(super) fn facts(&self, wire: &str) -> Facts {
        let label = format!("{} ({wire})", self.name);
        Facts { label, scripted: false, price: self.price, context_tokens: self.context_tokens }
    }
}
