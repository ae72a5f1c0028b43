//! Requests of other subcommands to a running `serve`: on its second listener, authenticated by the token in the state directory.

use super::lock;
use crate::config::{Process, Secret};
use anyhow::{Context, Result};
use serde::Serialize;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);

/// Posts to the running bot; returns status and text of its answer.
pub async fn tell(config: &Process, path: &str, body: &impl Serialize) -> Result<(u16, String)> {
    let token = Secret::read(&config.state_dir.join("ops.token"))?;
    let url = format!("http://{}{path}", config.listen.ops);
    let client = reqwest::Client::builder().timeout(PATIENCE).no_proxy().build()?;
    let answer = client.post(&url).bearer_auth(token.expose()).json(body).send().await;
    let answer = answer.map_err(reqwest::Error::without_url).with_context(|| {
        format!("`caisson serve` works with this state directory, but does not answer on {}", config.listen.ops)
    })?;
    Ok((answer.status().as_u16(), answer.text().await.map_err(reqwest::Error::without_url)?))
}

/// The result of a request to reload the configuration.
pub enum Reload {
    /// The bot restarts with it.
    Begun,
    /// No bot runs with this state directory.
    NotRunning,
    /// The bot keeps its configuration, for this reason.
    Refused(String),
}

/// Has a running bot reload the configuration that was just written.
pub async fn reload(config: &Process) -> Reload {
    if lock::take(&config.state_dir).is_ok() {
        return Reload::NotRunning;
    }
    match tell(config, "/reload", &()).await {
        Ok((202, _)) => Reload::Begun,
        Ok((status, text)) => Reload::Refused(format!("{status}: {text}")),
        Err(error) => Reload::Refused(format!("{error:#}")),
    }
}
