//! The forge that people see: issues, comments, pull requests, reviews, labels, statuses.
//! Owns the trait [`Forge`], whose doc comments are the contract, its types and its errors; `gitea/` is the one client. Must not decide
//! anything: no rights, no order, no retries beyond what one call promises here. Tests: `tests/contract.rs` runs one suite with the
//! built-in forge and a real Gitea.

mod addresses;
mod certain;
mod digest;
mod error;
pub mod event;
mod foreign;
pub mod gitea;
mod issue_locks;
mod signature;
mod types;

pub use addresses::RepositoryAddresses;
pub use certain::Refusals;
pub use digest::{own_remarks, review_hash, text_hash};
pub use error::ForgeError;
pub use foreign::{is_accepted, listener, named};
pub use gitea::Gitea;
pub use issue_locks::IssueLocks;
pub use signature::{SignatureError, verify};
pub use types::*;

use domain::BranchGuard;

/// The result of a call to the forge.
pub type Result<T> = std::result::Result<T, ForgeError>;

/// A forge as one account uses it.
///
/// Every call is one attempt: it neither retries nor waits. A *read* that fails because the forge is unreachable is
/// [`ForgeError::Unavailable`] and may be repeated at once. A *write* that was sent and got no answer, or a 5xx, is
/// [`ForgeError::Ambiguous`]: it may have happened, may still happen within seconds, or may be half done. The caller waits, reads back, and
/// only then acts again.
///
/// What the account may not see is [`ForgeError::NotFound`], like what does not exist.
pub trait Forge: ForgeReads + ForgeWrites {}

impl<T: ForgeReads + ForgeWrites> Forge for T {}

/// Queries of a forge, which change nothing. See [`Forge`].
#[async_trait::async_trait]
pub trait ForgeReads: Send + Sync {
    /// The forge's version text; needs no right.
    async fn version(&self) -> Result<String>;

    /// The account that the token belongs to. A refused token is [`ForgeError::Forbidden`].
    async fn whoami(&self) -> Result<Account>;

    /// The forge's clock, Unix milliseconds in whole seconds, to which all of its times refer.
    async fn clock(&self) -> Result<i64>;

    /// The repository at this address. A renamed one is [`ForgeError::Moved`] (never followed, because a redirected write would silently
    /// become a read).
    async fn repository(&self, repo: &RepoRef) -> Result<Repository>;

    /// The repository with this lasting id, under its present name.
    async fn locate(&self, id: i64) -> Result<Repository>;

    /// The present right of `account` to the repository's code. It is known by its id: one that was renamed since is found again, as far as
    /// this account is shown it. An unknown account, a ghost (id below 1) and an id that nobody has have [`Access::None`]. For a team's member
    /// the team's right to the *code* counts, whatever else it may write; a team whose members this account may not see is ignored.
    async fn permission(&self, repo: &RepoRef, account: &Account) -> Result<Access>;

    /// Whether `account` is in the team of this name of an organisation; `None` where this account may not see that, or there is no such team:
    /// nor is there one under a name that the organisation had before.
    async fn in_team(&self, organisation: &str, team: &str, account: &Account) -> Result<Option<bool>>;

    /// Checks that this account sees the repository's issues, or pull requests. [`ForgeError::NotFound`] where they are disabled or hidden
    /// from it.
    async fn lists(&self, repo: &RepoRef, pulls: bool) -> Result<()>;

    /// One issue or pull request, by its number.
    async fn issue(&self, repo: &RepoRef, number: u64) -> Result<Issue>;

    /// Every issue, open or closed, that the account with this login opened; pull requests are left out.
    async fn issues_by(&self, repo: &RepoRef, login: &str) -> Result<Vec<Issue>>;

    /// The attachments of one issue or pull request itself, not of its comments, in the order of upload.
    async fn attachments(&self, repo: &RepoRef, number: u64) -> Result<Vec<Attachment>>;

    /// The attachments of one comment, in the order of upload.
    async fn comment_attachments(&self, repo: &RepoRef, comment: i64) -> Result<Vec<Attachment>>;

    /// The bytes of an attachment. [`ForgeError::TooLarge`] above `most` bytes, and [`ForgeError::NotFound`] where the forge stores it
    /// elsewhere, because this account's token is sent only to the forge.
    async fn attachment(&self, attachment: &Attachment, most: u64) -> Result<Vec<u8>>;

