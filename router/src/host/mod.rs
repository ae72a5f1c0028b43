//! This machine's own network namespace: what it looks like, who is heard there, and the table that closes subnets to it.
//!
//! Run in a container of the host's network by the broker, and only for this: `report` and `listen` without any capability, `fence`
//! and `unfence` with NET_ADMIN, which end as soon as the table stands or is gone. Must not change anything but that one table.
//! Tests: beside each file, `broker/tests/docker/host.rs` and `tests/barrier/`.

mod fence;
mod listen;
mod report;

use anyhow::{Result, bail};

/// # Errors
/// When the words make no sense, or what they ask for can't be done: whoever asked must not start a sandbox.
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
