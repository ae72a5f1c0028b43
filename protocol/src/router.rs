//! The protocol between the host and the router, and the policy by which both judge names.
//!
//! Frames are those of [`crate::frame`] with a JSON head and no body, over the router's stdin (orders) and stdout (answers).
//! The host sends `Hello` first; a router denies everything until it has a `Policy` and a subnet's `Grant`.
//! This module must not do I/O. Tests: `rule.rs`, `net.rs`, and at the end of this file.

mod net;
mod rule;

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

pub use net::{Bogons, Net, NetError, Pool, SPECIAL, SUBNET_PREFIX, SYNTHETIC};
pub use rule::{Rule, RuleError, check_name, public_suffix};

/// Version of this protocol; a router refuses a `Hello` with another one.
pub const VERSION: u32 = 1;
/// Prefix of an entry in an operator's list of rules that names a preset, filled from the configuration of the operator's own tools.
pub const PRESET: &str = "preset:";
/// The most new connections at once from one subnet that the firewall lets through; above any cap, so that the cap gives the reason.
pub const SUBNET_CONNECTIONS: u32 = 1024;
/// Reason in the log of what came from a closed subnet: it says nothing about the host, which the subnet's rules may allow.
pub const SUBNET_CLOSED: &str = "the subnet is closed";
/// The largest message either side accepts, in bytes.
pub const MAX_PAYLOAD: usize = 1 << 20;

/// Messages of the host to the router.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToRouter {
    /// Begins a control connection and closes all subnets that are not in `keep`. The answer repeats the nonce; anything before it was
    /// meant for another host.
    Hello {
        /// The host's [`VERSION`].
        version: u32,
        /// Random number that the answer repeats.
        nonce: u64,
        /// Numbers of the subnets that stay open.
        keep: Vec<u32>,
    },
    /// Sets the rules for every subnet; a generation at or below the current one is refused.
    Policy {
        /// Number of this policy, counted up by the host.
        generation: u64,
        /// The policy, which replaces the one before.
        policy: Policy,
    },
    /// Replaces the rules of one subnet and opens it. Answered by `Granted` with the same serial.
    Grant {
        /// Number of the subnet, counted from 0.
        #[serde(rename = "berth")]
        subnet: u32,
        /// Number that the answer repeats, counted up by the host.
        serial: u64,
        /// The subnet's own rules: its refusals ([`Rule::refusing`]), judged after the policy's `deny`, and what it may reach besides the
        /// policy's `allow`.
        rules: Vec<Rule>,
    },
    /// Cuts the subnet's connections, forgets its names and denies everything. Answered by `Closed`.
    Close {
        /// Number of the subnet, counted from 0.
        #[serde(rename = "berth")]
        subnet: u32,
    },
    /// Asks for the log entries after this number, then for every new one.
    Log {
        /// Number of the last entry that the host has; 0, or more than the router's newest, sends all that are kept.
        after: u64,
    },
}

/// Messages of the router to the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromRouter {
    /// Answers `Hello`.
    Hello {
        /// The router's [`VERSION`].
        version: u32,
        /// The nonce of the `Hello` that this answers.
        nonce: u64,
        /// Id of this start of the router, 16 random bytes in hexadecimal; log numbers and grants of another start are void.
        boot: String,
        /// Generation of the policy in force; 0 = none came since the start.
        generation: u64,
    },
    /// Answers `Policy`: it is in force.
    Applied {
        /// The generation of that policy.
        generation: u64,
    },
    /// Answers `Grant`: the subnet is open under the granted rules.
    Granted {
        /// Number of the subnet, counted from 0.
        #[serde(rename = "berth")]
        subnet: u32,
        /// The serial of that `Grant`.
        serial: u64,
    },
    /// Answers `Close`: the subnet's connections have ended, and all its log entries were sent before this.
    Closed {
        /// Number of the subnet, counted from 0.
        #[serde(rename = "berth")]
        subnet: u32,
    },
    /// One entry of the log; none is sent before [`ToRouter::Log`] asks for them.
    Entry(LogEntry),
    /// A message was not obeyed; it opened nothing.
    Failed {
        /// Why it was not obeyed, for a person.
        reason: String,
    },
}

/// Result of a look-up or a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The rules allowed it and no later check refused it, even if either side broke it off or the subnet was closed.
    Allowed,
    /// Refused by a rule, a cap or a check of the traffic, or cut off later because it was no longer allowed or reached its byte cap.
    Denied,
    /// Allowed, but the other side couldn't be resolved or reached.
    Failed,
}