    /// Whether an issue's text is its author's, and only accounts with write access to the code can have changed it since it was opened: it was
    /// not changed; or its timeline explains the last change, its title is the first one, and no team may write issues (of a pull request's: pull
    /// requests) but not the code. False for one that is older than its repository: it was brought there from elsewhere, and the forge names whoever did that as its author.
    async fn untouched(&self, repo: &RepoRef, issue: &Issue) -> Result<bool>;

    /// Assignments and labels of an issue in ascending id, taken back ones too. Changes of a label that the repository deleted are missing.
    async fn changes(&self, repo: &RepoRef, number: u64) -> Result<Vec<Change>>;

    /// Who closed an issue last, as its timeline says; `None` where that says nothing of it. By a commit whose message closes it, that is whoever
    /// pushed the commit to the default branch.
    async fn closed_by(&self, repo: &RepoRef, number: u64) -> Result<Option<Account>>;

    /// As [`ForgeReads::untouched`], of the time since the timeline's entry `change`. Here the issue's author has to have write access to the
    /// code as well, unless nothing happened since that entry. False if the timeline does not have it.
    async fn untouched_since(&self, repo: &RepoRef, issue: &Issue, change: i64) -> Result<bool>;

    /// Issues and pull requests, open or closed, that were changed at or after `since` (milliseconds, rounded down to seconds),
    /// in ascending number. Edits and deletions of comments need not count as a change.
    async fn issues_since(&self, repo: &RepoRef, since: i64) -> Result<Vec<Issue>>;

    /// The plain comments of an issue's or pull request's conversation, all of them, in ascending id.
    async fn comments(&self, repo: &RepoRef, issue: u64) -> Result<Vec<Comment>>;

    /// One plain comment; `None` if it was deleted or is no plain comment.
    async fn comment(&self, repo: &RepoRef, id: i64) -> Result<Option<Comment>>;

    /// Plain comments of the whole repository created or edited at or after `since`, in ascending id.
    async fn comments_since(&self, repo: &RepoRef, since: i64) -> Result<Vec<Comment>>;

    /// One pull request, by its number.
    async fn pull(&self, repo: &RepoRef, number: u64) -> Result<PullRequest>;

    /// Every pull request, open, closed or merged, whose head branch is `branch` *of this repository*, in ascending number.
    async fn pulls_of_branch(&self, repo: &RepoRef, branch: &str) -> Result<Vec<PullRequest>>;

    /// Every review, oldest first, our own pending ones and rows of asked reviewers included.
    async fn reviews(&self, repo: &RepoRef, number: u64) -> Result<Vec<Review>>;

    /// A review's inline comments, replies included, each with its own author, in ascending id.
    async fn review_comments(&self, repo: &RepoRef, number: u64, review: i64) -> Result<Vec<ReviewComment>>;

    /// Label names of one issue or pull request.
    async fn labels(&self, repo: &RepoRef, number: u64) -> Result<Vec<String>>;

    /// The newest status of each context at a commit (40 hexadecimal digits).
    async fn statuses(&self, repo: &RepoRef, commit: &str) -> Result<Vec<Status>>;

    /// The same for who asks often: refused as too large where so many were ever set that it takes over twenty requests.
    async fn few_statuses(&self, repo: &RepoRef, commit: &str) -> Result<Vec<Status>>;

    /// The end of the forge's own log, at most `most` bytes, of the CI job whose page has this address; `None` where that is no page of a
    /// job on this commit, or the forge has no such log.
    async fn job_log(&self, repo: &RepoRef, commit: &str, page: &str, most: usize) -> Result<Option<String>>;

    /// The commit at the tip of a branch; `None` if there is no such branch.
    async fn branch(&self, repo: &RepoRef, name: &str) -> Result<Option<String>>;

    /// The rule of a branch, as it is for this account; `None` if there is no such branch.
    async fn guard(&self, repo: &RepoRef, branch: &str) -> Result<Option<BranchGuard>>;

