//! Output of the container in this machine's own network namespace: `caisson-router host report` and `host listen`.
//!
//! Both begin with one JSON line, [`Network`]. `listen` then listens on a port and writes a line for each peer that it receives from
//! ([`HEARD`]). Each line on its standard input is the token with which what is received afterwards must begin to be reported; an empty one
//! reports everything, as before the first. With it the listener sends itself a control datagram and opens a control connection; [`TOLD`]
//! follows once both arrived, after everything received before. Router: `router/src/host/`. Reader: `src/barrier/listeners.rs`,
//! `broker/src/router/host.rs`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::router::{Bogons, Net};

/// Beginning of a line that names the peer of a datagram or a connection that carried the token, or of a connection that was one
/// too many to be read. The listener of a sandbox, `caisson-runner probe listen`, writes the same.
pub const HEARD: &str = "heard ";
/// The line after a control arrived.
pub const TOLD: &str = "told";
/// Written when the firewall's table is installed as wanted.
pub const FENCED: &str = "fenced";
/// Written when the firewall's table is removed.
pub const UNFENCED: &str = "unfenced";

/// The network of the machine, as its own namespace shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Its addresses, without loopback and link-local ones.
    pub addresses: Vec<IpAddr>,
    /// IPv4 networks with a route in its main table, each with the interface; without default routes.
    pub routes: Vec<(Net, String)>,
    /// `rp_filter` as the kernel applies it (the larger of `all` and the interface's), for each bridge asked about: by interface, in a
    /// broker's answer by the network's name.
    pub rp_filter: BTreeMap<String, u8>,
    /// Port that `listen` listens on, TCP and UDP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Name server of the machine that a router made now would ask, with its port; only in a broker's answer, and none where the machine
    /// names no usable one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
}

impl Network {
    /// Its IPv4 addresses, each as a network of its own.
    pub fn own(&self) -> impl Iterator<Item = Net> + '_ {
        self.addresses.iter().filter_map(|address| match address {
            IpAddr::V4(address) => Net::new(*address, 32).ok(),
            IpAddr::V6(_) => None,
        })
    }

    /// The public ones of them, which firewall and proxy refuse too. All others are private or special, and change with an engine's
    /// networks.
    pub fn public(&self) -> impl Iterator<Item = Net> + '_ {
        let special = Bogons::new(&[], &[]);
        self.own().filter(move |net| !special.refuses(net.addr))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_machines_addresses_those_that_are_neither_private_nor_special_are_public() {
        let addresses = ["10.0.0.5", "172.17.0.1", "8.8.4.4", "fd00::1"].map(|text| text.parse().unwrap()).to_vec();
        let host = Network { addresses, ..Network::default() };
        assert_eq!(host.public().map(|net| net.to_string()).collect::<Vec<_>>(), ["8.8.4.4/32"]);
    }
}