/// One connection, one denied name, or several similar ones (`count` above 1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogEntry {
    /// Number of the entry, counted from 1 in one start of the router; a gap means entries that the ring buffer dropped.
    pub seq: u64,
    /// Unix milliseconds.
    pub ts: i64,
    /// Number of the subnet it came from.
    #[serde(rename = "berth")]
    pub subnet: u32,
    /// What the router decided.
    pub verdict: Verdict,
    /// The rule that decided, as written; none if no rule matched, or for many different events in one entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Reason of that rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// The name asked for; empty when none could be told (a direct address, or many names in one entry).
    pub host: String,
    /// TCP port; 0 for a look-up.
    pub port: u16,
    /// The name inside TLS or in the Host header, where it was seen. Untrusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sni: Option<String>,
    /// Address that was connected to, or the last one that was tried or refused; `None` = none, or several events in one entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<Ipv4Addr>,
    /// Bytes from the sandbox.
    pub up: u64,
    /// Bytes to the sandbox.
    pub down: u64,
    /// Milliseconds from its beginning to this entry; for several events, from the end of the first.
    pub ms: u64,
    /// Why it was refused, failed or broke off; empty if it ended normally.
    pub reason: String,
    /// How many events this entry stands for, at least 1.
    pub count: u64,
}

/// The rules for every subnet, judged in the order `deny`, the subnet's own refusals, `allow`, the subnet's other rules.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// The operator's refusals, judged before all other rules; a rule without a port refuses every port.
    pub deny: Vec<Rule>,
    /// Rules for every open subnet. The bot sends none: what the operator allows is in the grants of those subnets that may reach it.
    pub allow: Vec<Rule>,
    /// Networks that are refused after resolving, besides [`SPECIAL`] and those the router was started with.
    pub private: Vec<Net>,
    /// Limits for each subnet.
    pub caps: Caps,
    /// Byte caps for single rules, in place of those in `caps`.
    pub host_caps: Vec<HostCap>,
    /// Whether to refuse TLS whose ClientHello may encrypt another name (ECH). Browsers always send such a hello, with random content.
    pub refuse_ech: bool,
}

/// Limits for each subnet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Caps {
    /// Connections open at once.
    pub connections: u32,
    /// Names resolved and remembered at once.
    pub names: u32,
    /// New names under wildcards per minute; each carries up to about 240 bytes of data, in any number of labels, to its owner's name server.
    pub wildcard_names_per_minute: u32,
    /// Bytes from the sandbox for each rule since the subnet was opened.
    pub up: u64,
    /// Bytes to the sandbox for each rule since the subnet was opened.
    pub down: u64,
}

impl Default for Caps {
    fn default() -> Caps {
        Caps { connections: 256, names: 2_000, wildcard_names_per_minute: 60, up: 256 << 20, down: 16 << 30 }
    }
}

/// Byte caps of one rule in each subnet, in place of [`Caps::up`] and [`Caps::down`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostCap {
    /// The rule as [`Rule`] displays it, port included if it has one.
    pub rule: String,
    /// Most bytes from the sandbox since its subnet was opened.
    pub up: u64,
    /// Most bytes to the sandbox since its subnet was opened.
    pub down: u64,
}

/// The policy's decision about a name or a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision<'a> {
    /// Allowed, by this rule.
    Allow(&'a Rule),
    /// Not allowed.
    Deny {
        /// The rule of the deny list, or the subnet's refusal, that refused; `None` = no rule allows it.
        rule: Option<&'a Rule>,
        /// Why, as it appears in the log.
        reason: &'static str,
    },
}

impl Policy {
    /// Whether this subnet, with its own `granted` rules, may connect to the name at the port.
    #[must_use]
    pub fn judge<'a>(&'a self, granted: &'a [Rule], name: &str, port: u16) -> Decision<'a> {
        let own = || granted.iter().find(|rule| rule.refuses(name, port));
        if let Some(rule) = self.deny.iter().find(|rule| rule.denies(name, port)).or_else(own) {
            return Decision::Deny { rule: Some(rule), reason: "denied by the operator" };
        }
        match self.allow.iter().chain(granted).find(|rule| rule.allows(name, port)) {
            Some(rule) => Decision::Allow(rule),
            None if self.named(granted, name).is_some() => Decision::Deny { rule: None, reason: "port not allowed" },
            None => Decision::Deny { rule: None, reason: "host not allowed" },
        }
    }

