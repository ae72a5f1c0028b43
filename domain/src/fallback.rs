//! That another model answers than the one that was to be asked.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a model was not asked any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fall {
    /// Its server was not reached, or answered that it cannot.
    Away,
    /// Its server asked for a longer wait than one call takes.
    Limited,
    /// Its server refused the key, or no credit is left for it.
    Refused,
}

impl fmt::Display for Fall {
    /// What goes behind the model's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fall::Away => "could not be reached",
            Fall::Limited => "asked for a longer wait",
            Fall::Refused => "refused the key, or has no credit left",
        })
    }
}

/// From one model to the next, by the ids of their entries in the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fallback {
    /// The one that did not answer.
    pub from: String,
    /// The one that is asked from then on, until the next checkpoint.
    pub to: String,
    /// Why.
    pub why: Fall,
}
