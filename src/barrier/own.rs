//! Checks 8 to 13 in a task's own sandbox before its first action, because what it can reach depends on its subnet, and the proof was made
//! in another one.
//!
//! One request to its runner. Other tries of the proof (public addresses, a listening neighbour, the upstream resolver) are not repeated.
//! Tests: `tests/barrier/own.rs` (real sandboxes, one of them weakened), `tests/stories/barrier.rs`.

use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::sync::Arc;

use async_trait::async_trait;
use protocol::broker::ContainerLimits;
use protocol::probe::Finding;
use protocol::router::{Net, SUBNET_PREFIX};

use super::inside::findings;
use super::judge::{judge, mismatches};
use super::listeners::Listeners;
use super::plan::{self, Names};
use super::{Expect, ExpectedWay, Untested};
use crate::sandbox::broker::Broker;
use crate::sandbox::{Looks, SandboxError};

const NUMBERS: RangeInclusive<u8> = 8..=13;

/// Inspects a task's sandbox before an agent uses it.
#[async_trait]
pub trait Inspector: Send + Sync {
    /// Each mismatch in a sentence; empty = the barrier holds.
    ///
    /// # Errors
    /// When the checks could not be made: the sandbox must not be used.
    async fn mismatches(&self, task: i64) -> Result<Vec<String>, SandboxError>;
}

/// The inspector of real sandboxes.
pub struct FromInside {
    /// Gives the addresses around a task's sandbox, and runs the probe in it.
    pub looks: Arc<Looks>,
    /// Opens the listeners outside the sandbox that must not be reached.
    pub broker: Arc<dyn Broker>,
    /// Image of the listener on the machine's side of a subnet.
    pub router_image: String,
}

#[async_trait]
impl Inspector for FromInside {
    async fn mismatches(&self, task: i64) -> Result<Vec<String>, SandboxError> {
        let untried =
            |trouble: Untested| SandboxError::Unavailable(format!("checks 8 to 13 could not be tried: {trouble}"));
        let around = self.looks.around(task).await?;
        let own = around.own.map(subnet).transpose().map_err(untried)?;
        let image = own.map(|_| self.router_image.as_str());
        let mut listeners = Listeners::open(self.broker.as_ref(), image).await.map_err(untried)?;
        let names = Names::new().map_err(untried)?;
        let gateway = own.map(|(_, gateway)| gateway);
        let plan = plan::own(&names, &listeners.watched(), gateway, &around.others);
        let text = serde_json::to_string(&plan).map_err(|error| untried(Untested(error.to_string())))?;
        let outcome = self.looks.probe(task, &["try", &text]).await?;
        let mut found = findings("the task's sandbox", &outcome).map_err(untried)?;
        found.extend(listeners.heard_since(11).await.map_err(untried)?);
        found.push(Finding::new(13, plan::UPSTREAM, plan::NOT_OURS));
        let router = own.map(|(cidr, gateway)| ExpectedWay::of(gateway, &cidr.to_string()));
        let expect = Expect { limits: ContainerLimits::default(), debug: false, router, alone: true };
        let rows = judge(&expect, &found);
        Ok(mismatches(rows.iter().filter(|row| NUMBERS.contains(&row.number))))
    }
}

/// The subnet's network and gateway, derived from the address of the sandbox.
fn subnet(own: Ipv4Addr) -> Result<(Net, Ipv4Addr), Untested> {
    let first = u32::from(own) & (u32::MAX << (32 - u32::from(SUBNET_PREFIX)));
    let cidr = Net::new(first.into(), SUBNET_PREFIX).map_err(|error| Untested(error.to_string()))?;
    Ok((cidr, Ipv4Addr::from(first + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subnet_is_known_by_the_sandbox_in_it() {
        let (cidr, gateway) = subnet(Ipv4Addr::new(10, 90, 0, 58)).unwrap();
        assert_eq!((cidr.to_string().as_str(), gateway), ("10.90.0.48/28", Ipv4Addr::new(10, 90, 0, 49)));
        let pool = protocol::router::Pool::new("10.90.0.0/24".parse().unwrap()).unwrap();
        assert_eq!((pool.subnet(3), pool.gateway(3)), (Some(cidr), Some(gateway)));
    }
}
