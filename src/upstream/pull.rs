//! A pull request on GitHub, opened for a person with a token of hers (docs.github.com/rest/pulls/pulls#create-a-pull-request: 201; 422 with
//! `errors` where one is open already, or where the branch is not there).

use super::github::{GitHub, GitHubError, message};
use serde::Deserialize;
use serde_json::json;
use url::form_urlencoded::byte_serialize;

/// A pull request to open.
#[derive(Debug, Clone)]
pub struct NewPull<'a> {
    /// `owner/name` of the repository that it is for.
    pub repository: &'a str,
    /// `owner:branch` that holds the commit.
    pub head: &'a str,
    /// `owner/name` of the repository with that branch, where its owner has the other one, too: GitHub would look for the branch there.
    pub head_repo: Option<&'a str>,
    /// The branch that it aims at.
    pub base: &'a str,
    /// Its title.
    pub title: &'a str,
    /// Its text, Markdown.
    pub body: &'a str,
}

/// A pull request that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenPull {
    /// Its number in the repository.
    pub number: u64,
    /// Its page.
    pub url: String,
    /// Whether it was open before.
    pub known: bool,
}

#[derive(Deserialize)]
struct Shown {
    number: u64,
}

impl GitHub {
    /// Opens a pull request, or finds the one that is open for this branch.
    ///
    /// # Errors
    /// [`GitHubError`], in words for a person.
    pub async fn open_pull(&self, new: &NewPull<'_>) -> Result<OpenPull, GitHubError> {
        let NewPull { repository, head, head_repo, base, title, body } = new;
        let path = format!("/repos/{repository}/pulls");
        let mut wanted =
            json!({ "title": title, "head": head, "base": base, "body": body, "maintainer_can_modify": true });
        if let Some(name) = head_repo {
            wanted["head_repo"] = json!(name);
        }
        let (status, wait, text) = self.ask(&path, Some(&wanted)).await?;
        if status == 201 {
            return self.shown(repository, &text, false);
        }
        if status == 422
            && let Some(found) = self.open_one(repository, head, base).await?
        {
            return Ok(found);
        }
        match status {
            422 => {
                let (host, what, message) = (self.host(), "the pull request", reasons(&text));
                Err(GitHubError::Refused { host, what, status, message })
            }
            _ => Err(self.refusal(repository, status, wait, &text)),
        }
    }

    /// The open pull request of this head and base, if there is one.
    async fn open_one(&self, repository: &str, head: &str, base: &str) -> Result<Option<OpenPull>, GitHubError> {
        let plain = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
        let path = format!("/repos/{repository}/pulls?state=open&head={}&base={}", plain(head), plain(base));
        let (status, wait, text) = self.ask(&path, None).await?;
        if status != 200 {
            return Err(self.refusal(repository, status, wait, &text));
        }
        let all: Vec<Shown> = serde_json::from_str(&text).map_err(|error| self.unreadable(&error))?;
        Ok(all.first().map(|one| OpenPull { number: one.number, url: self.page(repository, one.number), known: true }))
    }

    fn shown(&self, repository: &str, text: &str, known: bool) -> Result<OpenPull, GitHubError> {
        let Shown { number } = serde_json::from_str(text).map_err(|error| self.unreadable(&error))?;
        Ok(OpenPull { number, url: self.page(repository, number), known })
    }

    pub(super) fn unreadable(&self, error: &serde_json::Error) -> GitHubError {
        GitHubError::Away { host: self.host(), why: format!("its answer cannot be read: {error}") }
    }
}

/// GitHub's words, with those of each single reason.
fn reasons(body: &str) -> String {
    let read: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
    let single = read["errors"].as_array().into_iter().flatten().filter_map(reason);
    let all: Vec<String> = std::iter::once(message(body)).chain(single).collect();
    all.join("; ")
}

/// A reason, which is a text, or has one where its code is `custom`; otherwise it names a field and what is wrong with it.
fn reason(error: &serde_json::Value) -> Option<String> {
    let text = |key: &str| error[key].as_str().map(str::to_owned);
    let field = || Some(format!("{} is {}", text("field")?, text("code")?));
    let words = error.as_str().map(str::to_owned).or_else(|| text("message")).or_else(field)?;
    Some(crate::text::one_line(&words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_named_in_whichever_form_it_comes() {
        let errors = json!([
            { "resource": "PullRequest", "field": "head", "code": "invalid" },
            { "resource": "PullRequest", "code": "custom", "message": "No commits between main and lab:fix" },
            "it is a text",
            { "resource": "PullRequest" }
        ]);
        let body = json!({ "message": "Validation Failed", "errors": errors, "status": "422" }).to_string();
        let words = "Validation Failed; head is invalid; No commits between main and lab:fix; it is a text";
        assert_eq!(reasons(&body), words);
        assert_eq!(reasons(r#"{ "message": "Validation Failed", "errors": "odd" }"#), "Validation Failed");
        assert_eq!(reasons("<html>"), "no words");
    }
}
