//! `caisson setup`, once per forge: creates the two accounts with their tokens, the organisation, and the first configuration. Keeps no
//! further credential: the admin's token is only read, and the accounts' passwords are discarded. Tests: `tests/setup.rs`, with the
//! built-in forge and a real Gitea; below.

use super::outside::USER_AGENT;
use super::printer::{Complaint, Printer};
use crate::config::write::{Fresh, fresh, write_fresh};
use crate::config::{ConfigError, Process};
use crate::forge::gitea::admin::{Admin, BOT_SCOPES, Made, SYNC_SCOPES};
use crate::forge::{ForgeError, ForgeReads, Gitea};
use crate::secret::Secret;
use anyhow::{Context, Result};
use clap::Args;
use std::path::{Path, PathBuf};
use url::Url;

/// Default owner of repositories.
pub const ORGANISATION: &str = "caisson-projects";

/// Prepare a forge: two accounts, their tokens, an organisation, and the first configuration.
#[derive(Debug, Args)]
pub struct Setup {
    /// The forge as the bot reaches it, for example http://127.0.0.1:3000
    #[arg(long, value_name = "URL")]
    pub forge_url: Url,
    /// The forge as people reach it in a browser, if that differs.
    #[arg(long, value_name = "URL")]
    pub public_url: Option<Url>,
    /// The bot's webhook listener as the forge reaches it, if that isn't the configured listening address.
    #[arg(long, value_name = "URL")]
    pub bot_url: Option<Url>,
    /// A file with a site admin's token (scopes: admin, organization, user). It is used once and not kept.
    #[arg(long, value_name = "FILE")]
    pub admin_token_file: PathBuf,
    /// The organisation that will own the repositories.
    #[arg(long, value_name = "NAME", default_value = ORGANISATION)]
    pub organisation: String,
    /// The account that works: pushes agent branches, writes reviews.
    #[arg(long, value_name = "NAME", default_value = "caisson")]
    pub account: String,
    /// The account that alone may push to default branches.
    #[arg(long, value_name = "NAME", default_value = "caisson-sync")]
    pub sync_account: String,
    /// Take over accounts of these names that are there already: their passwords are replaced.
    #[arg(long)]
    pub adopt: bool,
}

/// The files that setup creates beside the configuration.
struct Files {
    bot: PathBuf,
    sync: PathBuf,
}

impl Files {
    /// An error where a token of another setup is in the way, which may be in use.
    fn are_free(&self, adopt: bool) -> Result<()> {
        let taken = [&self.bot, &self.sync].into_iter().find(|file| !adopt && file.exists());
        let Some(file) = taken else { return Ok(()) };
        let what = format!("{} is there already, from another setup; nothing was made", file.display());
        let hint =
            "where that was cut off, add --adopt, which replaces the token; or name a --config in another folder";
        Err(Complaint::new(what).hint(hint).into())
    }
}

impl Setup {
    pub async fn run(self, config: &Path) -> Result<()> {
        let printer = Printer::terminal();
        let folder = config.parent().context("the configuration needs a folder")?;
        if config.exists() {
            let complaint = Complaint::new(format!("{} is there already", config.display()));
            return Err(complaint.hint("use it, or name another file with --config").into());
        }
        // Before anything is made: without the environment, since the file has to be usable by itself.
        Process::from_layers(config, &fresh(&self.fresh()), &|_| None).map_err(|refused| unusable(&refused))?;
        let files = Files { bot: folder.join("secrets/forge-token"), sync: folder.join("secrets/forge-sync-token") };
        files.are_free(self.adopt)?;
        let token = Secret::read(&self.admin_token_file)?;
        let admin = Admin::new(&self.forge_url, token.clone(), USER_AGENT)?;
        let reach = Gitea::new(&self.forge_url, token, USER_AGENT)?;
        let version = reach.version().await.with_context(|| format!("{} is no forge that answers", self.forge_url))?;
        printer.good(&format!("{} runs {version}", self.forge_url));
        let bot = self.account(&admin, &printer, &self.account, &BOT_SCOPES).await?;
        let sync = self.account(&admin, &printer, &self.sync_account, &SYNC_SCOPES).await?;
        self.organisation(&admin, &printer).await?;
        self.check(&bot, &self.account).await?;
        self.check(&sync, &self.sync_account).await?;
        keep(&bot, &files.bot, self.adopt)?;
        keep(&sync, &files.sync, self.adopt)?;
        write_fresh(config, &self.fresh())?;
        printer.good(&format!("wrote {} and two token files beside it", config.display()));
        self.say_settings(&printer);
        Ok(())
    }

