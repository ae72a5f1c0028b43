//! `caisson repo add|list|sync|status|audit|set-branch|check|try|rotate|import|remove`: brings a repository to the forge and holds it to what the bot relies on.
//! The only user of the rights for hooks and protection; everything that is set is read back. The steps are in `repo/`.
//! Tests: `tests/setup.rs`, over the built-in forge and a real Gitea, and below.

mod add;
mod audit;
mod check;
mod here;
mod import;
mod kept;
mod mend;
mod place;
mod remove;
mod rotate;
mod scratch;
mod secret;
mod set_aside;
mod set_branch;
mod shown;
mod source;
mod trial;
mod upstream;

pub(super) use check::{compare, teams};

use super::entries::{self, Entries, Taken};
use super::outside::USER_AGENT;
use super::printer::{Complaint, Printer};
use crate::config::Process;
use crate::config::process::Repository as Entry;
use crate::forge::gitea::admin::Made;
use crate::forge::{Access, Account, ForgeError, ForgeReads, Gitea, RepoRef};
use crate::secret::Secret;
use crate::text::one_line;
use crate::upstream::followed;
use anyhow::Result;
use clap::Subcommand;
use std::path::Path;
use std::sync::Arc;
use url::Url;

/// The branches that only the working account may push.
const AGENT_BRANCHES: &str = "agent/**";

/// Which repositories the bot works on.
#[derive(Debug, Subcommand)]
pub enum RepoCommand {
    /// Copy a repository to the forge, or take one that is there (--here), and prepare it: protection, labels, hook, entry in the store. Safe
    /// to repeat.
    Add(add::Add),
    /// Every repository, and where its entry stands.
    List,
    /// Bring what is new in the upstreams to the forge: branches forward, tags added. A running `serve` does so by itself.
    Sync(upstream::Sync),
    /// Where each repository stands beside its upstream; changes nothing.
    Status(upstream::Status),
    /// What was decided about people's texts where no task is at work: who was refused a command, whose host was taken back, what was run.
    Audit(audit::Audit),
    /// Which branch tasks begin from, and which others are kept in step with the upstream.
    SetBranch(set_branch::SetBranch),
    /// Read back that everything `repo add` set still stands, and that nothing else would read a push.
    ///
    /// The forge shows no hook's secret: whether deliveries are signed with the right one is found out by a test delivery to a running
    /// `caisson serve`, and without one it is said that this was not examined.
    Check {
        /// Only this one.
        key: Option<String>,
        /// Set anew what differs (hook, its secret, labels, protection, default branch, the accounts' rights, Actions), and say each change.
        #[arg(long)]
        fix: bool,
    },
    /// Bring the default branch up as a task would, say what its checks lack, and propose a .caisson.toml that makes them run.
    Try(trial::Try),
    /// Give a repository's hook a new secret, in two steps; a running `serve` takes up each, and nothing is lost meanwhile.
    Rotate {
        /// Which one (`caisson repo list`).
        key: String,
    },
    /// Move entries of caisson.toml into the store, from where every host has them. Tables of your own stay in the file.
    Import(import::Import),
    /// Take a repository out: no host works for it any more. What is on the forge stays, but for the hook.
    Remove(remove::Remove),
}

impl RepoCommand {
    pub async fn run(self, file: &Path) -> Result<()> {
        let config = Process::load(file)?;
        let printer = Printer::terminal();
        match self {
            RepoCommand::Add(add) => add.run(&config, &printer).await,
            RepoCommand::List => {
                list(&config, &entries::look(&config).await?, &printer);
                Ok(())
            }
            RepoCommand::Check { key, fix } => {
                let entries = entries::look(&config).await?;
                check::run(&config, &entries, (key.as_deref(), fix), &printer).await
            }
            RepoCommand::Sync(args) => args.run(&config, &printer).await,
            RepoCommand::Status(args) => args.run(&config, &printer).await,
            RepoCommand::Audit(args) => args.run(&config, &printer).await,
            RepoCommand::SetBranch(args) => args.run(&config, &printer).await,
            RepoCommand::Try(args) => {
                entries::look(&config).await?;
                args.run(&config, &printer).await
            }
            RepoCommand::Rotate { key } => rotate::run(&config, &key, &printer).await,
            RepoCommand::Import(args) => args.run(&config, file, &printer).await,
            RepoCommand::Remove(args) => args.run(&config, &printer).await,
        }
    }
}

