//! The barrier's self-test: thirty-three checks of a new sandbox, from inside and outside; six of them are repeated in each task's sandbox.
//!
//! Owns the table of checks (`table.rs`), the tries (here and `plan.rs`), the outside part (`canary.rs`), listeners on this machine
//! (`listeners.rs`), a repository for reading (`history.rs`), a flood (`flood.rs`), limits shared with a neighbour (`watch.rs`), the verdicts
//! (`judge.rs`), their stored proof (`proof.rs`), the runner's version (`outdated.rs`), and the checks in a task's own sandbox (`own.rs`).
//! The sandbox is made like every other, through the broker; only the runner's own probe runs in it. Must not know the engine, nor change
//! how a sandbox is made. A check that could not be tried does not hold. Tests: beside each file, and `tests/barrier/` (a real engine, and
//! deliberately weakened sandboxes).

mod canary;
mod flood;
mod history;
mod inside;
mod judge;
mod listeners;
mod outdated;
mod own;
mod plan;
mod proof;
mod table;
mod watch;

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;

use protocol::broker::{ContainerLimits, Problem, RouterSpec, Subnet};
use protocol::probe::{Finding, Plan};
use serde::Serialize;

use crate::egress::{Egress, EgressError};
use crate::sandbox::broker::Broker;
use crate::sandbox::link::LinkError;
use canary::Planted;
pub use canary::Upstream;
use history::History;
pub use inside::NAMES as SANDBOXES;
use inside::{Inside, NAMES};
pub use judge::{Row, Verdict};
use listeners::Listeners;
pub use outdated::Outdated;
pub use own::{FromInside, Inspector};
use plan::Names;
pub use plan::{is_own, strangers};
pub use proof::{BarrierState, Key, Proof};

/// Why the test could not be carried out, which says nothing about the barrier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Untested(pub String);

impl From<Problem> for Untested {
    fn from(problem: Problem) -> Self {
        Self(problem.text)
    }
}

impl From<LinkError> for Untested {
    fn from(error: LinkError) -> Self {
        Self(error.to_string())
    }
}

impl From<EgressError> for Untested {
    fn from(error: EgressError) -> Self {
        Self(error.to_string())
    }
}

impl From<std::io::Error> for Untested {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// Everything that a test needs.
pub struct BarrierSetup {
    /// The broker that makes and removes the sandboxes under test.
    pub broker: Arc<dyn Broker>,
    /// The router; `None` = sandboxes have no network.
    pub router: Option<RouterUnderTest>,
    /// Reference of the image that the sandboxes under test are made from.
    pub image: String,
    /// The operator's image with git, which fills a repository's mirror.
    pub own_image: String,
    /// Hardening profile: `sealed` or `debug`.
    pub profile: String,
    /// Limits of each sandbox, which the checks expect exactly.
    pub limits: ContainerLimits,
    /// Directory in which a secret is planted.
    pub state_dir: PathBuf,
    /// Epoch with which this process attaches to the runners, which obey the highest they have seen.
    pub epoch: u64,
    /// Addresses outside of this installation that are tried: samples of private networks, a public resolver.
    pub strangers: Vec<IpAddr>,
}

/// The router, with two subnets that no task uses.
pub struct RouterUnderTest {
    /// The client of the router under test.
    pub egress: Arc<Egress>,
    /// Subnets of the two sandboxes.
    pub subnets: [Subnet; 2],
    /// Name server of a router that belongs to the test; none for another router, whose questions cannot be watched.
    pub upstream: Option<Upstream>,
    /// Image of the router, and of the listener in the machine's own network namespace.
    pub router_image: String,
}

/// Number of subnets that the test takes besides those of tasks.
pub const SUBNETS: u32 = 2;

/// Ensures the router with two subnets more than `spec` asks for, and gives those two.
///
/// # Errors
/// When there is no room for them, or no router.
pub async fn subnets(broker: &dyn Broker, spec: &RouterSpec) -> Result<[Subnet; 2], Untested> {
    let more = RouterSpec { subnets: spec.subnets + SUBNETS, ..spec.clone() };
    let made = broker.router_ensure(&more).await?.subnets;
    let few = || Untested("the router has no two subnets for the barrier's self-test".to_owned());
    made.into_iter().skip(spec.subnets as usize).collect::<Vec<_>>().try_into().map_err(|_| few())
}

/// Facts on which the expected results depend.
pub struct Expect {
    limits: ContainerLimits,
    debug: bool,
    router: Option<ExpectedWay>,
    /// Whether it is a task's own sandbox, without a second one that listens.
    alone: bool,
}

struct ExpectedWay {
    /// Routes as the kernel lists them.
    routes: String,
}

impl ExpectedWay {
    fn of(gateway: impl std::fmt::Display, cidr: &str) -> ExpectedWay {
        ExpectedWay { routes: format!("default via {gateway}, {cidr}") }
    }
}

/// Result of a test.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Whether no check is a mismatch.
    #[serde(rename = "held")]
    pub holds: bool,
    /// Reference of the image that was tried.
    pub image: String,
    /// Hardening profile that was tried: `sealed` or `debug`.
    pub profile: String,
    /// Addresses of the machine itself that were tried; none without a network.
    pub machine: Vec<IpAddr>,
    /// One row for each check, in the order of their numbers.
    pub rows: Vec<Row>,
}

