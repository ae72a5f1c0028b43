//! `caisson dashboard`: prints a code that opens the running bot's page.

use super::lock;
use super::printer::{Complaint, Printer};
use super::running::tell;
use crate::config::Process;
use crate::server::CodeReport;
use anyhow::{Context, Result};
use std::path::Path;

/// Prints the page's address and the code.
pub async fn run(config: &Path) -> Result<()> {
    let config = Process::load(config)?;
    if lock::unless_in_use(&config.state_dir)?.is_some() {
        return Err(Complaint::new("no `caisson serve` runs with this configuration, so there is nothing to look at")
            .hint("start it, then say this again; `caisson task list` works without it")
            .into());
    }
    let (status, said) = tell(&config, "/dashboard/code", &()).await?;
    if status != 200 {
        let complaint = match status {
            404 => Complaint::new(
                "the running bot has no dashboard: it is an older version, or `listen.ops` is not on loopback",
            )
            .hint("keep `listen.ops` on 127.0.0.1, and start the bot anew"),
            _ => Complaint::new(format!("the running bot answered {status}")).because(said),
        };
        return Err(complaint.into());
    }
    let report: CodeReport = serde_json::from_str(&said).context("the running bot's answer cannot be read")?;
    let printer = Printer::terminal();
    printer.fields(&[("page", format!("http://{}/dashboard", config.listen.ops)), ("code", report.code)]);
    printer.hint(&format!(
        "the code is good once, for {} s; the page then shows tasks and orders nothing",
        report.lasts_s
    ));
    Ok(())
}
