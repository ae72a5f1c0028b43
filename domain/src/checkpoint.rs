//! One checkpoint that was posted.

use crate::{Commit, Millis};
use serde::{Deserialize, Serialize};

/// A checkpoint as the task's log knows it, from the moment its review or answer stands on the forge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Number of the checkpoint within its task; numbers rise but may be skipped.
    pub n: u32,
    /// The commit that is reviewed; none where there is no diff to approve, as for a refused tree or a plan's answer.
    pub commit: Option<Commit>,
    /// The forge's id of the review.
    pub review: i64,
    /// Number of the review or comment in the forge's order; only a decision with a higher one is about it.
    pub number: i64,
    /// Unix milliseconds at which the bot recorded that it was posted.
    pub at: Millis,
    /// Whether it is the final review.
    pub last: bool,
    /// Whether its review was edited or deleted on the forge, so that it can't be approved any more.
    pub void: bool,
    /// Whether a decision about it was used.
    pub used: bool,
    /// An approval in advance may cover it, as far as the log knows.
    #[serde(default)]
    pub coverable: bool,
}
