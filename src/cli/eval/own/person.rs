//! A person who opens issues and approves, through the API of an own account.

use crate::forge::{ForgeReads, Gitea, RepoRef, Review};
use crate::secret::Secret;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use url::Url;

/// Differs from the bot's, so that a forge's log tells the two apart.
pub const AGENT: &str = "caisson-person";

/// A person's account on the forge, at work in one repository.
pub struct Person {
    /// The forge as this account sees it.
    pub forge: Gitea,
    http: reqwest::Client,
    api: String,
    token: Secret,
}

impl Person {
    /// `url` is the forge's base address, `token` the person's own.
    ///
    /// # Errors
    /// When an HTTP client cannot be made.
    pub fn new(url: &Url, repo: &RepoRef, token: Secret) -> Result<Person> {
        let api = format!("{}/api/v1/repos/{}/{}", url.as_str().trim_end_matches('/'), repo.owner, repo.name);
        let http = reqwest::Client::builder().user_agent(AGENT).no_proxy().build()?;
        Ok(Person { forge: Gitea::new(url, token.clone(), AGENT)?, http, api, token })
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let request = self.http.post(format!("{}/{path}", self.api)).json(body);
        let answer = request.header("Authorization", format!("token {}", self.token.expose())).send().await?;
        let status = answer.status();
        let text = answer.text().await?;
        if !status.is_success() {
            bail!("POST {path}: {status}: {text}");
        }
        serde_json::from_str(&text).with_context(|| format!("POST {path}: {text}"))
    }

    /// Opens an issue and returns its number and address.
    pub async fn open_issue(&self, title: &str, body: &str) -> Result<(u64, String)> {
        let issue = self.post("issues", &json!({ "title": title, "body": body })).await?;
        let number = issue["number"].as_u64().context("an issue without a number")?;
        Ok((number, issue["html_url"].as_str().unwrap_or_default().to_owned()))
    }

    /// Approves a pull request at the commit that `review` is about.
    ///
    /// # Errors
    /// When the forge is unavailable or refuses.
    pub async fn approve(&self, pull: u64, review: &Review) -> Result<()> {
        let body = json!({ "event": "APPROVED", "commit_id": review.commit, "body": "" });
        self.post(&format!("pulls/{pull}/reviews"), &body).await.map(|_| ())
    }

    /// The bot's reviews of a pull request, in order.
    pub async fn reviews(&self, repo: &RepoRef, pull: u64, bot: &str) -> Result<Vec<Review>> {
        let mut reviews = self.forge.reviews(repo, pull).await?;
        reviews.retain(|review| review.author.login == bot);
        reviews.sort_by_key(|review| review.number);
        Ok(reviews)
    }
}
