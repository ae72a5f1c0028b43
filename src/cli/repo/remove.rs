//! `caisson repo remove`: ends all hosts' work for a repository, after its tasks have ended and their effects are done.

use super::{Accounts, report, store_entry};
use crate::bot::gone;
use crate::cli::printer::{Complaint, Printer};
use crate::cli::store::location;
use crate::cli::{entries, order};
use crate::config::Process;
use crate::store::Store;
use anyhow::{Context, Result};
use clap::Args;
use domain::{Order, TaskId};
use std::time::{Duration, Instant};

/// Time limit for the remaining effects of ended tasks (posts on the forge, removal of sandboxes).
const SETTLES: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(250);

#[derive(Debug, Args)]
pub struct Remove {
    /// Which one (`caisson repo list`).
    key: String,
    /// Stop its tasks first. Otherwise it stays while one of them has not ended.
    #[arg(long)]
    end_tasks: bool,
}

impl Remove {
    pub(super) async fn run(self, config: &Process, printer: &Printer) -> Result<()> {
        let key = self.key.as_str();
        let entries = entries::ready(config).await?;
        let (entry, _) = store_entry(config, &entries, key)?;
        self.end(config, printer).await?;
        let accounts = Accounts::open(config).await?;
        let repo = accounts.place_of(entry).await?;
        let generation = entries.next(key);
        let taken = entries::put(config, |_, by| Ok(gone(key, (generation, by)))).await?;
        // Nothing verifies the hook any more, so its deliveries would only fail.
        match accounts.forge.remove_hook(&repo, &config.hook_url(key)).await {
            Ok(()) => printer.good(&format!("{key} is taken out, and its hook")),
            Err(error) => printer.warn(&format!("{key} is taken out; its hook on the forge stays: {error}")),
        }
        printer.hint(&format!("{repo} stays on the forge with its issues, branches and protection"));
        let days = config.keep.tasks_days;
        printer.hint(&match days {
            0 => "its ended tasks stay in the store".to_owned(),
            days => format!("its ended tasks stay in the store until they are {days} days old"),
        });
        report(printer, taken, "nothing more is to be done");
        Ok(())
    }

    /// Waits until no task is live and no effect is pending: without an entry, none could be carried out.
    async fn end(&self, config: &Process, printer: &Printer) -> Result<()> {
        let store = Store::look(location(config)?).await?.context("there is no store yet")?;
        let live: Vec<i64> =
            store.live_tasks().await?.into_iter().filter(|row| row.repository == self.key).map(|row| row.id).collect();
        if !live.is_empty() && !self.end_tasks {
            let ids = live.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            return Err(Complaint::new(format!("{} has tasks that have not ended: {ids}", self.key))
                .hint(format!("wait for their end, or `caisson repo remove {} --end-tasks` stops them", self.key))
                .into());
        }
        for id in live {
            order::give(config, TaskId(id), Order::Stop).await?;
        }
        let end = Instant::now() + SETTLES;
        let owed = async || anyhow::Ok(!store.tasks_with_effects_in(&self.key).await?.is_empty());
        let runs = crate::cli::lock::unless_in_use(&config.state_dir)?.is_none();
        while owed().await? {
            if !runs || Instant::now() > end {
                return Err(Complaint::new(
                    "its tasks have ended, and still owe something (words on the forge, the end of a sandbox)",
                )
                .hint("repeat this a little later, while `caisson serve` runs")
                .into());
            }
            printer.step("waiting for what its tasks still owe");
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }
}
