//! The environment of a trial: a broker, a router and sandboxes of this command, beside those of a running bot.
//!
//! Owns that nothing of it is left: everything in the engine has an installation name of its own and is removed when this is dropped. The
//! router gets the operator's policy. Must not touch a running bot's state.

use crate::bot::{LogInbox, way_out};
use crate::cli::broker_child::TemporaryBroker;
use crate::cli::printer::{Complaint, Printer};
use crate::cli::serve;
use crate::config::Process;
use crate::config::process::Network;
use crate::git::Repos;
use crate::sandbox::broker::Broker;
use crate::sandbox::{EgressControl, Sandboxes};
use anyhow::{Context, Result};
use protocol::router::Verdict;
use std::sync::Arc;
use tempfile::TempDir;

pub(super) struct Environment {
    pub sandboxes: Sandboxes,
    /// The operator's configuration with another installation name.
    pub config: Process,
    pub repos: Repos,
    temporary: TemporaryBroker,
    log: Option<LogInbox>,
    _state: TempDir,
}

impl Environment {
    pub async fn lay(config: &Process, repos: Repos, printer: &Printer) -> Result<Environment> {
        let state = tempfile::Builder::new().prefix("caisson-try-").tempdir().context("no temporary directory")?;
        let config = own(config, &state);
        printer.step("starting a broker of its own");
        let temporary = TemporaryBroker::start(&config).await?;
        let broker: Arc<dyn Broker> = temporary.broker.clone();
        // From here on every failure removes what was started.
        let mut guard = Guard { temporary: Some(temporary), config: &config };
        let (control, log) = match config.sandbox.network {
            Network::None => (None, None),
            Network::Router => {
                printer.step("making a router of its own");
                let hint = "make images, or set sandbox.network to \"none\"";
                let made = way_out(&config, &broker).await;
                let (egress, log) = made.map_err(|why| {
                    Complaint::new("there is no router for the network of setup").because(format!("{why:#}")).hint(hint)
                })?;
                (Some(egress as Arc<dyn EgressControl>), Some(log))
            }
        };
        let sandboxes = Sandboxes::new(broker, control, repos.clone(), serve::settings(&config), 1)?;
        let temporary = guard.temporary.take().context("the broker is gone")?;
        drop(guard);
        Ok(Environment { sandboxes, repos, temporary, log, _state: state, config })
    }

    /// Names and ports that the router refused since the last call.
    pub async fn refused(&mut self) -> Vec<(String, u16)> {
        let Some(log) = &mut self.log else { return Vec::new() };
        let mut out: Vec<(String, u16)> = Vec::new();
        for entry in log.drain() {
            let known = out.iter().position(|(host, _)| *host == entry.host);
            match (entry.verdict, known) {
                (Verdict::Allowed | Verdict::Failed, _) => {}
                (Verdict::Denied, _) if entry.host.is_empty() => {}
                (Verdict::Denied, Some(at)) => out[at].1 = out[at].1.max(entry.port),
                (Verdict::Denied, None) => out.push((entry.host, entry.port)),
            }
        }
        out
    }
}

impl Drop for Environment {
    fn drop(&mut self) {
        tear_down(&mut self.temporary, &self.config);
    }
}

/// Until setup is complete: on failure, removes what the broker made.
struct Guard<'a> {
    temporary: Option<TemporaryBroker>,
    config: &'a Process,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if let Some(temporary) = &mut self.temporary {
            tear_down(temporary, self.config);
        }
    }
}

fn tear_down(temporary: &mut TemporaryBroker, config: &Process) {
    if let Err(error) = temporary.tear_down(config) {
        Printer::terminal().warn(&format!("{error:#}\n`make clean-docker` tries again"));
    }
}

/// The operator's configuration with another name and state directory, and another network, because a running bot's router uses the
/// configured one.
fn own(config: &Process, state: &TempDir) -> Process {
    let mut own = config.clone();
    let name: String = config.installation.chars().take(12).collect();
    own.installation = format!("{name}-try{}", std::process::id() % 1000);
    own.router.pool = String::new();
    own.router.subnets = 1;
    own.state_dir = state.path().to_owned();
    // The assignment of users to sandboxes is kept.
    let users = "users.json";
    if config.state_dir.join(users).exists()
        && let Err(error) = std::fs::copy(config.state_dir.join(users), state.path().join(users))
    {
        tracing::debug!(%error, "the sandboxes of this try run as a user of their own");
    }
    own
}