    async fn account(&self, admin: &Admin, printer: &Printer, login: &str, scopes: &[&str]) -> Result<Secret> {
        let password = Secret::random().map_err(anyhow::Error::msg)?;
        if admin.account(login).await?.is_some() {
            if !self.adopt {
                let complaint = Complaint::new(format!("the forge has an account {login} already"));
                let hint =
                    "if it is left from an earlier setup, add --adopt; otherwise choose --account and --sync-account";
                return Err(complaint.hint(hint).into());
            }
            admin.set_password(login, &password).await?;
            printer.good(&format!("account {login} taken over"));
        } else {
            // `.invalid` is a reserved domain, so no mail for the bot leaves the forge.
            admin.create_account(login, &format!("{login}@caisson.invalid"), &password).await.map_err(needs_admin)?;
            printer.good(&format!("account {login} made"));
        }
        Ok(admin.create_token(login, &password, "caisson", scopes).await?)
    }

    async fn organisation(&self, admin: &Admin, printer: &Printer) -> Result<()> {
        let name = &self.organisation;
        match admin.ensure_organisation(name, &self.account).await? {
            Made::New => printer.good(&format!("organisation {name} made, owned by {}", self.account)),
            Made::Before if admin.is_member(name, &self.account).await? => {
                printer.good(&format!("organisation {name} is there, {} belongs to it", self.account));
            }
            Made::Before => {
                let complaint = Complaint::new(format!("the organisation {name} belongs to somebody else"));
                return Err(complaint
                    .hint(format!("make {} its owner, or choose --organisation", self.account))
                    .into());
            }
        }
        Ok(())
    }

    /// Checks that the token works for its account; this also finds an account with a forced change of password.
    async fn check(&self, token: &Secret, login: &str) -> Result<()> {
        let found = Gitea::new(&self.forge_url, token.clone(), USER_AGENT)?.whoami().await?;
        if found.login.eq_ignore_ascii_case(login) {
            return Ok(());
        }
        Err(Complaint::new(format!("the token made for {login} belongs to {}", found.login)).into())
    }

    fn fresh(&self) -> Fresh {
        let text = |url: &Option<Url>| url.as_ref().map(|u| u.as_str().to_owned()).unwrap_or_default();
        Fresh {
            forge_url: self.forge_url.as_str().to_owned(),
            public_url: text(&self.public_url),
            bot_url: text(&self.bot_url),
            token_file: "secrets/forge-token".into(),
            sync_token_file: "secrets/forge-sync-token".into(),
        }
    }

    fn say_settings(&self, printer: &Printer) {
        let host = self.bot_url.as_ref().and_then(Url::host_str).unwrap_or("127.0.0.1");
        printer.heading("set this in the forge's app.ini, then restart it");
        for line in app_ini(host) {
            printer.say(&line);
        }
        printer.hint("then: caisson repo add <git-url>");
    }
}

/// Required settings of the forge: by default it refuses private addresses for hooks, and allows other things that it should not.
pub fn app_ini(bot_host: &str) -> Vec<String> {
    vec![
        "  [webhook]".into(),
        format!("  ALLOWED_HOST_LIST = {bot_host}"),
        "  [migrations]".into(),
        "  ALLOW_LOCALNETWORKS = false".into(),
        "  [service]".into(),
        "  DISABLE_REGISTRATION = true".into(),
    ]
}

fn keep(token: &Secret, file: &Path, adopt: bool) -> Result<()> {
    if adopt && file.exists() {
        std::fs::remove_file(file).with_context(|| format!("cannot replace {}", file.display()))?;
    }
    Ok(token.write(file)?)
}

/// The problems of the configuration that would be written, without lines of a file that is not there yet.
fn unusable(refused: &ConfigError) -> Complaint {
    let problems = refused.problems.iter().map(|problem| format!("{}: {}", problem.key, problem.what));
    Complaint::new("the configuration of these addresses could not be used; nothing was made")
        .because(problems.collect::<Vec<_>>().join("; "))
        .hint("write whole addresses: --forge-url http://localhost:3000, and so --public-url and --bot-url")
}

/// This refusal has a known cause.
fn needs_admin(error: ForgeError) -> anyhow::Error {
    match error {
        ForgeError::Forbidden(text) => Complaint::new("the admin token may not make accounts")
            .because(text)
            .hint("make a token of a site admin with the scopes write:admin, write:organization and write:user")
            .into(),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_token_of_another_setup_is_met_before_anything_is_made() {
        let dir = tempfile::tempdir().unwrap();
        let kept = dir.path().join("secrets/forge-sync-token");
        Secret::new("in-use").write(&kept).unwrap();
        let said = async |adopt: bool| {
            let setup = Setup {
                forge_url: "http://127.0.0.1:9".parse().unwrap(),
                public_url: None,
                bot_url: None,
                admin_token_file: dir.path().join("none"),
                organisation: ORGANISATION.to_owned(),
                account: "caisson".to_owned(),
                sync_account: "caisson-sync".to_owned(),
                adopt,
            };
            setup.run(&dir.path().join("caisson.toml")).await.unwrap_err().to_string()
        };
        let refused = said(false).await;
        assert!(refused.contains("forge-sync-token is there already"), "{refused}");
        assert!(said(true).await.contains("none: can't read this secret"), "it goes on");
        assert!(std::fs::read_to_string(&kept).unwrap().contains("in-use"));
    }
}
