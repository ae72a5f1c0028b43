//! What a delivery tells us: which repository and which number to read again, and nothing else.
//! A hook is a doorbell: nothing is done because of its content. Tests: `gitea/parse.rs`.

use serde::{Deserialize, Serialize};

/// "Look there." The repository by its lasting id, and the issue or pull request if the delivery names one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wake {
    /// The repository's lasting id on the forge; 0 where a delivery that is ignored names none.
    pub repo_id: i64,
    /// Number of the issue or pull request; none where the delivery names none.
    pub number: Option<u64>,
    /// What the delivery is about.
    pub kind: WakeKind,
    /// The account whose doing it was.
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
    /// A type that we know and don't need, or one that we don't know.
    Ignored,
}
