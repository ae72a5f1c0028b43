//! What the container in this machine's own network namespace says: `caisson-router host report`, and `host listen`.
//!
//! Both begin with one JSON line, [`Network`]. `listen` then opens its port to everybody, and writes a line for whoever was heard
//! ([`HEARD`]). A line on its standard input asks for a control of its own; [`TOLD`] follows when that was heard too, behind
//! everything that came before it. Router: `router/src/host/`. Reader: `src/barrier/ear.rs`, `broker/src/router/host.rs`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::router::Net;

/// How a line begins that names whose bytes or connection came in.
pub const HEARD: &str = "heard ";
/// The line after a control.
pub const TOLD: &str = "told";
/// The word when the table stands, as it is wanted now.
pub const FENCED: &str = "fenced";
/// The word when there is none any more.
pub const UNFENCED: &str = "unfenced";

/// This machine's network as its own namespace shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Its addresses, without loopback and those of one link.
    pub addresses: Vec<IpAddr>,
    /// IPv4 networks it has a route to in its main table, each with the interface; default routes aside.
    pub routes: Vec<(Net, String)>,
    /// `rp_filter` as the kernel applies it (the larger of `all` and its own), of each bridge that was asked about: by its interface,
    /// in a broker's answer by its network's name.
    pub rp_filter: BTreeMap<String, u8>,
    /// Where `listen` listens, TCP and UDP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}

impl Network {
    /// Its IPv4 addresses, each as a network of its own.
    pub fn own(&self) -> impl Iterator<Item = Net> + '_ {
        self.addresses.iter().filter_map(|address| match address {
            IpAddr::V4(address) => Net::new(*address, 32).ok(),
            IpAddr::V6(_) => None,
        })
    }
}
