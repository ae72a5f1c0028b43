//! Builds the policy from the operator's configuration. All unreadable entries are reported; one refuses the whole policy.
//!
//! Tests: `tests.rs`.

use std::path::{Path, PathBuf};

use protocol::router::{Net, PRESET, Policy, Rule};

use crate::config::process::Egress;

use super::presets::{self, Machine};

/// Unreadable rules of the operator, each with what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("[egress] {}", .0.join("; "))]
pub struct BadPolicy(pub Vec<String>);

/// Reads `egress.rule` (each with its reason), `egress.allow` (rules, or `preset:cargo` and the like: see `presets`), `egress.deny` and
/// `egress.private_ranges` (networks that no allowed name may resolve to, besides private and special ones). Rules with reasons come first,
/// so that their reason is reported.
///
/// # Errors
/// [`BadPolicy`] with all errors at once.
pub fn policy(from: &Egress) -> Result<Policy, BadPolicy> {
    let mut faults = Vec::new();
    let mut policy = Policy { caps: from.caps, refuse_ech: from.refuse_ech, ..Policy::default() };
    for table in &from.rules {
        match table.rule() {
            Ok(rule) => {
                policy.host_caps.extend(table.cap(&rule, from.caps));
                if table.deny { policy.deny.push(rule) } else { policy.allow.push(rule) }
            }
            Err(why) => faults.push(format!("rule: {why}")),
        }
    }
    for (field, texts, rules) in [("allow", &from.allow, &mut policy.allow), ("deny", &from.deny, &mut policy.deny)] {
        for read in texts.iter().map(|text| read(text, field)) {
            match read {
                Ok(read) => rules.extend(read),
                Err(why) => faults.push(format!("{field}: {why}")),
            }
        }
    }
    for net in from.private_ranges.iter().map(|text| text.parse::<Net>()) {
        match net {
            Ok(net) => policy.private.push(net),
            Err(why) => faults.push(format!("private_ranges: {why}")),
        }
    }
    if faults.is_empty() { Ok(policy) } else { Err(BadPolicy(faults)) }
}

/// One rule, or all of a `preset:name`.
fn read(text: &str, field: &str) -> Result<Vec<Rule>, String> {
    if let Some(name) = text.strip_prefix(PRESET) {
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_else(|| "/root".into());
        let variable = |name: &str| std::env::var(name).ok();
        return presets::rules(name, &Machine { root: Path::new("/"), home: &home, variable: &variable });
    }
    let rule = Rule::parse(text).map_err(|error| error.to_string())?;
    Ok(vec![if field == "allow" { rule.because("allowed by the operator") } else { rule }])
}

/// The operator's rule that refuses everything this rule would allow, to be named in the refusal.
#[must_use]
pub fn overruled<'a>(denied: &'a [Rule], rule: &Rule) -> Option<&'a Rule> {
    denied.iter().find(|deny| deny.overrules(rule))
}
