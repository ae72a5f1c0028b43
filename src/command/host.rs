//! A host as `/allow` and `/deny` name it. Pure.

use crate::text::host_name;
use protocol::router::Rule;

pub(super) const MISSING: &str = "name the host after it";
pub(super) const ONE: &str = "one host at a time";

/// A host in any script becomes the rule of its punycode form; whatever else it is not is said by the rule's own reader.
pub(super) fn rule(text: &str) -> Result<Rule, String> {
    let text = text.trim_matches('`');
    let (name, port) = text.rsplit_once(':').map_or((text, None), |(name, port)| (name, Some(port)));
    let (star, bare) = name.strip_prefix("*.").map_or(("", name), |bare| ("*.", bare));
    // An address stays as it was written: the rule's reader names it.
    let ascii = if bare.is_ascii() { None } else { host_name(bare).map(|host| host.ascii) };
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    Rule::parse(&format!("{star}{}{port}", ascii.as_deref().unwrap_or(bare))).map_err(|error| error.to_string())
}
