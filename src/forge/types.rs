//! What a forge holds, in our words: plain data, no behaviour but small questions about itself.
//! Times are Unix milliseconds (a forge may only know whole seconds, so equal times say nothing about order).
//! Must not know any forge's wire format. Tests: `tests/contract.rs`.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A repository by its address. Names are what the forge calls them now; the lasting identity is [`Repository::id`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RepoRef {
    pub owner: String,
    pub name: String,
}

impl RepoRef {
    pub fn new(owner: impl Into<String>, name: impl Into<String>) -> Self {
        Self { owner: owner.into(), name: name.into() }
    }
}

impl fmt::Display for RepoRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

/// Who did something. An id below 1 is a ghost (a deleted account) or a system actor and never has rights.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Account {
    pub id: i64,
    pub login: String,
}

/// The right to a repository's *code*, lowest first, so that `access >= Access::Write` reads as it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    None,
    Read,
    Write,
    Admin,
    Owner,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// Stays when the repository is renamed or moved.
    pub id: i64,
    pub owner: String,
    pub name: String,
    pub default_branch: String,
    /// No push yet, as the forge sees it: it can stay true for a moment after the first one.
    pub empty: bool,
    pub private: bool,
    pub archived: bool,
    /// For git over HTTP.
    pub clone_url: String,
    pub html_url: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    pub id: i64,
    pub number: u64,
    pub title: String,
    pub body: String,
    pub author: Account,
    pub open: bool,
    pub created_at: i64,
    pub updated_at: i64,
    /// Issues and pull requests share one numbering; a pull request is an issue too.
    pub is_pull: bool,
    pub html_url: String,
}

/// A plain comment of an issue's or pull request's conversation (never a review's body or an inline comment).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// The number in `html_url`: one rising sequence over comments and reviews of the whole forge. "Given after" compares it.
    pub id: i64,
    /// The issue's or pull request's number.
    pub issue: u64,
    pub author: Account,
    pub body: String,
    pub created_at: i64,
    /// Differs from `created_at` once edited — by the author or by anyone with write access.
    pub updated_at: i64,
    pub html_url: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullRequest {
    pub id: i64,
    pub number: u64,
    pub title: String,
    pub body: String,
    pub open: bool,
    pub merged: bool,
    pub draft: bool,
    pub head_ref: String,
    pub head_sha: String,
    pub base_ref: String,
    pub base_sha: String,
    /// `owner/name` of the repository that holds the head branch; none if it was deleted.
    pub head_repo: Option<String>,
    pub author: Account,
    pub html_url: String,
    pub created_at: i64,
    pub updated_at: i64,
}

/// A pull request to open, both branches in the same repository. A title that begins with `WIP: ` makes it a draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewPull {
    pub title: String,
    pub body: String,
    pub head: String,
    pub base: String,
}

/// What to change in a pull request; `None` leaves a field as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullEdit {
    pub title: Option<String>,
    pub body: Option<String>,
    pub open: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewState {
    Comment,
    Approved,
    RequestChanges,
    /// Not submitted; only its author sees it.
    Pending,
    /// Not a review but a row that says who was asked for one.
    RequestReview,
    /// An approval or rejection that was dismissed later: it no longer stands.
    Dismissed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// The review's own id: for [`super::Forge::review_comments`] and [`super::Forge::delete_review`].
    pub id: i64,
    /// The N of `#issuecomment-N` in `html_url`, in one sequence with [`Comment::id`]. 0 where there is none (a pending review).
    pub number: i64,
    pub author: Account,
    pub state: ReviewState,
    pub body: String,
    /// The commit that was reviewed, as the reviewer gave or saw it. Compare it with the head; a forge's own "stale" lags by seconds.
    pub commit: String,
    pub submitted_at: i64,
    pub updated_at: i64,
    /// How many inline comments belong to it, replies included.
    pub comments: u32,
    pub html_url: String,
}

/// A comment on a line. Its author need not be the review's: replies of others are listed under the review they answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewComment {
    pub id: i64,
    pub review: i64,
    pub author: Account,
    pub path: String,
    /// Line in the new file; none for a comment on a removed line.
    pub line: Option<u64>,
    pub body: String,
    pub created_at: i64,
    pub updated_at: i64,
}

/// A COMMENT review with inline notes: never an approval, which is for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewReview {
    pub commit: String,
    pub body: String,
    pub notes: Vec<Note>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub path: String,
    /// Line in the new file, from 1.
    pub line: u64,
    pub body: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatusState {
    Pending,
    Success,
    Error,
    Failure,
    Warning,
    Skipped,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    pub context: String,
    pub state: StatusState,
    pub description: String,
    pub target_url: String,
}

pub type NewStatus = Status;
