//! What a webhook delivery is used for: the repository and number to read again, and nothing else, because its content is never acted upon.
//! Tests: `gitea/parse.rs`.

use serde::{Deserialize, Serialize};

/// A hint to read again: the repository by its lasting id, and the issue or pull request if the delivery names one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wake {
    /// The repository's lasting id on the forge; 0 where a delivery that is ignored names none.
    pub repo_id: i64,
    /// Number of the issue or pull request; none where the delivery names none.
    pub number: Option<u64>,
    /// What the delivery is about.
    pub kind: WakeKind,
    /// Id of the account that caused it.
    pub by: Option<i64>,
}

/// What a delivery is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WakeKind {
    /// An issue: its text, assignees, labels or milestone.
    Issue,
    /// A plain comment on an issue or pull request.
    Comment,
    /// A review of a pull request.
    Review,
    /// A pull request itself: its text, commits, assignees, labels, milestone or asked reviewers.
    Pull,
    /// A push of commits; it names no issue or pull request.
    Push,
    /// The forge's own test delivery (a push whose `before` equals `after`).
    Test,
    /// A known type that is not needed, or an unknown one.
    Ignored,
}