    /// Whether the name may be looked up: [`Policy::judge`] would allow it at some port.
    #[must_use]
    pub fn judge_name<'a>(&'a self, granted: &'a [Rule], name: &str) -> Decision<'a> {
        let own = || granted.iter().find(|rule| rule.port.is_none() && rule.refuses_name(name));
        if let Some(rule) = self.deny.iter().find(|rule| rule.port.is_none() && rule.covers(name)).or_else(own) {
            return Decision::Deny { rule: Some(rule), reason: "denied by the operator" };
        }
        match self.named(granted, name) {
            Some(rule) => Decision::Allow(rule),
            None => Decision::Deny { rule: None, reason: "host not allowed" },
        }
    }

    /// An exact rule is preferred to a wildcard, so that only names that need a wildcard count against its limit.
    fn named<'a>(&'a self, granted: &'a [Rule], name: &str) -> Option<&'a Rule> {
        let all = || self.allow.iter().chain(granted).filter(|rule| rule.covers(name));
        all().find(|rule| !rule.is_wildcard()).or_else(|| all().next())
    }

    /// The byte caps (up, down) that apply to one rule.
    #[must_use]
    pub fn bytes_for(&self, rule: &str) -> (u64, u64) {
        let own = self.host_caps.iter().find(|cap| cap.rule == rule);
        own.map_or((self.caps.up, self.caps.down), |cap| (cap.up, cap.down))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(texts: &[&str]) -> Vec<Rule> {
        texts.iter().map(|text| Rule::parse(text).unwrap()).collect()
    }

    #[test]
    fn deny_wins_then_allow_then_grants() {
        let policy =
            Policy { deny: rules(&["bad.a.test", "ok.test:80"]), allow: rules(&["*.a.test"]), ..Policy::default() };
        let granted = rules(&["bad.a.test", "ok.test", "git.test:22"]);
        let allowed = |name: &str, port| matches!(policy.judge(&granted, name, port), Decision::Allow(_));
        assert!(allowed("x.a.test", 443) && allowed("ok.test", 443) && allowed("git.test", 22));
        assert!(!allowed("bad.a.test", 443) && !allowed("ok.test", 80) && !allowed("git.test", 443));
        let Decision::Deny { reason, .. } = policy.judge(&granted, "git.test", 23) else { panic!() };
        assert_eq!(reason, "port not allowed");
        assert!(matches!(policy.judge_name(&granted, "bad.a.test"), Decision::Deny { rule: Some(_), .. }));
        assert!(matches!(policy.judge_name(&granted, "ok.test"), Decision::Allow(_)));
        assert!(matches!(policy.judge_name(&granted, "other.test"), Decision::Deny { rule: None, .. }));
    }

    #[test]
    fn a_subnets_refusal_wins_over_the_policy_and_over_its_own_grants() {
        let policy = Policy { allow: rules(&["*.a.test", "b.test"]), ..Policy::default() };
        let refusals = rules(&["*.bad.a.test", "b.test:80", "c.test"]).into_iter().map(Rule::refusing);
        let granted: Vec<Rule> = rules(&["x.bad.a.test", "c.test", "d.test"]).into_iter().chain(refusals).collect();
        let allowed = |name: &str, port| matches!(policy.judge(&granted, name, port), Decision::Allow(_));
        assert!(allowed("x.a.test", 443) && allowed("bad.a.test", 443) && allowed("b.test", 443));
        assert!(allowed("d.test", 80) && !allowed("b.test", 80));
        for name in ["x.bad.a.test", "y.bad.a.test", "c.test"] {
            assert!(!allowed(name, 443) && !allowed(name, 8443), "{name}");
            let Decision::Deny { rule: Some(_), reason } = policy.judge_name(&granted, name) else { panic!("{name}") };
            assert_eq!(reason, "denied by the operator");
        }
        assert!(matches!(policy.judge_name(&granted, "b.test"), Decision::Allow(_)), "443 is not refused");
        assert!(matches!(policy.judge(&[], "x.bad.a.test", 443), Decision::Allow(_)), "another subnet's");
    }

    #[test]
    fn messages_survive_the_wire() {
        let message = ToRouter::Policy {
            generation: 3,
            policy: Policy { private: vec!["10.1.0.0/16".parse().unwrap()], ..Policy::default() },
        };
        let text = serde_json::to_string(&message).unwrap();
        assert_eq!(serde_json::from_str::<ToRouter>(&text).unwrap(), message);
        assert!(serde_json::from_str::<Policy>(r#"{"alow":[]}"#).is_err());
    }
}
