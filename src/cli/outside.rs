//! What a bot needs from outside: the models' keys, the accounts on the forge, the hooks' secrets. Checked at the start, and before a
//! running bot restarts with another configuration.

use super::printer::Complaint;
use crate::config::{Process, Secret};
use crate::forge::{Account, ForgeReads, Gitea};
use crate::llm;
use anyhow::{Context, Result};
use std::collections::HashMap;
use std::path::Path;

/// The `User-Agent` of every request to a forge, such as `caisson/0.1.0`.
pub const USER_AGENT: &str = concat!("caisson/", env!("CARGO_PKG_VERSION"));

/// Everything that was checked.
pub struct Outside {
    pub models: llm::Models,
    pub forge: Gitea,
    pub token: Secret,
    /// The account that works on tasks.
    pub me: Account,
    /// The account that keeps the default branch in step, with its token; none where none is configured.
    pub sync: Option<(Account, Secret)>,
    /// Of the file's entries, by the repository's key, the newest first.
    pub hook_secrets: HashMap<String, Vec<Secret>>,
}

impl Outside {
    /// Checks all of it; creates nothing and changes nothing on the forge.
    ///
    /// # Errors
    /// What is missing, with what to do.
    pub async fn reach(config: &Process) -> Result<Self> {
        let url = config.forge.url.clone().ok_or_else(|| {
            Complaint::new("no forge is configured").hint("caisson setup --forge-url … --admin-token-file …")
        })?;
        let models = llm::Models::open(&config.models).map_err(|why| {
            let hint = "fill in [model] of the configuration (docs/models.md); `caisson doctor` looks at it";
            Complaint::new("the model cannot be used").because(why).hint(hint)
        })?;
        let hook_secrets = hook_secrets(config)?;
        let token = secret(config.forge.token_file.as_deref(), "forge.token_file")?;
        let forge = Gitea::new(&url, token.clone(), USER_AGENT)?;
        let me = forge.whoami().await.with_context(|| format!("the forge at {url} does not answer the bot's token"))?;
        let sync = sync_account(config, &url).await?;
        Ok(Self { models, forge, token, me, sync, hook_secrets })
    }
}

fn secret(path: Option<&Path>, key: &str) -> Result<Secret> {
    let path = path.ok_or_else(|| Complaint::new(format!("{key} is not configured")).hint("caisson setup"))?;
    Ok(Secret::read(path)?)
}

async fn sync_account(config: &Process, url: &url::Url) -> Result<Option<(Account, Secret)>> {
    let Some(path) = &config.forge.sync_token_file else { return Ok(None) };
    let token = Secret::read(path)?;
    let forge = Gitea::new(url, token.clone(), USER_AGENT)?;
    let account = forge.whoami().await.context("the forge does not answer the token in forge.sync_token_file")?;
    Ok(Some((account, token)))
}

fn hook_secrets(config: &Process) -> Result<HashMap<String, Vec<Secret>>> {
    let mut secrets = HashMap::new();
    for entry in config.in_file() {
        let read: Result<Vec<Secret>, _> = entry.secret_files.iter().map(|path| Secret::read(path)).collect();
        secrets.insert(entry.key.clone(), read?);
    }
    Ok(secrets)
}
