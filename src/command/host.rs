//! A host as `/allow` and `/deny` name it. Pure.

use crate::text::host_name;
use protocol::router::Rule;

pub(super) const MISSING: &str = "name the host after it";
pub(super) const ONE: &str = "one host at a time";

/// Reads a host as a rule, a name in any script by its punycode form. Errors come from the parser of rules.
pub(super) fn rule(text: &str) -> Result<Rule, String> {
    let text = text.trim_matches('`');
    let (name, port) = text.rsplit_once(':').map_or((text, None), |(name, port)| (name, Some(port)));
    let (star, bare) = name.strip_prefix("*.").map_or(("", name), |bare| ("*.", bare));
    // An IP address is passed on as written, so that the parser of rules names it in its error.
    let ascii = if bare.is_ascii() { None } else { host_name(bare).map(|host| host.ascii) };
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    Rule::parse(&format!("{star}{}{port}", ascii.as_deref().unwrap_or(bare))).map_err(|error| error.to_string())
}
