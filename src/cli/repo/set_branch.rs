//! `caisson repo set-branch`: which branch of the upstream tasks begin from, and which others are kept in step with it. Every step may be
//! repeated; the entry is written last.

use super::kept::{has_each, protect, tell_brought};
use super::upstream::{sync_one, upstream_listing};
use super::{Accounts, report, store_entry};
use crate::bot::sealed;
use crate::cli::entries;
use crate::cli::printer::{Complaint, Printer};
use crate::config::Process;
use crate::config::process::Repository as Entry;
use crate::forge::{ForgeReads, RepoRef};
use crate::upstream::followed;
use anyhow::Result;
use clap::Args;
use std::time::{Duration, Instant};

/// How long the forge may take to notice a push.
const NOTICE: Duration = Duration::from_secs(20);

#[derive(Debug, Args)]
#[command(
    after_help = "Tasks that began before keep their base. The branch that was the default one stays on the forge, and protected; it is \
    kept in step only where --also names it."
)]
pub struct SetBranch {
    /// Which one (`caisson repo list`).
    key: String,
    /// The branch that tasks begin from and pull requests aim at.
    branch: String,
    /// A further branch that is kept in step with the upstream, and protected like the default one. Repeat for more; without any, there are none.
    #[arg(long = "also", value_name = "BRANCH")]
    also: Vec<String>,
}

impl SetBranch {
    pub(super) async fn run(self, config: &Process, printer: &Printer) -> Result<()> {
        let entries = entries::ready(config).await?;
        let (entry, secrets) = store_entry(config, &entries, &self.key)?;
        let wanted = Entry { default_branch: self.branch, branches: self.also, ..entry.clone() };
        followed(&wanted)?;
        let accounts = Accounts::open(config).await?;
        let repo = accounts.found(entry).await?;
        if wanted.origin().is_empty() {
            there(&accounts, &repo, &wanted).await?;
            protect(config, &accounts, &repo, &wanted).await?;
        } else {
            has_each(&upstream_listing(config, &wanted).await?, &wanted)?;
            tell_brought(&sync_one(config, &wanted, None, printer).await?, printer);
        }
        noticed(&accounts, &repo, &wanted.default_branch).await?;
        accounts.forge.set_default_branch(&repo, &wanted.default_branch).await?;
        let generation = entries.next(&wanted.key);
        let taken = entries::put(config, |key, by| sealed(key, &wanted, secrets, (generation, by))).await?;
        printer.good(&format!("tasks of {} begin from {}", wanted.key, wanted.default_branch));
        report(printer, taken, "nothing more is to be done");
        Ok(())
    }
}

/// The forge notices a pushed branch late; until then it refuses it as the default branch.
async fn noticed(accounts: &Accounts, repo: &RepoRef, branch: &str) -> Result<()> {
    let end = Instant::now() + NOTICE;
    while accounts.forge.branch(repo, branch).await?.is_none() {
        if Instant::now() > end {
            return Err(Complaint::new(format!("the forge does not show {branch}")).hint("repeat this command").into());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// Without an upstream, the forge has to have the branches.
async fn there(accounts: &Accounts, repo: &RepoRef, entry: &Entry) -> Result<()> {
    for branch in followed(entry)? {
        if accounts.forge.branch(repo, branch.as_str()).await?.is_none() {
            let complaint = Complaint::new(format!("{repo} has no branch {branch}"));
            return Err(complaint.hint("name one that it has").into());
        }
    }
    Ok(())
}
