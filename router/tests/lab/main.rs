//! The router against everything that was ever tried on it, in a small internet of the test's own making.
//!
//! The lab carries the addresses that are attacked (a LAN, a metadata service, an internet, another sandbox), so that a
//! hole shows as a hit there, and nothing leaves the machine. Needs root; says so and skips otherwise.

#[path = "../common/mod.rs"]
mod common;
mod firewall;
mod internet;
mod judged;
mod life;
mod net;
mod router;
mod sandbox;
#[path = "../../../tests/support/skipped.rs"]
mod skipped;

use internet::Internet;
use net::Net;
use protocol::router::Policy;
use router::Router;
use sandbox::Sandbox;

/// What is tried.
pub fn program() -> std::path::PathBuf {
    env!("CARGO_BIN_EXE_caisson-router").into()
}

/// A router between sandboxes and a small internet.
pub struct Lab {
    /// The real program, in a namespace of its own.
    pub router: Router,
    /// Servers that it may reach.
    pub internet: Internet,
    /// The namespaces and what joins them.
    pub net: Net,
}

impl Lab {
    /// A running router with this policy; nothing when no lab can be made here.
    pub fn new(policy: Policy) -> Option<Lab> {
        if !net::possible() {
            return None;
        }
        let net = Net::new();
        let internet = Internet::start(&net);
        let router = Router::start(&net, policy);
        Some(Lab { router, internet, net })
    }

    /// The same, with subnet 0 open for these rules.
    pub fn open(rules: &[&str]) -> Option<Lab> {
        let mut lab = Lab::new(Policy::default())?;
        lab.router.grant(0, rules);
        Some(lab)
    }

    /// What runs in the sandbox of this subnet.
    pub fn sandbox(&self, subnet: u32) -> Sandbox<'_> {
        Sandbox { net: &self.net, subnet }
    }
}
