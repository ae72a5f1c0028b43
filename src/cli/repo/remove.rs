//! `caisson repo remove`: no host works for a repository any more. Its tasks are over first, and owe nothing.

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

/// How long what ended tasks still owe (words on the forge, the end of a sandbox) may take.
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
        // A hook that nobody verifies any more would only fail.
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

    /// Until none of its tasks lives, and none owes anything: without an entry nothing of it could be done any more.
    async fn end(&self, config: &Process, printer: &Printer) -> Result<()> {
        let store = Store::look(location(config)?).await?.context("there is no store yet")?;
        let live: Vec<i64> =
            store.live_tasks().await?.into_iter().filter(|row| row.repository == self.key).map(|row| row.id).collect();
        if !live.is_empty() && !self.end_tasks {
            let ids = live.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            return Err(Complaint::new(format!("{} has tasks that have not ended: {ids}", self.key))
                .attempt(format!("wait for their end, or `caisson repo remove {} --end-tasks` stops them", self.key))
                .into());
        }
        for id in live {
            order::give(config, TaskId(id), Order::Stop).await?;
        }
        let end = Instant::now() + SETTLES;
        let owed = async || anyhow::Ok(!store.tasks_with_effects_in(&self.key).await?.is_empty());
        let runs = crate::cli::lock::take(&config.state_dir).is_err();
        while owed().await? {
            if !runs || Instant::now() > end {
                return Err(Complaint::new(
                    "its tasks have ended, and still owe something (words on the forge, the end of a sandbox)",
                )
                .attempt("repeat this a little later, while `caisson serve` runs")
                .into());
            }
            printer.step("waiting for what its tasks still owe");
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }
}
