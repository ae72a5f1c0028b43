//! The forge that people see: issues, comments, pull requests, reviews, labels, statuses.
//! Owns the trait [`Forge`], whose doc comments are the contract, its types and its errors; `gitea/` is the one client.
//! Must not decide anything: no rights, no order, no retries beyond what one call promises here.
//! Tests: `tests/contract.rs` runs one suite over the built-in forge and over a real Gitea.

mod digest;
mod error;
pub mod event;
mod foreign;
pub mod gitea;
mod signature;
mod types;
mod whereabouts;

pub use digest::{own_remarks, review_hash, text_hash};
pub use error::ForgeError;
pub use foreign::{is_accepted, listener, named};
pub use gitea::Gitea;
pub use signature::{SignatureError, verify};
pub use types::*;
pub use whereabouts::Whereabouts;

/// The result of a call to the forge.
pub type Result<T> = std::result::Result<T, ForgeError>;

/// One account's view of a forge.
///
/// Every call is one attempt: it neither retries nor waits. A *read* that fails because the forge is away is
/// [`ForgeError::Unavailable`] and may be repeated at once. A *write* that was sent and whose answer did not come, or was a 5xx,
/// is [`ForgeError::Ambiguous`]: it may have happened, may still happen within seconds, or may be half done. The caller waits,
/// reads back, and only then acts again.
///
/// Something that the account may not see is [`ForgeError::NotFound`], as something that isn't there.
pub trait Forge: ForgeReads + ForgeWrites {}

impl<T: ForgeReads + ForgeWrites> Forge for T {}

/// What is asked of a forge; nothing there changes by it. See [`Forge`].
#[async_trait::async_trait]
pub trait ForgeReads: Send + Sync {
    /// The forge's own version text. Needs no right.
    async fn version(&self) -> Result<String>;

    /// The account that the token belongs to. A refused token is [`ForgeError::Forbidden`].
    async fn whoami(&self) -> Result<Account>;

    /// The forge's clock, Unix milliseconds in whole seconds: what every time that it tells is measured by.
    async fn clock(&self) -> Result<i64>;

    /// A renamed repository is [`ForgeError::Moved`] (never followed: a redirected write would silently become a read).
    async fn repository(&self, repo: &RepoRef) -> Result<Repository>;

    /// The repository with this lasting id, whatever it is called now.
    async fn locate(&self, id: i64) -> Result<Repository>;

    /// The right of `account` to the repository's code *now*, asked at the moment of use.
    /// An unknown account, a ghost (id below 1) and an id that doesn't belong to the login have [`Access::None`].
    /// Of a team's member the team's right to the *code* counts, whatever else it may write; a team whose members this account
    /// may not see counts for nobody.
    async fn permission(&self, repo: &RepoRef, account: &Account) -> Result<Access>;

    /// Whether this account sees the repository's issues, or pull requests, at all. [`ForgeError::NotFound`] where they are switched
    /// off or hidden from it.
    async fn lists(&self, repo: &RepoRef, pulls: bool) -> Result<()>;

    /// One issue or pull request, by its number.
    async fn issue(&self, repo: &RepoRef, number: u64) -> Result<Issue>;

    /// The files that hang on one issue or pull request itself, not on its comments, in the order in which they were uploaded.
    async fn attachments(&self, repo: &RepoRef, number: u64) -> Result<Vec<Attachment>>;

    /// The bytes of one of these. [`ForgeError::TooLarge`] above `most` bytes, and where the forge would have them fetched elsewhere
    /// [`ForgeError::NotFound`]: this account's token goes to the forge alone.
    async fn attachment(&self, attachment: &Attachment, most: u64) -> Result<Vec<u8>>;

    /// Whether nobody without the right to write the code can have changed an issue's text since it was opened: it was not touched;
    /// or its timeline tells what moved its time last, its title is the first one, and no team may write issues and not the code.
    async fn untouched(&self, repo: &RepoRef, issue: &Issue) -> Result<bool>;

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

    /// The commit at the tip of a branch; `None` if there is no such branch.
    async fn branch(&self, repo: &RepoRef, name: &str) -> Result<Option<String>>;

    /// What else would run or read a push, by name (`actions`, `hook 3 to ci.example (3fa9c1d2)`, `deploy key 5 "x"`, `push mirror to …`):
    /// of an address the host and a digest, since the rest of it is often a secret. The repository's own hook to exactly `ours` is left out.
    /// Needs admin rights to the repository; without: `Forbidden`.
    async fn foreign(&self, repo: &RepoRef, ours: &str) -> Result<Vec<String>>;
}

/// What is changed on a forge. See [`Forge`].
#[async_trait::async_trait]
pub trait ForgeWrites: Send + Sync {
    /// An empty body is [`ForgeError::Invalid`]. A number that isn't there can come as `Ambiguous` (Gitea answers 500).
    async fn post_comment(&self, repo: &RepoRef, issue: u64, body: &str) -> Result<Comment>;

    /// Replaces the text of a plain comment.
    async fn edit_comment(&self, repo: &RepoRef, id: i64, body: &str) -> Result<()>;

    /// Already gone is `Ok`.
    async fn delete_comment(&self, repo: &RepoRef, id: i64) -> Result<()>;

    /// Opens a pull request inside one repository. [`ForgeError::Conflict`]: one is open for the same head and base.
    /// [`ForgeError::NotFound`] right after a push is no verdict: the new branch shows up late (seen: 0.6 s); repeat for ten seconds.
    async fn open_pull(&self, repo: &RepoRef, new: &NewPull) -> Result<PullRequest>;

    /// Changes only what `edit` names.
    async fn edit_pull(&self, repo: &RepoRef, number: u64, edit: &PullEdit) -> Result<()>;

    /// Asks `login` for a review, which notifies them. Asked already is `Ok`. The author of the pull request cannot be asked: `Invalid`.
    async fn request_review(&self, repo: &RepoRef, number: u64, login: &str) -> Result<()>;

    /// Posts a COMMENT review with its inline notes. It is *not atomic* on the forge: a cut connection can leave a pending review
    /// with some of the notes, which the next one would adopt, and concurrent ones of one account mix. So one at a time for each
    /// account and pull request; before each try, list, and delete an own pending one.
    async fn post_review(&self, repo: &RepoRef, number: u64, new: &NewReview) -> Result<Review>;

    /// An own review, pending or not. Already gone is `Ok`.
    async fn delete_review(&self, repo: &RepoRef, number: u64, review: i64) -> Result<()>;

    /// Adds one label. Of `scope/name` labels made as exclusive the forge takes the scope's others away.
    /// A name that the repository doesn't have is [`ForgeError::NotFound`] (Gitea answers 200 and does nothing).
    async fn add_label(&self, repo: &RepoRef, number: u64, name: &str) -> Result<()>;

    /// Not there is `Ok`.
    async fn remove_label(&self, repo: &RepoRef, number: u64, name: &str) -> Result<()>;

    /// Adds a status to a commit (40 hexadecimal digits); earlier ones of the same context stay, and the newest counts.
    async fn post_status(&self, repo: &RepoRef, commit: &str, new: &NewStatus) -> Result<()>;
}
