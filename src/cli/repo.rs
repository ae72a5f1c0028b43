//! `caisson repo add|list|check|try|rotate`: brings a repository to the forge and holds it to what the bot relies on.
//! The only user of the rights for hooks and protection; everything that is set is read back. The steps are in `repo/`.
//! Tests: `tests/setup.rs`, over the built-in forge and a real Gitea.

mod add;
mod check;
mod rotate;
mod trial;

pub(super) use check::{faults, teams};

use super::outside::USER_AGENT;
use super::printer::{Complaint, Printer};
use super::running::{self, Reload};
use crate::config::Process;
use crate::forge::{Account, ForgeReads, Gitea};
use crate::secret::Secret;
use anyhow::Result;
use clap::Subcommand;
use std::path::{Path, PathBuf};
use url::Url;

/// The branches that only the working account may push.
const AGENT_BRANCHES: &str = "agent/**";

/// Which repositories the bot works on.
#[derive(Debug, Subcommand)]
pub enum RepoCommand {
    /// Copy a repository to the forge and prepare it: protection, labels, hook, configuration. Safe to repeat.
    Add(add::Add),
    /// The configured repositories.
    List,
    /// Read back that everything `repo add` set still stands, and that nothing else would read a push.
    Check {
        /// Only this one.
        key: Option<String>,
    },
    /// Bring the default branch up as a task would, say what its checks lack, and propose a .caisson.toml that makes them run.
    Try(trial::Try),
    /// Give a repository's hook a new secret, in two steps; a running `serve` takes up each, and nothing is lost meanwhile.
    Rotate {
        /// Which one (`caisson repo list`).
        key: String,
    },
}

impl RepoCommand {
    pub async fn run(self, file: &Path) -> Result<()> {
        let config = Process::load(file)?;
        let printer = Printer::terminal();
        match self {
            RepoCommand::Add(add) => add.run(&config, file, &printer).await,
            RepoCommand::List => {
                list(&config, &printer);
                Ok(())
            }
            RepoCommand::Check { key } => check::run(&config, key.as_deref(), &printer).await,
            RepoCommand::Try(args) => args.run(&config, &printer).await,
            RepoCommand::Rotate { key } => rotate::run(&config, file, &key, &printer).await,
        }
    }
}

/// Has the running bot take up what was written into its configuration, and says what to do `then`.
async fn take_up(config: &Process, printer: &Printer, then: &str) {
    match running::reload(config).await {
        Reload::Begun => printer.good(&format!("the running `caisson serve` takes it up: {then}")),
        Reload::NotRunning => printer.hint(&format!("start `caisson serve`, then {then}")),
        Reload::Refused(why) => {
            printer.warn(&format!("the running `caisson serve` does not take it up ({why}): restart it, then {then}"));
        }
    }
}

fn list(config: &Process, printer: &Printer) {
    if config.repositories.is_empty() {
        printer.hint("no repository yet: caisson repo add <git-url>");
        return;
    }
    let row = |r: &crate::config::process::Repository| {
        vec![r.key.clone(), format!("{}/{}", r.owner, r.name), r.default_branch.clone(), r.upstream.clone()]
    };
    let rows: Vec<Vec<String>> = config.repositories.iter().map(row).collect();
    printer.table(&["key", "on the forge", "branch", "copied from"], &rows);
}

/// The two accounts as the configuration has them.
pub(super) struct Accounts {
    pub(super) forge: Gitea,
    pub(super) bot: Account,
    pub(super) sync: Account,
    bot_token: Secret,
    sync_token: Secret,
    base: Url,
}

impl Accounts {
    pub(super) async fn open(config: &Process) -> Result<Self> {
        let no_setup = || Complaint::new("the configuration names no forge yet").attempt("caisson setup --help");
        let base = config.forge.url.clone().ok_or_else(no_setup)?;
        let token =
            |file: &Option<PathBuf>| -> Result<Secret> { Ok(Secret::read(file.as_deref().ok_or_else(no_setup)?)?) };
        let (bot_token, sync_token) = (token(&config.forge.token_file)?, token(&config.forge.sync_token_file)?);
        let forge = Gitea::new(&base, bot_token.clone(), USER_AGENT)?;
        let bot = forge.whoami().await?;
        let sync = Gitea::new(&base, sync_token.clone(), USER_AGENT)?.whoami().await?;
        if bot.id == sync.id {
            let complaint = Complaint::new(format!("both tokens belong to {}", bot.login));
            return Err(complaint
                .attempt("the default branch needs an account of its own: see `caisson setup`")
                .into());
        }
        Ok(Self { forge, bot, sync, bot_token, sync_token, base })
    }
}
