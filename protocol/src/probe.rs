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

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Plan {
    /// Everything that needs nobody outside: process, kernel, files, limits, environment.
    pub standing: bool,
    /// Of these, interfaces and routes alone.
    pub network: bool,
    pub reach: Vec<Reach>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub casts: Vec<Cast>,
    pub look_ups: Vec<LookUp>,
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
    pub check: u8,
    /// Otherwise TCP.
    pub udp: bool,
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
    pub check: u8,
    pub by: By,
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
    pub check: u8,
    pub what: String,
    pub name: String,
    /// The name of an address (`4.3.2.1.in-addr.arpa`) instead of the address of a name.
    pub reverse: bool,
}

/// A name that is connected to, what is said there, and how long an answer is waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Talk {
    pub check: u8,
    pub what: String,
    /// A name, or an address.
    pub host: String,
    pub port: u16,
    pub say: Vec<u8>,
    pub wait_ms: u64,
}

/// What was seen, in the words of the side that looked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The number of the check it belongs to.
    pub check: u8,
    pub what: String,
    pub seen: String,
}

impl Finding {
    pub fn new(check: u8, what: impl Into<String>, seen: impl Into<String>) -> Self {
        Self { check, what: what.into(), seen: seen.into() }
    }
}