    /// What else would run or read a push, by name (`actions`, `hook 3 to ci.example (3fa9c1d2)`, `deploy key 5 "x"`, `push mirror to …`):
    /// of an address only host and a digest, because the rest may be secret. Hooks of the owner that this account may not see are one name. The repository's own hook with exactly the address `ours` is
    /// left out. Needs admin rights to the repository; without: `Forbidden`.
    async fn foreign(&self, repo: &RepoRef, ours: &str) -> Result<Vec<String>>;
}

/// Changes on a forge. See [`Forge`].
#[async_trait::async_trait]
pub trait ForgeWrites: Send + Sync {
    /// Posts a comment. An empty body is [`ForgeError::Invalid`]; a missing number may be `Ambiguous` (Gitea answers 500).
    async fn post_comment(&self, repo: &RepoRef, issue: u64, body: &str) -> Result<Comment>;

    /// Replaces the text of a plain comment.
    async fn edit_comment(&self, repo: &RepoRef, id: i64, body: &str) -> Result<()>;

    /// Deletes a plain comment; `Ok` if it is already gone.
    async fn delete_comment(&self, repo: &RepoRef, id: i64) -> Result<()>;

    /// Opens an issue. An empty title is [`ForgeError::Invalid`].
    async fn open_issue(&self, repo: &RepoRef, title: &str, body: &str) -> Result<Issue>;

    /// Changes only what `edit` names.
    async fn edit_issue(&self, repo: &RepoRef, number: u64, edit: &IssueEdit) -> Result<()>;

    /// Opens a pull request within one repository. [`ForgeError::Conflict`]: one is open for the same head and base.
    /// [`ForgeError::NotFound`] right after a push may be temporary, because a new branch becomes visible late (seen: 0.6 s); repeat for
    /// ten seconds.
    async fn open_pull(&self, repo: &RepoRef, new: &NewPull) -> Result<PullRequest>;

    /// Merges a pull request if its head is `head` (40 hexadecimal digits): by a merge commit, or by the first other way that the repository
    /// allows. Never past the rules of the base branch. [`ForgeError::Conflict`] in all cases of refusal: another head, too few approvals,
    /// a draft, a conflict, an open issue that it depends on; also, for some seconds, while the forge checks whether there is one (*try again later*).
    async fn merge_pull(&self, repo: &RepoRef, number: u64, head: &str) -> Result<()>;

    /// Changes only what `edit` names.
    async fn edit_pull(&self, repo: &RepoRef, number: u64, edit: &PullEdit) -> Result<()>;

    /// Requests a review of `login`, who is notified; `Ok` if already requested. `Invalid` for the author of the pull request.
    async fn request_review(&self, repo: &RepoRef, number: u64, login: &str) -> Result<()>;

    /// Posts a COMMENT review with its inline notes. It is *not atomic* on the forge: an interrupted request can leave a pending review
    /// with some of the notes, which the next one would include, and concurrent ones of one account mix. So only one at a time per account
    /// and pull request; before each try, list reviews and delete an own pending one.
    async fn post_review(&self, repo: &RepoRef, number: u64, new: &NewReview) -> Result<Review>;

    /// Deletes an own review, pending or not; `Ok` if it is already gone.
    async fn delete_review(&self, repo: &RepoRef, number: u64, review: i64) -> Result<()>;

    /// Adds one label. For exclusive `scope/name` labels the forge removes others of the scope. A name that the repository does not have is
    /// [`ForgeError::NotFound`] (Gitea answers 200 and does nothing).
    async fn add_label(&self, repo: &RepoRef, number: u64, name: &str) -> Result<()>;

    /// Removes a label; `Ok` if it is not set.
    async fn remove_label(&self, repo: &RepoRef, number: u64, name: &str) -> Result<()>;

    /// Attaches a file to an issue or pull request. [`ForgeError::NotFound`] also where attachments are switched off, and
    /// [`ForgeError::Invalid`] for a type that the forge does not take.
    async fn attach(&self, repo: &RepoRef, number: u64, name: &str, bytes: Vec<u8>) -> Result<()>;

    /// As [`ForgeWrites::attach`], to a comment of this account.
    async fn attach_to_comment(&self, repo: &RepoRef, comment: i64, name: &str, bytes: Vec<u8>) -> Result<()>;

    /// Adds a status to a commit (40 hexadecimal digits); earlier ones of the context stay, and the newest counts.
    async fn post_status(&self, repo: &RepoRef, commit: &str, new: &NewStatus) -> Result<()>;
}
