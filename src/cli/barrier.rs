//! `caisson barrier`: proves the barrier on this machine, in sandboxes and with a router of its own.
//!
//! Owns flags and wording; what is tried and judged is `crate::barrier`. Nothing of a running bot is touched: the test has an installation,
//! a broker and a router of its own, which are removed at the end. Tests: `tests/barrier/`.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use serde_json::json;

use super::broker_child::TemporaryBroker;
use super::interruption::interrupted;
use super::printer::{Complaint, Printer};
use crate::barrier::{self, BarrierSetup, Outdated, Report, RouterUnderTest, Upstream, Verdict};
use crate::bot::{proven_limits, router_spec, way_out};
use crate::config::Process;
use crate::config::process::{Hardening, Network};
use crate::sandbox::broker::Broker;

/// Prove on this machine that a sandbox holds: 33 checks of a fresh one, from inside and from outside.
///
/// Makes two sandboxes as tasks get them, and a router of its own. Inside, a probe tries what an agent would: system calls,
/// process 1, sockets, addresses of this machine, names nobody allowed, writing where it must not. Outside, listeners, a planted
/// secret and a name server watch for what gets through. Then the router is stopped, and a subnet used again. Takes some ten
/// seconds, and disturbs no running task.
#[derive(Debug, Args)]
#[command(
    after_help = "Ends with code 1 when a check does not hold. `caisson serve` does the same before its first task, and again \
    after anything changed that it depends on: kernel, boot, engine and its configuration, filter, images, limits.\n\
    Examples:\n  caisson barrier\n  caisson barrier --json | jq '.rows[] | select(.verdict == \"mismatch\")'\n  \
    caisson barrier --image my-toolchain:local"
)]
pub struct BarrierArgs {
    /// One JSON object: whether it held, and every check with what was expected and seen
    #[arg(long)]
    json: bool,
    /// The hardening profile that is tested, instead of sandbox.hardening
    #[arg(long, value_enum)]
    profile: Option<Hardening>,
    /// The image that is tested, instead of sandbox.image; it must be one the configuration lists
    #[arg(long, value_name = "REFERENCE")]
    image: Option<String>,
}

impl BarrierArgs {
    /// # Errors
    /// A [`Complaint`] when a check doesn't hold, or the test could not be carried out.
    pub async fn run(self, file: &Path) -> Result<()> {
        let config = Process::load(file)?;
        let printer = Printer::terminal();
        let report = self.test(config, &printer).await?;
        show(&printer, &report, self.json);
        match report.mismatches().len() {
            0 => Ok(()),
            1 => Err(Complaint::new("the barrier does not hold: one check").hint(HINT).into()),
            many => Err(Complaint::new(format!("the barrier does not hold: {many} checks")).hint(HINT).into()),
        }
    }

    async fn test(&self, config: Process, printer: &Printer) -> Result<Report> {
        let image = self.image.clone().unwrap_or_else(|| config.sandbox.image.clone());
        if !config.listed_images().contains(&image) {
            let what = format!("the configuration does not list the image {image}");
            return Err(Complaint::new(what).hint("add it to sandbox.images").into());
        }
        let profile = self.profile.unwrap_or(config.sandbox.hardening);
        let own = own_installation(config);
        printer.step("starting a broker of its own");
        let mut temporary = TemporaryBroker::start(&own).await?;
        if let Some(Outdated { what, hint }) = Outdated::of(&temporary.info) {
            return Err(Complaint::new(what).hint(hint).into());
        }
        let broker: Arc<dyn Broker> = temporary.broker.clone();
        // The broker by itself leaves the runner's volume when it ends, so an interruption tears down, too.
        let tested = tokio::select! {
            tested = Box::pin(on(&own, broker, image, profile.word(), printer)) => tested,
            stopped = interrupted() => {
                stopped.and_then(|()| Err(Complaint::new("stopped; what was made has been removed").into()))
            }
        };
        printer.step("removing what was made");
        temporary.tear_down(&own)?;
        tested
    }
}

const HINT: &str = "each mismatch names what is open; SECURITY.md says what should close it";

/// The same configuration with another installation name, and with no subnets but the test's.
fn own_installation(mut config: Process) -> Process {
    let name: String = config.installation.chars().take(12).collect();
    config.installation = format!("{name}-barrier{}", std::process::id() % 1000);
    // A running bot's router uses the configured network.
    config.router.pool = String::new();
    config
}

async fn on(
    config: &Process,
    broker: Arc<dyn Broker>,
    image: String,
    profile: &str,
    printer: &Printer,
) -> Result<Report> {
    let mut config = config.clone();
    let planted = tempfile::tempdir()?;
    let way = match config.sandbox.network {
        Network::None => None,
        Network::Router => {
            printer.step("making a router of its own");
            let upstream = Upstream::start().await?;
            if let Some(upstream) = &upstream {
                config.router.upstream = upstream.at.to_string();
            }
            config.router.subnets = 1;
            let (egress, _log) = way_out(&config, &broker).await?;
            let subnets = barrier::subnets(broker.as_ref(), &router_spec(&config)).await?;
            Some(RouterUnderTest { egress, subnets, upstream, router_image: config.router.image.clone() })
        }
    };
    let setup = BarrierSetup {
        broker,
        router: way,
        image,
        own_image: config.sandbox.image.clone(),
        profile: profile.to_owned(),
        limits: proven_limits(&config),
        state_dir: planted.path().to_owned(),
        epoch: 1,
        strangers: barrier::strangers(),
    };
    Ok(barrier::run(&setup, &|text| printer.step(text)).await?)
}

fn show(printer: &Printer, report: &Report, as_json: bool) {
    if as_json {
        return printer.json(&json!(report));
    }
    let cells = report.rows.iter().map(|row| {
        let number = row.number.to_string();
        [&number, row.check, row.expected, crate::text::cut(&row.seen, 60).0, row.verdict.word()]
            .map(str::to_owned)
            .to_vec()
    });
    printer.table(&["", "check", "expected", "seen", "verdict"], &cells.collect::<Vec<_>>());
    for row in report.rows.iter().filter(|row| row.verdict == Verdict::Mismatch) {
        printer.bad(&format!("{} {}: expected {}; seen {}", row.number, row.check, row.expected, row.seen));
    }
    if !report.machine.is_empty() {
        printer.say(&format!("tried of this machine: {}", listed(&report.machine)));
    }
    let count = |verdict| report.rows.iter().filter(|row| row.verdict == verdict).count();
    if report.holds {
        printer.good(&format!(
            "the barrier holds: {} checks; {} not applicable",
            count(Verdict::Holds),
            count(Verdict::NotApplicable)
        ));
    }
}

/// Addresses in order.
pub(super) fn listed(addresses: &[IpAddr]) -> String {
    addresses.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(", ")
}
