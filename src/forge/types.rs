//! Objects of a forge in our own types: plain data with a few queries. Times are Unix milliseconds (a forge may have whole seconds, so
//! equal times say nothing about order). Must not know any forge's wire format. Tests: below, `tests/contract.rs`.

use domain::OldLine;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A repository's present address; its lasting identity is [`Repository::id`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RepoRef {
    /// Login of the account or name of the organisation that owns it.
    pub owner: String,
    /// Its name under that owner.
    pub name: String,
}

impl RepoRef {
    /// The repository `owner/name`, without checking that it exists.
    pub fn new(owner: impl Into<String>, name: impl Into<String>) -> Self {
        Self { owner: owner.into(), name: name.into() }
    }
}

impl fmt::Display for RepoRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

/// An account that did something. An id below 1 is a ghost (deleted account) or a system actor and never has rights.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Account {
    /// The account's lasting id on the forge.
    pub id: i64,
    /// The account's login; it can be given up and taken by another account.
    pub login: String,
}

/// The right to a repository's *code*, lowest first, so that `access >= Access::Write` reads as it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// No right at all, or one that is not known.
    None,
    /// May read the code.
    Read,
    /// May read the code and push to it.
    Write,
    /// May change the repository's settings as well.
    Admin,
    /// The forge's `owner`: owns the repository, or the organisation that has it.
    Owner,
}

/// A repository as the forge has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// Stays when the repository is renamed or moved.
    pub id: i64,
    /// Login of the account or name of the organisation that owns it now.
    pub owner: String,
    /// Its name under that owner now.
    pub name: String,
    /// Name of the default branch, without `refs/heads/`.
    pub default_branch: String,
    /// Whether it has no push yet according to the forge, which may be true for a moment after the first push.
    pub empty: bool,
    /// Whether it is not visible to everybody.
    pub private: bool,
    /// Archived: the forge takes no changes.
    pub archived: bool,
    /// Address for git over HTTP.
    pub clone_url: String,
    /// Address for people.
    pub html_url: String,
}

/// An issue, or a pull request seen as one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    /// Its id on the whole forge, which addresses do not show.
    pub id: i64,
    /// Its number in its repository, from 1: `#7` is 7.
    pub number: u64,
    /// Its title as it is now. Untrusted.
    pub title: String,
    /// Its text as it is now, in Markdown; empty where there is none. Untrusted.
    pub body: String,
    /// Who opened it; a ghost where an import brought it, of somebody who has no account here.
    pub author: Account,
    /// Whether it is open.
    pub open: bool,
    /// When it was opened, in Unix milliseconds.
    pub created_at: i64,
    /// When it was last changed according to the forge, in Unix milliseconds.
    pub updated_at: i64,
    /// Whether it is a pull request, which shares its numbering with issues.
    pub is_pull: bool,
    /// Address for people.
    pub html_url: String,
}

/// Something that was done to an issue beside writing in it, from its timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// From the one rising sequence that it shares with comments and reviews ([`Comment::id`]).
    pub id: i64,
    /// Who did it.
    pub by: Account,
    /// When, in Unix milliseconds.
    pub at: i64,
    /// What was done.
    pub what: Changed,
}

/// What was done to an issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Changed {
    /// An account was assigned to it, or not any more.
    Assignee {
        /// Which account.
        account: Account,
        /// False: the assignment was taken back.
        added: bool,
    },
    /// It got a label, or lost it.
    Label {
        /// The label's name as it is *now*, even if it was another one then.
        name: String,
        /// False: it was taken off.
        added: bool,
    },
}

/// An attachment of an issue or a comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// The forge's id by which it is fetched; it is never reused for another file.
    pub uuid: String,
    /// What its uploader called it. Untrusted.
    pub name: String,
    /// Its length in bytes, as the forge says.
    pub size: u64,
}

/// A plain comment of an issue's or pull request's conversation (never a review's body or an inline comment).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// The number in `html_url`, from one rising sequence over comments and reviews of the whole forge, which defines their order.
    pub id: i64,
    /// The issue's or pull request's number.
    pub issue: u64,
    /// Who wrote it; a ghost as of [`Issue::author`].
    pub author: Account,
    /// Its text as it is now, in Markdown. Untrusted.
    pub body: String,
    /// When it was written, in Unix milliseconds.
    pub created_at: i64,
    /// Differs from `created_at` once edited — by the author or by anyone with write access.
    pub updated_at: i64,
    /// Address for people.
    pub html_url: String,
}

