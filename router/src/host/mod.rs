//! The machine's own network namespace: a report on it, a listener in it, and the table that closes it to subnets.
//!
//! Run by the broker in a container of the host's network: `report` and `listen` without any capability, `fence` and `unfence` with
//! NET_ADMIN; the latter end as soon as the table is installed or removed. Must not change anything but that table.
//! Tests: beside each file, `broker/tests/docker/host.rs` and `tests/barrier/`.

mod fence;
mod listen;
mod report;

use anyhow::{Result, bail};

/// # Errors
/// When the arguments are malformed or the command fails; the caller must then not start a sandbox.
pub async fn run(words: &[String]) -> Result<()> {
    match words {
        [word, bridges @ ..] if word == "report" => {
            println!("{}", serde_json::to_string(&report::network(bridges)?)?);
            Ok(())
        }
        [word] if word == "listen" => listen::listen().await,
        [word, table, bridges @ ..] if word == "fence" => fence::raise(table, bridges),
        [word, table] if word == "unfence" => fence::remove(table),
        _ => bail!(
            "usage: caisson-router host report [BRIDGE…] | host listen | host fence TABLE [BRIDGE…] | host unfence TABLE"
        ),
    }
}
