//! What a delivery tells us: which repository and which number to read again, and nothing else.
//! A hook is a doorbell: nothing is done because of its content. Tests: `gitea/parse.rs`.

use serde::{Deserialize, Serialize};

/// "Look there." The repository by its lasting id, and the issue or pull request if the delivery names one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wake {
    pub repo_id: i64,
    pub number: Option<u64>,
    pub kind: WakeKind,
    /// The account whose doing it was.
    pub by: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WakeKind {
    Issue,
    Comment,
    Review,
    Pull,
    Push,
    /// The forge's own test delivery (a push whose `before` equals `after`).
    Test,
    /// A type that we know and don't need, or one that we don't know.
    Ignored,
}
