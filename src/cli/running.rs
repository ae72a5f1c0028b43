//! What other subcommands say to a running `serve`: on its second listener, proven by the token in the state directory.

use crate::config::{Process, Secret};
use anyhow::{Context, Result};
use serde::Serialize;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);

/// Posts to the running bot: the status and text of its answer.
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