impl Report {
    /// Each mismatch in a sentence.
    pub fn mismatches(&self) -> Vec<String> {
        judge::mismatches(&self.rows)
    }
}

/// Makes two sandboxes, tries everything, removes them. `say` is called with the progress.
///
/// # Errors
/// [`Untested`] when it could not be completed.
pub async fn run(setup: &BarrierSetup, say: &(dyn Fn(&str) + Sync)) -> Result<Report, Untested> {
    say("making a repository's mirror");
    let history = History::make(setup).await?;
    let image = setup.router.as_ref().map(|router| router.router_image.as_str());
    let listeners = Listeners::open(setup.broker.as_ref(), image).await;
    let (machine, done) = match listeners {
        Ok(mut listeners) => (listeners.machine(), Box::pin(tried(setup, &history, &mut listeners, say)).await),
        Err(trouble) => (Vec::new(), Err(trouble)),
    };
    for name in NAMES {
        // The next run, or reaping, removes what is left.
        if let Err(error) = setup.broker.remove(name).await {
            tracing::warn!(%error, name, "a sandbox of the barrier's self-test could not be removed");
        }
    }
    let mut closed = Ok(());
    if let Some(router) = &setup.router {
        for subnet in &router.subnets {
            let shut = router.egress.close(subnet.number).await;
            closed = closed.and(shut);
        }
    }
    // Everything is removed first; then the first error is returned.
    let removed = history.remove().await;
    let found = done?;
    closed?;
    removed?;
    let rows = judge::judge(&expect(setup), &found);
    let held = rows.iter().all(|row| row.verdict != Verdict::Mismatch);
    Ok(Report { holds: held, image: setup.image.clone(), profile: setup.profile.clone(), machine, rows })
}

fn expect(setup: &BarrierSetup) -> Expect {
    let router = setup.router.as_ref().map(|router| {
        let [first, _] = &router.subnets;
        ExpectedWay::of(&first.gateway, &first.cidr)
    });
    Expect { limits: setup.limits, debug: setup.profile == "debug", router, alone: false }
}

async fn tried(
    setup: &BarrierSetup,
    history: &History,
    listeners: &mut Listeners,
    say: &(dyn Fn(&str) + Sync),
) -> Result<Vec<Finding>, Untested> {
    let names = Names::new()?;
    let _planted = Planted::in_state(&setup.state_dir)?;
    let subnet = |at: usize| setup.router.as_ref().map(|router| router.subnets[at].number);
    say("making a sandbox");
    let first = Inside::make(setup, 0, subnet(0), history.mirror.as_deref()).await?;
    let (first, mut found) = history.look(first).await?;
    say("making its neighbour");
    let second = Inside::make(setup, 1, subnet(1), None).await?;
    found.extend(watch::tried(&first, &second).await?);
    match &setup.router {
        None => {
            found.extend(first.carry_out(&plan::all(setup, &names, &listeners.watched(), None)).await?);
            found.push(Finding::new(13, plan::UPSTREAM, names.upstream(None)));
        }
        Some(router) => networked(setup, router, &names, [&first, &second], listeners, &mut found, say).await?,
    }
    if setup.router.is_none() {
        found.extend(listeners.heard_since(11).await?);
    }
    say("leaving a daemon behind");
    daemon(&first, &mut found).await?;
    found.push(Finding::new(28, "a forged frame", first.forged().await?));
    Ok(found)
}

