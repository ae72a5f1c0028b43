//! `caisson doctor`: looks at every part and says, for each fault, what to do.
//!
//! Owns the order and the table. Changes nothing, but triggers a test delivery of each hook; without a running `caisson serve` it starts a
//! broker and a listener, and ends both. Tests: `sheet.rs`, `local.rs`, `hook.rs`.

mod barrier;
mod engine;
mod forge;
mod hook;
mod local;
mod model;
mod sheet;

use super::printer::{Complaint, Printer};
use crate::config::Process;
use anyhow::Result;
use clap::Args;
use sheet::{Level, Sheet};
use std::path::Path;

/// Check every part: configuration, disk, forge, repositories, hooks, container engine, images, router, model.
#[derive(Debug, Args)]
#[command(
    after_help = "Ends with code 1 when something is wrong. Each line says what was found; a fault says what to do."
)]
pub struct Doctor {
    /// Ask the model one short question too (it costs some tokens)
    #[arg(long)]
    model: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

impl Doctor {
    /// # Errors
    /// A [`Complaint`] with the number of faults, after the table.
    pub async fn run(self, file: &Path) -> Result<()> {
        let mut sheet = Sheet::default();
        if let Some(config) = local::configuration(&mut sheet, file) {
            self.parts(&mut sheet, &config).await;
        }
        let printer = Printer::terminal();
        if self.json {
            for line in sheet.json() {
                printer.json(&line);
            }
        } else {
            printer.table(&["", "part", "found"], &sheet.rows());
            for finding in sheet.findings.iter().filter(|f| f.level == Level::Fault) {
                printer.bad(&format!("{}: {}", finding.part, finding.found));
                printer.hint(&finding.attempt);
            }
        }
        match sheet.faults() {
            0 => {
                if !self.json {
                    printer.good("everything that was looked at is in order");
                }
                Ok(())
            }
            1 => Err(Complaint::new("one fault").into()),
            many => Err(Complaint::new(format!("{many} faults")).into()),
        }
    }

    async fn parts(&self, sheet: &mut Sheet, config: &Process) {
        local::state(sheet, config);
        let entries = local::store(sheet, config).await;
        let running = hook::serve_answers(config).await;
        local::process(sheet, config, running);
        if let Some(accounts) = forge::accounts(sheet, config).await {
            for entry in config.repositories().iter() {
                if let Some(hook) = forge::repository(sheet, config, &accounts, entry).await {
                    hook::fire(sheet, config, &accounts, (entry, hook), &entries, running).await;
                }
            }
        }
        if config.repositories().is_empty() && entries.refused.is_empty() {
            sheet.fault("repositories", "none is configured", "caisson repo add <git-url>");
        }
        engine::look(sheet, config, running).await;
        model::look(sheet, config, self.model).await;
    }
}
