//! `caisson doctor`: looks at every part and says, for each fault, what to do.
//!
//! Owns the order and the table. Changes nothing, but triggers a test delivery of each hook; without a running `caisson serve` it starts a
//! broker and a listener, and ends both. Tests: `report.rs`, `local.rs`, `src/cli/test_delivery.rs`.

mod barrier;
mod engine;
mod forge;
mod hook;
mod local;
mod model;
mod report;

use super::printer::{Complaint, Printer};
use super::test_delivery::serve_answers;
use crate::config::Process;
use anyhow::Result;
use clap::Args;
use report::{Level, Report};
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
        let mut report = Report::default();
        if let Some(config) = local::configuration(&mut report, file) {
            self.parts(&mut report, &config).await;
        }
        let printer = Printer::terminal();
        if self.json {
            for line in report.json() {
                printer.json(&line);
            }
        } else {
            printer.table(&["", "part", "found"], &report.rows());
            for finding in report.findings.iter().filter(|f| f.level == Level::Fault) {
                printer.bad(&format!("{}: {}", finding.part, finding.found));
                printer.hint(&finding.hint);
            }
        }
        match report.faults() {
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

    async fn parts(&self, report: &mut Report, config: &Process) {
        local::state(report, config);
        let entries = local::store(report, config).await;
        let running = serve_answers(config).await;
        local::process(report, config, running);
        if let Some(accounts) = forge::accounts(report, config).await {
            for entry in config.repositories().iter() {
                if let Some(hook) = forge::repository(report, config, &accounts, entry).await {
                    hook::fire(report, config, &accounts, (entry, &hook), &entries, running).await;
                }
            }
        }
        if config.repositories().is_empty() && entries.refused.is_empty() {
            report.fault("repositories", "none is configured", "caisson repo add <git-url>");
        }
        engine::look(report, config, running).await;
        model::look(report, config, self.model).await;
    }
}
