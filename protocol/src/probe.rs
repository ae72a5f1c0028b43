//! What the barrier's self-test has a runner try inside a sandbox, and what it writes back.
//!
//! `caisson-runner probe try <plan>`: the plan is one JSON argument, the answer one JSON line for each finding. The runner
//! judges nothing: it says what the kernel said. Runner: `runner/src/probe/`. Judge: `src/barrier/`.

use std::net::{SocketAddr, SocketAddrV4};

use serde::{Deserialize, Serialize};

/// A call, an opening or a connection that succeeded.
pub const OPEN: &str = "OPEN";
/// A datagram left, as far as its sender knows.
pub const SENT: &str = "sent";
/// A datagram was refused by the sender's own kernel.
pub const NOT_SENT: &str = "not sent";
/// A question that nobody answered in time.
pub const NO_ANSWER: &str = "no answer";
/// The two halves of the words every planted secret begins with; apart, so that no program and no plan holds them whole.
pub const CANARY: [&str; 2] = ["caisson-plan", "ted-secret-"];

/// What one run of the probe tries; the default tries nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Plan {
    /// Everything that needs nobody outside: process, kernel, files, limits, environment.
    pub standing: bool,
    /// Of these, interfaces and routes alone.
    pub network: bool,
    /// Addresses that are tried, in the order of their findings.
    pub reach: Vec<Reach>,
    /// Datagrams that are sent past the sandbox's routes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub casts: Vec<Cast>,
    /// Names that are asked of the sandbox's resolver.
    pub look_ups: Vec<LookUp>,
    /// Connections that are made, with the bytes to send on each.
    pub talks: Vec<Talk>,
    /// Words that nothing of the sandbox's surroundings may hold: names of other sandboxes.
    pub words: Vec<String>,
    /// Files whose sizes are told, with the processes that run.
    pub sizes: Vec<String>,
}

/// An address that is tried, for at most one second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reach {
    /// Number of the barrier's check that the finding belongs to.
    pub check: u8,
    /// Otherwise TCP.
    pub udp: bool,
    /// Address and port that are tried.
    pub to: SocketAddr,
}

impl Reach {
    /// How the finding is called.
    pub fn what(&self) -> String {
        format!("{} {}", if self.udp { "udp" } else { "tcp" }, self.to)
    }
}

/// A datagram past the sandbox's routes: from each of its interfaces straight to whoever is on the same wire, and once as the kernel
/// likes. Only a listener can tell whether it arrived.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cast {
    /// Number of the barrier's check that the finding belongs to.
    pub check: u8,
    /// What lets the datagram leave without a route.
    pub by: By,
    /// Address and UDP port the datagram is sent to.
    pub to: SocketAddrV4,
}

impl Cast {
    /// How the finding is called.
    pub fn what(&self) -> String {
        let by = match self.by {
            By::Group => "to a group",
            By::Broadcast => "SO_BROADCAST",
            By::Option => "SO_DONTROUTE",
            By::Flag => "MSG_DONTROUTE",
        };
        format!("{by} {}", self.to)
    }
}

/// What lets it leave without a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// It goes to a group of hosts, which needs no route.
    Group,
    /// `SO_BROADCAST` is set, as the kernel requires for a broadcast address.
    Broadcast,
    /// `SO_DONTROUTE`
    Option,
    /// `MSG_DONTROUTE`
    Flag,
}

/// A name that is asked of the sandbox's own resolver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LookUp {
    /// Number of the barrier's check that the finding belongs to.
    pub check: u8,
    /// How the finding is called.
    pub what: String,
    /// Host name to look up; with `reverse` a name below `in-addr.arpa`.
    pub name: String,
    /// The name of an address (`4.3.2.1.in-addr.arpa`) instead of the address of a name.
    pub reverse: bool,
}

/// A name that is connected to, what is said there, and how long an answer is waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Talk {
    /// Number of the barrier's check that the finding belongs to.
    pub check: u8,
    /// How the finding is called.
    pub what: String,
    /// A name, or an address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Bytes that are sent once the connection stands.
    pub say: Vec<u8>,
    /// Milliseconds that the look-up, the connection and the answer may take, each counted anew.
    pub wait_ms: u64,
}

/// What was seen, in the words of the side that looked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The number of the check it belongs to.
    pub check: u8,
    /// What was tried, as the plan calls it, or the runner if no plan does.
    pub what: String,
    /// What came of it: a value that was read, a word such as [`OPEN`] or `refused`, an error's name, an HTTP status or
    /// a TLS alert.
    pub seen: String,
}

impl Finding {
    /// A finding of check number `check`: `what` was tried, and `seen` came of it.
    pub fn new(check: u8, what: impl Into<String>, seen: impl Into<String>) -> Self {
        Self { check, what: what.into(), seen: seen.into() }
    }
}
