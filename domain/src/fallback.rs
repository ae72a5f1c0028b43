//! That another model answers than the one that was asked first.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a model is no longer asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FallbackReason {
    /// Its server was not reached, or answered that it is unavailable.
    Away,
    /// Its server asked for a longer wait than one call may take.
    Limited,
    /// Its server refused the key or reported that no credit is left.
    Refused,
    /// Its server has no model of its name.
    Missing,
    /// Its server takes no tools for it, and the request had some.
    NoTools,
    /// Its window is too small for the request: only said of a model that was itself asked in place of another.
    Full,
}

impl fmt::Display for FallbackReason {
    /// Half a sentence that follows the model's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FallbackReason::Away => "could not be reached",
            FallbackReason::Limited => "asked for a longer wait",
            FallbackReason::Refused => "refused the key, or has no credit left",
            FallbackReason::Missing => "is missing on its server",
            FallbackReason::NoTools => "takes no tools on its server",
            FallbackReason::Full => "has too small a window for the conversation",
        })
    }
}

/// A switch from one model to another, by the ids of their entries in the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fallback {
    /// The model that did not answer.
    pub from: String,
    /// The model that is asked instead until the next checkpoint.
    pub to: String,
    /// Why it did not answer.
    pub why: FallbackReason,
}
