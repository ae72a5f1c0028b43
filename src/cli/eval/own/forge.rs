//! The forge of a run and the person's token on it: the built-in one as a separate program, which is never linked into this one, or a
//! disposable one that the caller named.

use super::bot::beside;
use super::person::AGENT;
use super::process::BackgroundProgram;
use super::variable;
use crate::cli::printer::Complaint;
use crate::forge::gitea::admin::Admin;
use crate::secret::Secret;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use url::Url;

const PROGRAM: &str = "caisson-devforge";
const START: Duration = Duration::from_secs(30);
/// Login of the person who opens issues and approves.
pub const HUMAN: &str = "dev";
const SCOPES: [&str; 4] = ["write:issue", "write:repository", "read:user", "read:organization"];

/// A forge for one run, with a person's account on it.
pub struct OwnForge {
    /// Base address of the forge.
    pub url: Url,
    /// A file with the admin's token.
    pub admin: PathBuf,
    /// The person's token.
    pub token: Secret,
    /// None for a named forge.
    program: Option<BackgroundProgram>,
}

/// A disposable forge that somebody started.
#[derive(Debug, Clone)]
pub struct Named {
    /// Base address of the forge.
    pub url: Url,
    /// A file with a site admin's token.
    pub admin: PathBuf,
}

impl OwnForge {
    /// Uses an existing forge, with a new person on it.
    ///
    /// # Errors
    /// A [`Complaint`], before anything is created, if it has an organisation, or an account besides the admin's, because it is then in
    /// use.
    pub async fn named(named: &Named) -> Result<OwnForge> {
        let accounts = Admin::new(&named.url, Secret::read(&named.admin)?, AGENT)?;
        if !accounts.is_fresh().await.with_context(|| format!("asking {} for its accounts", named.url))? {
            let what = format!("{} has accounts or organisations already, so somebody uses it", named.url);
            let hint = "name a fresh forge with nobody but its admin: what a run leaves there is not taken away";
            return Err(Complaint::new(what).hint(hint).into());
        }
        let password = Secret::random().map_err(anyhow::Error::msg)?;
        accounts.create_account(HUMAN, &format!("{HUMAN}@caisson.invalid"), &password).await?;
        let token = accounts.create_token(HUMAN, &password, "eval", &SCOPES).await?;
        Ok(OwnForge { url: named.url.clone(), admin: named.admin.clone(), token, program: None })
    }

    /// Starts the built-in forge with its data in `dir`.
    ///
    /// # Errors
    /// A [`Complaint`] when the program is missing.
    pub async fn start(dir: &Path) -> Result<OwnForge> {
        std::fs::create_dir_all(dir)?;
        let program = program()?;
        let log = dir.join("forge.log");
        let mut command = Command::new(&program);
        command.arg("--dir").arg(dir).args(["--human", HUMAN]);
        let mut running = BackgroundProgram::start("caisson-devforge", &mut command, &log, Duration::from_secs(5))?;
        let end = Instant::now() + START;
        let url = loop {
            running.alive()?;
            if let Some(url) = ready_url(&std::fs::read_to_string(&log).unwrap_or_default()) {
                break Url::parse(&url).context("the forge's own address")?;
            }
            if Instant::now() > end {
                anyhow::bail!("the built-in forge does not listen within {START:?}");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        let admin = dir.join("admin-token");
        let password = Secret::read(&dir.join(format!("{HUMAN}-password")))?;
        let accounts = Admin::new(&url, Secret::read(&admin)?, AGENT)?;
        let token = accounts.create_token(HUMAN, &password, "eval", &SCOPES).await?;
        Ok(OwnForge { url, admin, token, program: Some(running) })
    }

    /// An error if it has ended.
    pub fn alive(&mut self) -> Result<()> {
        self.program.as_mut().map_or(Ok(()), BackgroundProgram::alive)
    }
}

/// The line that is printed after the secrets were written.
fn ready_url(log: &str) -> Option<String> {
    let url = log.lines().find_map(|line| line.strip_prefix("url "))?;
    log.lines().any(|line| line.starts_with("human ")).then(|| url.trim().to_owned())
}

/// `CAISSON_DEVFORGE`, or the program beside this one.
fn program() -> Result<PathBuf> {
    let named = variable("CAISSON_DEVFORGE").map(PathBuf::from).filter(|path| path.is_file());
    if let Some(path) = named.map_or_else(|| beside(PROGRAM), |path| Ok(Some(path)))? {
        return Ok(path);
    }
    let hint = "`make build` puts it beside caisson; CAISSON_DEVFORGE names it elsewhere";
    Err(Complaint::new(format!("the built-in forge ({PROGRAM}) is not there")).hint(hint).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_counts_once_everything_is_written() {
        assert_eq!(ready_url("url http://127.0.0.1:1\n"), None);
        let url = ready_url("url http://127.0.0.1:1\nhuman dev (password in x)\n");
        assert_eq!(url.as_deref(), Some("http://127.0.0.1:1"));
    }
}