/// Prints who accepted what was written, and what to do `then`.
fn report(printer: &Printer, taken: Taken, then: &str) {
    match taken {
        Taken::ByTheBot => printer.good(&format!("the running `caisson serve` takes it up: {then}")),
        Taken::ByTheStore => printer.hint(&format!("start `caisson serve`, then {then}")),
    }
}

/// The store's entry of a repository that is not in the file, with its hook's secrets.
fn store_entry<'a>(config: &Process, entries: &'a Entries, key: &str) -> Result<(&'a Entry, &'a [Secret])> {
    not_in_file(config, key)?;
    if let Some((_, why)) = entries.refused.iter().find(|(refused, _)| refused == key) {
        return Err(Complaint::new(format!("the store's entry of {key} is refused")).because(why.clone()).into());
    }
    let whole = entries.of(key).and_then(crate::bot::Entry::whole);
    Ok(whole.ok_or_else(|| Complaint::new(format!("no repository has the key {key}")).hint("caisson repo list"))?)
}

/// An error if the file has an entry of this key, because the store's would have no effect here.
fn not_in_file(config: &Process, key: &str) -> Result<()> {
    match config.in_file().any(|entry| entry.key == key) {
        false => Ok(()),
        true => Err(Complaint::new(format!(
            "{key} stands in {}, which is yours and counts on this host",
            config.file.display()
        ))
        .hint(format!("`caisson repo import {key}` moves it into the store, for every host; then repeat this"))
        .into()),
    }
}

fn list(config: &Process, entries: &Entries, printer: &Printer) {
    let all = config.repositories();
    if all.is_empty() && entries.refused.is_empty() {
        printer.hint("no repository yet: caisson repo add <git-url>");
        return;
    }
    let row = |r: &Arc<Entry>| {
        let from = match entries.of(&r.key).filter(|_| r.from_store) {
            Some(entry) => format!("store, written by {}", entry.written_by),
            None => "caisson.toml".to_owned(),
        };
        vec![r.key.clone(), format!("{}/{}", r.owner, r.name), r.default_branch.clone(), r.origin().to_owned(), from]
    };
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    if !rows.is_empty() {
        printer.table(&["key", "on the forge", "branch", "copied from", "entry"], &rows);
    }
    for (key, why) in &entries.refused {
        printer.bad(&format!("{}: the store's entry is refused: {why}", one_line(key)));
    }
}

/// The token of an account, from the file that the configuration names.
fn token(key: &str, file: Option<&Path>) -> Result<Secret> {
    let missing = || {
        let hint = "this needs both accounts, each with its token in a file: `caisson setup --help`";
        Complaint::new(format!("the configuration names no {key}")).hint(hint)
    };
    Ok(Secret::read(file.ok_or_else(missing)?)?)
}

