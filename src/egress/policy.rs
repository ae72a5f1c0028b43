//! Builds the policy from the operator's configuration. All unreadable entries are reported; one refuses the whole policy.
//!
//! Tests: `tests.rs`.

use protocol::router::{Net, Policy, Rule};

use crate::config::process::Egress;

/// Unreadable rules of the operator, each with what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("[egress] {}", .0.join("; "))]
pub struct BadPolicy(pub Vec<String>);

/// Reads `egress.rule` (each with its reason), `egress.allow`, `egress.deny` (rules, or `preset:cargo` and the like) and
/// `egress.private_ranges` (networks that no allowed name may resolve to, besides private and special ones). It allows nothing: what the
/// operator allows is granted to single subnets, because not every sandbox may reach it.
///
/// # Errors
/// [`BadPolicy`] with all errors at once.
pub fn policy(from: &Egress) -> Result<Policy, BadPolicy> {
    let mut faults = from.faults();
    let caps = from.rules.iter().filter_map(|table| table.cap(&table.rule().ok()?, from.caps));
    let mut policy = Policy {
        deny: from.denied(),
        caps: from.caps,
        host_caps: caps.collect(),
        refuse_ech: from.refuse_ech,
        ..Policy::default()
    };
    for net in from.private_ranges.iter().map(|text| text.parse::<Net>()) {
        match net {
            Ok(net) => policy.private.push(net),
            Err(why) => faults.push(format!("private_ranges: {why}")),
        }
    }
    if faults.is_empty() { Ok(policy) } else { Err(BadPolicy(faults)) }
}

/// The operator's rule that refuses everything this rule would allow, to be named in the refusal.
#[must_use]
pub fn overruled<'a>(denied: &'a [Rule], rule: &Rule) -> Option<&'a Rule> {
    denied.iter().find(|deny| deny.overrules(rule))
}
