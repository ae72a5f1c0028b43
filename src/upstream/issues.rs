//! The issues of a repository on GitHub (docs.github.com/rest/issues/issues#list-repository-issues: 200, at most 100 a page, pull requests among
//! them with a key `pull_request`; #get-an-issue: 200, 404, 410 for a deleted one, and 301 to where one was transferred). Every text is
//! untrusted.

use super::github::{GitHub, GitHubError};
use serde::Deserialize;
use serde::de::IgnoredAny;
use url::form_urlencoded::byte_serialize;

/// Entries of a page, and pages that are read.
const PER_PAGE: usize = 100;
const MOST_PAGES: usize = 10;

/// An open issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamIssue {
    /// Its number in its repository.
    pub number: u64,
    /// Its title. Untrusted.
    pub title: String,
    /// Its text, Markdown; empty where it has none. Untrusted.
    pub body: String,
    /// The login of who opened it; empty where the account is gone. Untrusted.
    pub author: String,
}

/// What became of an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssueState {
    /// It is open.
    Open,
    /// It is closed.
    Closed,
    /// It was deleted or transferred to another repository, or is not to be seen any more.
    Gone,
}

#[derive(Deserialize)]
struct Listed {
    number: u64,
    title: String,
    body: Option<String>,
    user: Option<User>,
    pull_request: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct User {
    login: String,
}

#[derive(Deserialize)]
struct Stated {
    number: u64,
    state: String,
    /// The API's address of the repository that it is in.
    repository_url: Option<String>,
}

impl GitHub {
    /// The open issues with this label, oldest first: the first thousand entries of GitHub's list, without its pull requests.
    ///
    /// # Errors
    /// [`GitHubError`], in words for a person.
    pub async fn labelled(&self, repository: &str, label: &str) -> Result<Vec<UpstreamIssue>, GitHubError> {
        let label: String = byte_serialize(label.as_bytes()).collect();
        let mut all = Vec::new();
        for page in 1..=MOST_PAGES {
            let order = "state=open&sort=created&direction=asc";
            let path = format!("/repos/{repository}/issues?labels={label}&{order}&per_page={PER_PAGE}&page={page}");
            let (status, wait, text) = self.ask(&path, None).await?;
            if status != 200 {
                return Err(self.refusal(repository, status, wait, &text));
            }
            let listed: Vec<Listed> = serde_json::from_str(&text).map_err(|error| self.unreadable(&error))?;
            let last = listed.len() < PER_PAGE;
            all.extend(listed.into_iter().filter(|it| it.pull_request.is_none()).map(|it| UpstreamIssue {
                number: it.number,
                title: it.title,
                body: it.body.unwrap_or_default(),
                author: it.user.map(|user| user.login).unwrap_or_default(),
            }));
            if last {
                break;
            }
        }
        Ok(all)
    }

    /// What became of an issue.
    ///
    /// # Errors
    /// [`GitHubError`], in words for a person.
    pub async fn issue_state(&self, repository: &str, number: u64) -> Result<IssueState, GitHubError> {
        let (status, wait, text) = self.ask(&format!("/repos/{repository}/issues/{number}"), None).await?;
        match status {
            200 => {
                let issue: Stated = serde_json::from_str(&text).map_err(|error| self.unreadable(&error))?;
                if issue.number != number || !self.is_in(&issue, repository).await? {
                    return Ok(IssueState::Gone);
                }
                Ok(if issue.state == "closed" { IssueState::Closed } else { IssueState::Open })
            }
            404 | 410 => Ok(IssueState::Gone),
            _ => Err(self.refusal(repository, status, wait, &text)),
        }
    }

    /// Whether it is in this repository, and not in the one that it was transferred to.
    async fn is_in(&self, issue: &Stated, repository: &str) -> Result<bool, GitHubError> {
        let Some(at) = issue.repository_url.as_deref().and_then(repository_at) else { return Ok(true) };
        // One that was renamed meanwhile is the same repository.
        Ok(at.eq_ignore_ascii_case(repository)
            || at.eq_ignore_ascii_case(&self.repository(repository).await?.full_name))
    }

    /// The page of an issue, made from the server's own address.
    pub fn issue_page(&self, repository: &str, number: u64) -> String {
        format!("{}/issues/{number}", self.home(repository))
    }
}

/// `owner/name` at the end of the API's address of a repository.
fn repository_at(url: &str) -> Option<String> {
    let mut parts = url.trim_end_matches('/').rsplit('/');
    let (name, owner) = (parts.next()?, parts.next()?);
    Some(format!("{owner}/{name}"))
}