/// A pull request as the forge has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullRequest {
    /// Its id on the whole forge, which addresses do not show.
    pub id: i64,
    /// Its number in its repository, in one numbering with issues.
    pub number: u64,
    /// Its title as it is now. Untrusted.
    pub title: String,
    /// Its text as it is now, in Markdown; empty where there is none. Untrusted.
    pub body: String,
    /// Whether it is open, neither closed nor merged.
    pub open: bool,
    /// Whether it was merged.
    pub merged: bool,
    /// Who merged it; none where it was not, or where the forge does not say.
    #[serde(default)]
    pub merged_by: Option<Account>,
    /// Whether the forge considers it a draft.
    pub draft: bool,
    /// Name of the branch it takes from, without `refs/heads/`; the last name where the branch was deleted.
    pub head_ref: String,
    /// The newest commit of that branch that the forge knows of: 40 hexadecimal digits.
    pub head_sha: String,
    /// Name of the branch it goes to, without `refs/heads/`.
    pub base_ref: String,
    /// The commit of the base branch, as the forge gives it: 40 hexadecimal digits.
    pub base_sha: String,
    /// `owner/name` of the repository that holds the head branch; none if it was deleted.
    pub head_repo: Option<String>,
    /// Who opened it.
    pub author: Account,
    /// Address for people.
    pub html_url: String,
    /// When it was opened, in Unix milliseconds.
    pub created_at: i64,
    /// When it was last changed according to the forge, in Unix milliseconds.
    pub updated_at: i64,
}

impl PullRequest {
    /// What was merged and by whom; none where it was not, or where the forge does not say.
    pub fn merge(&self) -> Option<domain::Merged> {
        let by = self.merged_by.as_ref().filter(|_| self.merged)?;
        Some(domain::Merged { commit: domain::Commit::parse(&self.head_sha).ok()?, by: by.login.clone(), asked: None })
    }
}

/// A pull request to open, both branches in the same repository. A title that begins with `WIP: ` makes it a draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewPull {
    /// The pull request's title.
    pub title: String,
    /// Its text, in Markdown.
    pub body: String,
    /// Name of the branch to take from, without `refs/heads/`.
    pub head: String,
    /// Name of the branch it goes to, without `refs/heads/`.
    pub base: String,
}

/// What to change in an issue; `None` leaves a field as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueEdit {
    /// Another text, in Markdown.
    pub body: Option<String>,
    /// `true` opens it again, `false` closes it.
    pub open: Option<bool>,
}

/// What to change in a pull request; `None` leaves a field as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullEdit {
    /// Another title.
    pub title: Option<String>,
    /// Another text, in Markdown.
    pub body: Option<String>,
    /// `true` opens it again, `false` closes it.
    pub open: Option<bool>,
}

/// State of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewState {
    /// Submitted without a verdict.
    Comment,
    /// Submitted as an approval.
    Approved,
    /// Submitted as a request for changes.
    RequestChanges,
    /// Not submitted; only its author sees it.
    Pending,
    /// No review, but a row about a requested one.
    RequestReview,
    /// A rejection that was dismissed and no longer counts.
    Dismissed,
    /// An approval that was dismissed: by a person, or by the forge itself after a push.
    DismissedApproval,
}

/// A review of a pull request, without its inline comments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// The review's own id: for [`super::ForgeReads::review_comments`] and [`super::ForgeWrites::delete_review`].
    pub id: i64,
    /// The N of `#issuecomment-N` in `html_url`, in one sequence with [`Comment::id`]. 0 where there is none: a pending review, one that was
    /// only asked for, or one that was deleted on its page ([`Review::is_off_page`]).
    pub number: i64,
    /// Who gave it, or, for [`ReviewState::RequestReview`], who was asked.
    pub author: Account,
    /// Which kind of review it is.
    pub state: ReviewState,
    /// Its text as it is now, in Markdown; empty where there is none. Untrusted.
    pub body: String,
    /// The commit that was reviewed. Compare it with the head, because a forge's own "stale" lags by seconds.
    pub commit: String,
    /// When it was submitted, in Unix milliseconds.
    pub submitted_at: i64,
    /// When it was changed last, in Unix milliseconds; never before `submitted_at`.
    pub updated_at: i64,
    /// How many inline comments belong to it, replies included.
    pub comments: u32,
    /// Address for people.
    pub html_url: String,
}

impl Review {
    /// Whether its text was deleted on the page of its pull request. The forge lists the review all the same, with what it said and decided.
    pub fn is_off_page(&self) -> bool {
        self.number == 0 && !matches!(self.state, ReviewState::Pending | ReviewState::RequestReview)
    }

    /// Whether its page does not show it any more as it was submitted, its inline comments apart.
    pub fn is_changed(&self) -> bool {
        self.updated_at > self.submitted_at || self.is_off_page()
    }
}