/// The two configured accounts.
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
        let no_setup = || Complaint::new("the configuration names no forge yet").hint("caisson setup --help");
        let base = config.forge.url.clone().ok_or_else(no_setup)?;
        let bot_token = token("forge.token_file", config.forge.token_file.as_deref())?;
        let sync_token = token("forge.sync_token_file", config.forge.sync_token_file.as_deref())?;
        let forge = Gitea::new(&base, bot_token.clone(), USER_AGENT)?;
        let bot = forge.whoami().await?;
        let sync = Gitea::new(&base, sync_token.clone(), USER_AGENT)?.whoami().await?;
        if bot.id == sync.id {
            let complaint = Complaint::new(format!("both tokens belong to {}", bot.login));
            return Err(complaint.hint("the default branch needs an account of its own: see `caisson setup`").into());
        }
        Ok(Self { forge, bot, sync, bot_token, sync_token, base })
    }

    /// The forge as the account sees it that keeps branches in step.
    fn as_sync(&self) -> Result<Gitea> {
        Ok(Gitea::new(&self.base, self.sync_token.clone(), USER_AGENT)?)
    }

    /// The right of the bot's account to a repository at this place; none where it does not see it.
    async fn own_right(&self, repo: &RepoRef) -> Result<Access> {
        match self.forge.permission(repo, &self.bot).await {
            Ok(right) => Ok(right),
            Err(ForgeError::NotFound(_) | ForgeError::Forbidden(_)) => Ok(Access::None),
            Err(error) => Err(error.into()),
        }
    }

    /// What the bot needs of a repository and the forge does not show: issues, pull requests. They are switched off there, or it is a mirror that
    /// the forge pulls itself, which takes none.
    async fn switched_off(&self, repo: &RepoRef) -> Result<Vec<&'static str>> {
        let mut off = Vec::new();
        for (pulls, what) in [(false, "issues"), (true, "pull requests")] {
            match self.forge.lists(repo, pulls).await {
                Ok(()) => {}
                Err(ForgeError::NotFound(_) | ForgeError::Forbidden(_)) => off.push(what),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(off)
    }

    /// Where the account that keeps branches in step sees the repository; none where it does not.
    async fn seen_by_sync(&self, entry: &Entry) -> Result<Option<RepoRef>> {
        match self.as_sync()?.locate(entry.id).await {
            Ok(found) => Ok(Some(RepoRef::new(found.owner, found.name))),
            Err(ForgeError::NotFound(_) | ForgeError::Forbidden(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The rules of protection that a repository has, and the account that each lets push.
    fn rules(&self, entry: &Entry) -> Result<Vec<(String, &Account)>> {
        let mut rules: Vec<(String, &Account)> =
            followed(entry)?.into_iter().map(|branch| (branch.as_str().to_owned(), &self.sync)).collect();
        rules.push((AGENT_BRANCHES.to_owned(), &self.bot));
        Ok(rules)
    }

    /// Sets a rule of [`Accounts::rules`]: agents' branches are the bot's own, which replaces what stands there by work on a newer base.
    async fn keep_for(&self, repo: &RepoRef, rule: &str, account: &Account) -> Result<Made> {
        let login = account.login.as_str();
        Ok(match rule {
            AGENT_BRANCHES => self.forge.ensure_own_branches(repo, rule, login).await?,
            _ => self.forge.ensure_protection(repo, rule, &[login]).await?,
        })
    }

    /// Whether such a rule stands as [`Accounts::keep_for`] sets it.
    async fn is_kept_for(&self, repo: &RepoRef, rule: &str, account: &Account) -> Result<bool> {
        let login = account.login.as_str();
        Ok(match rule {
            AGENT_BRANCHES => self.forge.are_own_branches(repo, rule, login).await?,
            _ => self.forge.is_protected(repo, rule, &[login]).await?,
        })
    }

    /// The entry's present address, for writing; none if its id is gone, even if another repository has the name.
    async fn found(&self, entry: &Entry) -> Result<RepoRef> {
        match self.forge.locate(entry.id).await {
            Ok(found) => Ok(RepoRef::new(found.owner, found.name)),
            Err(ForgeError::NotFound(_)) => {
                let complaint = Complaint::new(format!(
                    "the repository {} of {} is not on the forge any more",
                    entry.id, entry.key
                ));
                Err(complaint.hint("bring it back there, or `caisson repo remove` it").into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Where an entry's repository is now; where it was when it is gone.
    pub(super) async fn place_of(&self, entry: &Entry) -> Result<RepoRef> {
        match self.forge.locate(entry.id).await {
            Ok(found) => Ok(RepoRef::new(found.owner, found.name)),
            Err(ForgeError::NotFound(_)) => Ok(RepoRef::new(&entry.owner, &entry.name)),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_account_without_a_token_is_named_where_the_forge_is() {
        let folder = tempfile::tempdir().unwrap();
        Secret::new("hunter2").write(&folder.path().join("bot")).unwrap();
        let open = |text: &str| {
            let config = Process::from_layers(&folder.path().join("caisson.toml"), text, &|_| None).unwrap();
            async move { Accounts::open(&config).await.err().map(|error| error.to_string()).unwrap_or_default() }
        };
        assert_eq!(open("").await, "the configuration names no forge yet");
        let forge = "[forge]\nurl = \"http://127.0.0.1:9\"\n";
        assert_eq!(open(forge).await, "the configuration names no forge.token_file");
        let one = format!("{forge}token_file = \"bot\"\nsync_token_file = \"\"\n");
        assert_eq!(open(&one).await, "the configuration names no forge.sync_token_file");
    }
}
