//! `caisson-runner probe …`: inspects the sandbox from inside, with the agent's privileges, for the barrier's self-test.
//!
//! Needs nothing of the image. Prints one JSON line per finding and leaves judging to the host. Must not be run as process 1, because it
//! stands in for an agent's command. Tests: beside `network.rs`, and `tests/barrier/` with a real engine.

mod call;
mod cast;
mod daemon;
mod files;
mod flood;
mod kernel;
mod limits;
mod network;
mod process;
mod secrets;
mod watch;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, bail};
use protocol::probe::{Finding, Plan};

/// # Errors
/// When the arguments are malformed, or the probe can't run at all.
pub fn main(words: impl Iterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    let words: Option<Vec<String>> = words.map(|word| word.into_string().ok()).collect();
    let words = words.unwrap_or_default();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["try", plan] => carry_out(&serde_json::from_str(plan).context("the plan")?),
        ["hold", host, port] => network::hold(host, port.parse().context("the port")?),
        ["listen", port, token] => network::listen(port.parse().context("the port")?, token),
        ["flood", resolver, to, ms] => flood::flood(
            resolver.parse().context("the resolver")?,
            to.parse().context("the address")?,
            std::time::Duration::from_millis(ms.parse().context("the time")?),
        ),
        ["daemon", file] => daemon::fork(file, daemon::GENERATIONS),
        ["daemon", file, left] => daemon::live(file, left.parse().context("the generation")?),
        ["take-watchers"] => watch::take_all(),
        ["take-watcher"] => Ok(watch::take_one()),
        ["forge", id] => daemon::forge(id.parse().context("the request")?),
        _ => bail!(
            "probe try <plan> | hold <host> <port> | listen <port> <token> | flood <resolver> <address> <ms> | daemon <file> | take-watchers \
             | take-watcher | forge <request>"
        ),
    }
}

fn carry_out(plan: &Plan) -> anyhow::Result<ExitCode> {
    let mut found = Vec::new();
    if plan.standing || plan.network {
        network::look(&mut found);
    }
    if plan.standing {
        process::look(&mut found);
        files::look(&mut found);
        limits::look(&mut found);
        secrets::look(&mut found);
    }
    network::reach(&plan.reach, &plan.token, &mut found);
    cast::all(&plan.casts, &plan.token, &mut found);
    network::look_ups(&plan.look_ups, &mut found)?;
    network::talks(&plan.talks, &mut found)?;
    if !plan.words.is_empty() {
        files::surroundings(&plan.words, &mut found);
    }
    if !plan.sizes.is_empty() {
        found.push(Finding::new(29, "processes", process::processes()));
    }
    for path in &plan.sizes {
        let size = std::fs::metadata(path).map_or_else(|error| kernel::name(&error), |it| it.len().to_string());
        found.push(Finding::new(29, path.clone(), size));
    }
    if plan.standing {
        // Last, because a call that succeeds changes this process.
        kernel::calls(&mut found);
    }
    let mut text = String::new();
    for finding in &found {
        text.push_str(&serde_json::to_string(finding)?);
        text.push('\n');
    }
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
