//! The router against every known attack, in a small internet made by the test.
//!
//! The lab has the attacked addresses (a LAN, a metadata service, an internet, another sandbox), so that a hole is seen as a hit there, and
//! nothing leaves the machine. Needs root; prints that and skips otherwise.

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

/// The tested program.
pub fn program() -> std::path::PathBuf {
    env!("CARGO_BIN_EXE_caisson-router").into()
}

/// A router between sandboxes and a small internet.
pub struct Lab {
    /// The real program in a namespace of its own.
    pub router: Router,
    /// Servers beyond the router.
    pub internet: Internet,
    /// The namespaces and their links.
    pub net: Net,
}

impl Lab {
    /// A running router with this policy; none if no lab can be made here.
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

    /// The sandbox of this subnet.
    pub fn sandbox(&self, subnet: u32) -> Sandbox<'_> {
        Sandbox { net: &self.net, subnet }
    }
}
