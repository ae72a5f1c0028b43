//! The Gitea client (also good for Forgejo): one HTTP client, shared by the SDK and by raw calls.
//! Raw wherever the SDK loses data, text or headers that we need (edits, lists that may be `null`, pull requests with deleted reviewers,
//! labels by name, review times); `docs/decisions` of the facts: Gitea 1.25.4.
//! Must not decide or retry. Tests: `tests/contract.rs`.

pub mod admin;
mod convert;
pub mod keep;
pub mod parse;
mod raw;
mod reader;
pub mod rights;
mod sdk;
mod wire;
mod writer;

use super::*;
use crate::secret::Secret;
use raw::{Credential, Raw};
use url::Url;

/// The version that the SDK is told, so that it does not ask before its first call. Every call we make is older than this.
const SDK_VERSION: &str = "1.25.4";

/// One account's client. Cloning is cheap and shares connections.
#[derive(Clone)]
pub struct Gitea {
    raw: Raw,
    sdk: gitea_sdk_rs::Client,
}

impl std::fmt::Debug for Gitea {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gitea").finish_non_exhaustive()
    }
}

impl Gitea {
    /// `base` is the forge's root (`http://127.0.0.1:3000/`, or below a path), without credentials in it: those are refused, since
    /// addresses end up in logs. No packet is sent here.
    pub fn new(base: &Url, token: Secret, user_agent: &str) -> Result<Self> {
        if !base.username().is_empty() || base.password().is_some() {
            return Err(ForgeError::Invalid("the forge's address must not hold a user name or password".into()));
        }
        if !matches!(base.scheme(), "http" | "https") {
            return Err(ForgeError::Invalid("the forge's address must begin with http:// or https://".into()));
        }
        let http = raw::http_client(user_agent)?;
        let sdk = gitea_sdk_rs::Client::builder(base.as_str().trim_end_matches('/'))
            .token(token.expose())
            .user_agent(user_agent)
            .gitea_version(SDK_VERSION)
            .http_client(http.clone())
            .build()
            .map_err(|_| ForgeError::Invalid("the forge's address is not usable".into()))?;
        Ok(Self { raw: Raw::new(http, base, Credential::Token(token)), sdk })
    }
}

#[async_trait::async_trait]
impl Forge for Gitea {
    async fn version(&self) -> Result<String> {
        self.read_version().await
    }
    async fn whoami(&self) -> Result<Account> {
        self.read_whoami().await
    }
    async fn repository(&self, repo: &RepoRef) -> Result<Repository> {
        self.read_repository(repo).await
    }
    async fn clock(&self) -> Result<i64> {
        self.read_clock().await
    }
    async fn locate(&self, id: i64) -> Result<Repository> {
        self.read_located(id).await
    }
    async fn permission(&self, repo: &RepoRef, account: &Account) -> Result<Access> {
        self.read_permission(repo, account).await
    }
    async fn lists(&self, repo: &RepoRef, pulls: bool) -> Result<()> {
        self.read_lists(repo, pulls).await
    }
    async fn issue(&self, repo: &RepoRef, number: u64) -> Result<Issue> {
        self.read_issue(repo, number).await
    }
    async fn untouched(&self, repo: &RepoRef, issue: &Issue) -> Result<bool> {
        self.read_untouched(repo, issue).await
    }
    async fn issues_since(&self, repo: &RepoRef, since: i64) -> Result<Vec<Issue>> {
        self.read_issues_since(repo, since).await
    }
    async fn comments(&self, repo: &RepoRef, issue: u64) -> Result<Vec<Comment>> {
        self.read_comments(repo, issue).await
    }
    async fn comment(&self, repo: &RepoRef, id: i64) -> Result<Option<Comment>> {
        self.read_comment(repo, id).await
    }
    async fn comments_since(&self, repo: &RepoRef, since: i64) -> Result<Vec<Comment>> {
        self.read_comments_since(repo, since).await
    }
    async fn post_comment(&self, repo: &RepoRef, issue: u64, body: &str) -> Result<Comment> {
        self.write_comment(repo, issue, body).await
    }
    async fn edit_comment(&self, repo: &RepoRef, id: i64, body: &str) -> Result<()> {
        self.write_edit_comment(repo, id, body).await
    }
    async fn delete_comment(&self, repo: &RepoRef, id: i64) -> Result<()> {
        self.write_delete_comment(repo, id).await
    }
    async fn open_pull(&self, repo: &RepoRef, new: &NewPull) -> Result<PullRequest> {
        self.write_pull(repo, new).await
    }
    async fn pull(&self, repo: &RepoRef, number: u64) -> Result<PullRequest> {
        self.read_pull(repo, number).await
    }
    async fn pulls_of_branch(&self, repo: &RepoRef, branch: &str) -> Result<Vec<PullRequest>> {
        self.read_pulls_of_branch(repo, branch).await
    }
    async fn edit_pull(&self, repo: &RepoRef, number: u64, edit: &PullEdit) -> Result<()> {
        self.write_edit_pull(repo, number, edit).await
    }
    async fn request_review(&self, repo: &RepoRef, number: u64, login: &str) -> Result<()> {
        self.write_request_review(repo, number, login).await
    }
    async fn reviews(&self, repo: &RepoRef, number: u64) -> Result<Vec<Review>> {
        self.read_reviews(repo, number).await
    }
    async fn review_comments(&self, repo: &RepoRef, number: u64, review: i64) -> Result<Vec<ReviewComment>> {
        self.read_review_comments(repo, number, review).await
    }
    async fn post_review(&self, repo: &RepoRef, number: u64, new: &NewReview) -> Result<Review> {
        self.write_review(repo, number, new).await
    }
    async fn delete_review(&self, repo: &RepoRef, number: u64, review: i64) -> Result<()> {
        self.write_delete_review(repo, number, review).await
    }
    async fn labels(&self, repo: &RepoRef, number: u64) -> Result<Vec<String>> {
        self.read_labels(repo, number).await
    }
    async fn add_label(&self, repo: &RepoRef, number: u64, name: &str) -> Result<()> {
        self.write_add_label(repo, number, name).await
    }
    async fn remove_label(&self, repo: &RepoRef, number: u64, name: &str) -> Result<()> {
        self.write_remove_label(repo, number, name).await
    }
    async fn statuses(&self, repo: &RepoRef, commit: &str) -> Result<Vec<Status>> {
        self.read_statuses(repo, commit).await
    }
    async fn post_status(&self, repo: &RepoRef, commit: &str, new: &NewStatus) -> Result<()> {
        self.write_status(repo, commit, new).await
    }
    async fn branch(&self, repo: &RepoRef, name: &str) -> Result<Option<String>> {
        self.read_branch(repo, name).await
    }
    async fn foreign(&self, repo: &RepoRef, ours: &str) -> Result<Vec<String>> {
        self.read_foreign(repo, ours).await
    }
}
