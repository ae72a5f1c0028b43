//! `/deny`: takes back a host that `/allow` granted.

use super::host;
use super::spec::{Argument, Spec, Strength, Who};
use domain::Verb;

pub(super) const SPEC: Spec = Spec {
    name: "deny",
    syntax: "/deny host[:port]",
    who: Who::Writer,
    effect: "takes that back, and cuts open connections to it",
    strength: Strength::Work,
    options: &[],
    read,
};

fn read(argument: &Argument<'_>) -> Result<Verb, String> {
    let mut parts = argument.line().split_whitespace();
    let first = parts.next().ok_or(host::MISSING)?;
    if parts.next().is_some() {
        return Err(host::ONE.to_owned());
    }
    Ok(Verb::Deny { host: host::rule(first)?.to_string(), kept: false })
}
