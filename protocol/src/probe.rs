//! What the barrier's self-test has a runner try inside a sandbox, and the findings.
//!
//! `caisson-runner probe try <plan>`: the plan is one JSON argument, the output one JSON line per finding. The runner only reports what the
//! kernel answered. Runner: `runner/src/probe/`. Judge: `src/barrier/`.

use std::net::{SocketAddr, SocketAddrV4};

use serde::{Deserialize, Serialize};

/// A call, an open or a connection succeeded.
pub const OPEN: &str = "OPEN";
/// A datagram was sent, as far as the sender knows.
pub const SENT: &str = "sent";
/// The sender's own kernel refused a datagram.
pub const NOT_SENT: &str = "not sent";
/// Nobody answered in time.
pub const NO_ANSWER: &str = "no answer";
/// The two halves of the text that every planted secret begins with, kept apart so that no program and no plan contains the whole.
pub const CANARY: [&str; 2] = ["caisson-plan", "ted-secret-"];

/// What one run of the probe tries; the default tries nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Plan {
    /// Whether to run all checks that need nothing outside: process, kernel, files, limits, environment.
    pub standing: bool,
    /// Whether to run only those of interfaces and routes.
    pub network: bool,
    /// What each connection of `reach`, and each datagram of `reach` and `casts`, begins with, so that a listener can tell it from a
    /// stranger's; empty = nothing. Datagrams to port 53 are questions in any case. A probe that does not know this field refuses the plan.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub token: String,
    /// Addresses that are tried, in the order of their findings.
    pub reach: Vec<Reach>,
    /// Datagrams that are sent without using the sandbox's routes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub casts: Vec<Cast>,
    /// Names that are asked of the sandbox's resolver.
    pub look_ups: Vec<LookUp>,
    /// Connections that are made, with the bytes to send on each.
    pub talks: Vec<Talk>,
    /// Words that must not appear in the sandbox's surroundings, such as names of other sandboxes.
    pub words: Vec<String>,
    /// Files whose sizes are reported, together with the running processes.
    pub sizes: Vec<String>,
}

/// An address that is tried, for at most one second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reach {
    /// Number of the barrier's check that the finding belongs to.
    pub check: u8,
    /// Whether UDP is tried; otherwise TCP.
    pub udp: bool,
    /// Address and port that are tried.
    pub to: SocketAddr,
}

impl Reach {
    /// Name of the finding.
    pub fn what(&self) -> String {
        format!("{} {}", if self.udp { "udp" } else { "tcp" }, self.to)
    }
}

/// A datagram that does not use the sandbox's routes: sent from each interface directly to the neighbours on its link, and once on the
/// interface that the kernel picks. Only a listener can tell whether it arrived.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cast {
    /// Number of the barrier's check that the finding belongs to.
    pub check: u8,
    /// Socket option or flag that lets the datagram leave without a route.
    pub by: By,
    /// Address and UDP port the datagram is sent to.
    pub to: SocketAddrV4,
}

impl Cast {
    /// Name of the finding.
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

/// Socket option or flag that lets a datagram leave without a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// It goes to a multicast group, which needs no route.
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
    /// Name of the finding.
    pub what: String,
    /// Host name to look up; with `reverse` a name below `in-addr.arpa`.
    pub name: String,
    /// Whether the name of an address (`4.3.2.1.in-addr.arpa`) is asked for instead of the address of a name.
    pub reverse: bool,
}

/// A TCP connection to a name, the bytes sent on it, and the time to wait for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Talk {
    /// Number of the barrier's check that the finding belongs to.
    pub check: u8,
    /// Name of the finding.
    pub what: String,
    /// A name, or an address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Bytes that are sent once connected.
    pub say: Vec<u8>,
    /// Milliseconds allowed for look-up, connection and answer, each counted separately.
    pub wait_ms: u64,
}

/// Result of one thing that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Number of the barrier's check that it belongs to.
    pub check: u8,
    /// What was tried: the name from the plan, or else the runner's.
    pub what: String,
    /// What came of it: a value that was read, a word such as [`OPEN`] or `refused`, an error's name, an HTTP status or a TLS alert.
    pub seen: String,
}

impl Finding {
    /// A finding of check number `check`: `what` was tried, and `seen` came of it.
    pub fn new(check: u8, what: impl Into<String>, seen: impl Into<String>) -> Self {
        Self { check, what: what.into(), seen: seen.into() }
    }
}