/// Tries everything inside an open subnet, then after it was closed, allocated again, and without a router.
async fn networked(
    setup: &BarrierSetup,
    router: &RouterUnderTest,
    names: &Names,
    [first, second]: [&Inside; 2],
    listeners: &mut Listeners,
    found: &mut Vec<Finding>,
    say: &(dyn Fn(&str) + Sync),
) -> Result<(), Untested> {
    let [own, other] = [router.subnets[0].number, router.subnets[1].number];
    router.egress.open(other, &[]).await?;
    router.egress.open(own, &names.rules()).await?;
    say("trying every address");
    let neighbour = second.address.map(|address| (address, plan::NEIGHBOUR));
    let watched = listeners.watched();
    let all = plan::all(setup, names, &watched, neighbour);
    let tried = async || {
        let mut seen = first.carry_out(&all).await?;
        seen.extend(listeners.heard_since(11).await?);
        say("trying them from the router's place");
        seen.extend(outside(setup, listeners, neighbour).await?);
        Ok(seen)
    };
    let (mut seen, heard) = second.listening((plan::NEIGHBOUR, &watched.token), tried).await?;
    found.push(Finding::new(12, "the second sandbox heard", whom(heard)));
    found.push(Finding::new(13, plan::UPSTREAM, names.upstream(router.upstream.as_ref())));
    if router.upstream.is_none() {
        seen.retain(|finding| finding.what != plan::PRIVATE);
        found.push(Finding::new(16, plan::PRIVATE, "not ours to make"));
    }
    let old = seen.iter().find(|finding| finding.what == plan::SYNTHETIC).map(|finding| finding.seen.clone());
    seen.retain(|finding| finding.what != plan::SYNTHETIC);
    found.extend(seen);
    say("lending the subnet again");
    let ended = first.holding(&names.allowed, 80, async || Ok(router.egress.close(own).await?)).await?;
    found.push(Finding::new(32, "an open connection", ended));
    router.egress.open(own, &[]).await?;
    found.extend(first.carry_out(&plan::lent_again(names, old, &router.subnets, second)).await?);
    say("stopping the router");
    router.egress.open(own, &names.rules()).await?;
    let now = first.carry_out(&plan::asked_again(names)).await?;
    let address = now.first().map(|finding| finding.seen.clone()).unwrap_or_default();
    let stopped = router.egress.with_router_away(async {
        setup.broker.router_stop().await?;
        first.carry_out(&plan::once_more(names, &address)).await
    });
    found.extend(stopped.await?);
    say("flooding the router");
    // Ensures a running router for later use.
    router.egress.open(own, &names.rules()).await?;
    router.egress.open(other, &[]).await?;
    found.extend(flood::tried(router, names, first, second).await?);
    router.egress.open(own, &[]).await?;
    Ok(())
}

/// Peers that a listener in a sandbox heard; its own address is its control.
fn whom(heard: Option<Vec<String>>) -> String {
    let strangers = heard.map(|all| all.into_iter().filter(|from| from != "127.0.0.1").collect::<Vec<_>>());
    match strangers {
        None => "not even itself".to_owned(),
        Some(strangers) if strangers.is_empty() => "itself alone".to_owned(),
        Some(strangers) => strangers.join(", "),
    }
}

/// What the router's user reaches without the proxy.
async fn outside(
    setup: &BarrierSetup,
    listeners: &mut Listeners,
    neighbour: Option<(Ipv4Addr, u16)>,
) -> Result<Vec<Finding>, Untested> {
    let plan = plan::outside(&setup.strangers, &listeners.watched(), neighbour.as_slice());
    let plan = serde_json::to_string(&plan).map_err(|error| Untested(error.to_string()))?;
    let said = setup.broker.router_probe(&setup.image, &plan).await?;
    let mut found = inside::read("the router's place", &said)?;
    found.extend(listeners.heard_since(31).await?);
    Ok(found)
}

/// Starts a daemon, and looks for it before and after everything was stopped.
async fn daemon(first: &Inside, found: &mut Vec<Finding>) -> Result<(), Untested> {
    const FILE: &str = "/workspace/.ticks";
    let plan = Plan { sizes: vec![FILE.to_owned()], ..Plan::default() };
    let look = async || -> Result<(u64, Vec<Finding>), Untested> {
        let heard_since = first.carry_out(&plan).await?;
        let (size, rest): (Vec<_>, Vec<_>) = heard_since.into_iter().partition(|finding| finding.what == FILE);
        Ok((size.first().and_then(|finding| finding.seen.parse().ok()).unwrap_or(0), rest))
    };
    first.probe(&["daemon", FILE]).await?;
    let mut ticked = false;
    for _ in 0..100 {
        ticked = look().await?.0 > 0;
        if ticked {
            break;
        }
    }
    found.push(Finding::new(29, "a daemon ticked", if ticked { "before it was stopped" } else { "never" }));
    first.quiesce().await?;
    let (before, _) = look().await?;
    // Many times its interval.
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    let (after, rest) = look().await?;
    found.push(Finding::new(29, "ticks after everything was stopped", (after - before).to_string()));
    found.extend(rest);
    Ok(())
}
