//! One checkpoint that was posted.

use crate::{Commit, Millis};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub n: u32,
    pub commit: Option<Commit>,
    /// The forge's id of the review, and its number in the forge's order.
    pub review: i64,
    pub number: i64,
    pub at: Millis,
    pub last: bool,
    pub void: bool,
    pub used: bool,
    /// An approval in advance may cover it, as far as the log knows.
    #[serde(default)]
    pub coverable: bool,
}
