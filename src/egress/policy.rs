//! From the operator's words to a policy. Every word that can't be read is named; one bad rule refuses them all.
//!
//! Tests: `tests.rs`.

use std::path::{Path, PathBuf};

use protocol::router::{Net, PRESET, Policy, Rule};

use super::presets::{self, Machine};

/// The operator's rules that can't be read, each with what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("[egress] {}", .0.join("; "))]
pub struct BadPolicy(pub Vec<String>);

/// Reads `egress.allow` (rules, or `preset:cargo` and the like: see `presets`), `egress.deny` and `egress.private_ranges` (networks that no allowed name may resolve to, besides
/// private and special ones).
///
/// # Errors
/// [`BadPolicy`] with every fault at once.
pub fn policy(allow: &[String], deny: &[String], private_ranges: &[String]) -> Result<Policy, BadPolicy> {
    let mut faults = Vec::new();
    let mut rules = |field: &str, texts: &[String]| -> Vec<Rule> {
        let read = texts.iter().map(|text| read(text));
        read.filter_map(|rule| rule.map_err(|error| faults.push(format!("{field}: {error}"))).ok()).flatten().collect()
    };
    let (allow, deny) = (rules("allow", allow), rules("deny", deny));
    let nets = private_ranges.iter().map(|text| text.parse::<Net>());
    let private =
        nets.filter_map(|net| net.map_err(|error| faults.push(format!("private_ranges: {error}"))).ok()).collect();
    if faults.is_empty() { Ok(Policy { allow, deny, private, ..Policy::default() }) } else { Err(BadPolicy(faults)) }
}

/// One rule, or all of a `preset:name`.
fn read(text: &str) -> Result<Vec<Rule>, String> {
    if let Some(name) = text.strip_prefix(PRESET) {
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_else(|| "/root".into());
        let variable = |name: &str| std::env::var(name).ok();
        return presets::rules(name, &Machine { root: Path::new("/"), home: &home, variable: &variable });
    }
    let rule = Rule::parse(text).map_err(|error| error.to_string())?;
    Ok(vec![rule.because("the operator's configuration")])
}

/// This machine's own IPv4 addresses, loopback aside: public ones among them must be refused as well, or a sandbox could
/// reach the host by a name that points to it. For [`Policy::private`].
#[must_use]
pub fn own_addresses() -> Vec<Net> {
    let interfaces = nix::ifaddrs::getifaddrs().map(Iterator::collect::<Vec<_>>).unwrap_or_default();
    let addresses =
        interfaces.iter().filter_map(|interface| interface.address.as_ref()?.as_sockaddr_in().map(|v4| v4.ip()));
    addresses.filter(|ip| !ip.is_loopback()).filter_map(|ip| Net::new(ip, 32).ok()).collect()
}

/// The operator's rule that refuses everything this one would allow: who asks for it is told so.
#[must_use]
pub fn overruled<'a>(denied: &'a [Rule], rule: &Rule) -> Option<&'a Rule> {
    denied.iter().find(|deny| deny.covers(&rule.host) && (deny.port.is_none() || deny.port == rule.port))
}