/// Whether the newest verdict of this account asks for changes, of those after the text with this number. The forge dismisses an approval when
/// its author reviews again, but not where that review has inline comments. A request whose text was deleted on the page, which others may do
/// too, stands on the forge and has lost its number: it counts if it is younger than each review that was submitted up to then.
pub fn asks_for_changes_since(reviews: &[Review], who: i64, number: i64) -> bool {
    let decides = |it: &&Review| matches!(it.state, ReviewState::Approved | ReviewState::RequestChanges);
    let verdicts: Vec<&Review> = reviews.iter().filter(|it| it.author.id == who).filter(decides).collect();
    let asks = |it: &Review| it.state == ReviewState::RequestChanges;
    let newest = verdicts.iter().copied().filter(|it| it.number > number).max_by_key(|it| it.number);
    let until = newest.map_or(number, |it| it.number);
    let before = reviews.iter().filter(|it| it.number > 0 && it.number <= until).map(|it| it.id).max().unwrap_or(0);
    newest.is_some_and(asks) || verdicts.iter().any(|it| it.is_off_page() && asks(it) && it.id > before)
}

/// A comment on a line. Its author need not be the review's: replies of others are listed under the review they answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewComment {
    /// The inline comment's own id on the forge.
    pub id: i64,
    /// The review under which it is listed, by [`Review::id`].
    pub review: i64,
    /// Who wrote it.
    pub author: Account,
    /// The file it is about, relative to the repository's root. Untrusted.
    pub path: String,
    /// Line in the new file; none for a comment on a removed line.
    pub line: Option<u64>,
    /// Line in the old file, for a comment on that side of the difference.
    #[serde(default)]
    pub old: Option<OldLine>,
    /// Its text as it is now, in Markdown. Untrusted.
    pub body: String,
    /// Whether somebody resolved the conversation that it began; never true of later comments of a conversation.
    #[serde(default)]
    pub resolved: bool,
    /// When it was written, in Unix milliseconds.
    pub created_at: i64,
    /// When it was changed last, in Unix milliseconds.
    pub updated_at: i64,
}

impl ReviewComment {
    /// Whether it is about the new file, and its line there or in the old one; none where the forge names no line.
    pub fn side_and_line(&self) -> Option<(bool, u64)> {
        let old = || self.old.as_ref().map(|old| (false, old.line));
        self.line.map(|line| (true, line)).or_else(old)
    }
}

/// A COMMENT review with inline notes; approvals are only for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewReview {
    /// The commit that is reviewed: its full id in hexadecimal digits.
    pub commit: String,
    /// The review's text, in Markdown.
    pub body: String,
    /// Its inline comments.
    pub notes: Vec<Note>,
}

/// One inline comment of a review that is to be posted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The file it stands in, relative to the repository's root.
    pub path: String,
    /// Line in the new file, from 1.
    pub line: u64,
    /// Its text, in Markdown.
    pub body: String,
}

/// The state that a commit status gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatusState {
    /// `pending`: no result yet; also any unknown state of the forge.
    Pending,
    /// `success`: the check passed.
    Success,
    /// `error`: the check itself failed to run.
    Error,
    /// `failure`: the check did not pass.
    Failure,
    /// `warning`. The bot never posts it.
    Warning,
    /// `skipped`. The bot never posts it.
    Skipped,
}

/// A commit status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Name of the check, such as `caisson`; of several statuses with one context the newest counts.
    pub context: String,
    /// The state that this status gives its context.
    pub state: StatusState,
    /// One line for people; empty where there is none.
    pub description: String,
    /// Address that it links to; empty = none.
    pub target_url: String,
}

/// A commit status to be posted.
pub type NewStatus = Status;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_for_changes_counts_although_its_text_was_deleted_on_the_page() {
        use ReviewState::{Approved, Comment, Dismissed, RequestChanges};
        let review = |id: i64, number: i64, who: i64, state: ReviewState| Review {
            id,
            number,
            author: Account { id: who, login: "u".to_owned() },
            state,
            body: String::new(),
            commit: String::new(),
            submitted_at: 0,
            updated_at: 0,
            comments: 0,
            html_url: String::new(),
        };
        let (ours, approval) = (review(1, 10, 9, Comment), review(2, 20, 7, Approved));
        for (later, number, expected) in [
            (review(3, 30, 7, RequestChanges), 20, true),
            (review(3, 0, 7, RequestChanges), 20, true),
            (review(3, 0, 7, Dismissed), 20, false),
            (review(3, 0, 8, RequestChanges), 20, false),
            (review(3, 0, 7, Comment), 20, false),
            // Before the approval, or before the review of ours that a comment approved.
            (review(0, 0, 7, RequestChanges), 20, false),
            (review(0, 0, 7, RequestChanges), 15, false),
        ] {
            let reviews = [ours.clone(), approval.clone(), later];
            assert_eq!(asks_for_changes_since(&reviews, 7, number), expected, "{reviews:?} {number}");
        }
        let again = [approval, review(3, 0, 7, RequestChanges), review(4, 40, 7, Approved)];
        assert!(!asks_for_changes_since(&again, 7, 20), "approved again");
    }
}
