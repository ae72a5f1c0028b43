//! The latency of the webhook: a repository beside the bot's, whose hook only records when it arrives.

use crate::stage::{BOT, Stage};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

pub struct Doorbell {
    http: reqwest::Client,
    comments: String,
    token: String,
    rings: tokio::sync::Mutex<mpsc::UnboundedReceiver<Instant>>,
}

impl Doorbell {
    pub async fn open(stage: &Stage) -> Result<Doorbell> {
        let (rang, rings) = mpsc::unbounded_channel();
        let app = axum::Router::new().fallback(move || {
            // The receiver lives as long as the measurement.
            let _ = rang.send(Instant::now());
            async { axum::http::StatusCode::ACCEPTED }
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let at = listener.local_addr()?;
        tokio::spawn(async move { axum::serve(listener, app).await });
        let api = format!("{}/api/v1", stage.place.url.as_str().trim_end_matches('/'));
        let http = reqwest::Client::builder().no_proxy().build()?;
        let token = stage.place.admin.expose().to_owned();
        let owner = &stage.repo.owner;
        let bell = Doorbell { http, comments: String::new(), token, rings: tokio::sync::Mutex::new(rings) };
        bell.post(&format!("{api}/orgs/{owner}/repos"), &json!({ "name": "bell", "private": true })).await?;
        let config = json!({ "url": format!("http://{at}/{BOT}"), "content_type": "json", "secret": "bell" });
        let hook = json!({ "type": "gitea", "active": true, "events": ["issue_comment"], "config": config });
        bell.post(&format!("{api}/repos/{owner}/bell/hooks"), &hook).await?;
        let issue = bell.post(&format!("{api}/repos/{owner}/bell/issues"), &json!({ "title": "ring" })).await?;
        let number = issue["number"].as_u64().context("an issue without a number")?;
        Ok(Doorbell { comments: format!("{api}/repos/{owner}/bell/issues/{number}/comments"), ..bell })
    }

    async fn post(&self, url: &str, body: &Value) -> Result<Value> {
        let answer = self.http.post(url).header("Authorization", format!("token {}", self.token)).json(body);
        let answer = answer.send().await?;
        let (status, text) = (answer.status(), answer.text().await?);
        if !status.is_success() {
            bail!("POST {url}: {status}: {text}");
        }
        Ok(serde_json::from_str(&text)?)
    }

    /// Time from the end of the call that posts a comment to its hook's arrival; at least a millisecond.
    pub async fn delay(&self) -> Result<Duration> {
        self.post(&self.comments, &json!({ "body": "ring" })).await?;
        let returned = Instant::now();
        let ring = tokio::time::timeout(Duration::from_secs(60), async { self.rings.lock().await.recv().await });
        let rang = ring.await.context("no hook came within 60 s")?.context("the listener ended")?;
        Ok(rang.saturating_duration_since(returned).max(Duration::from_millis(1)))
    }
}
