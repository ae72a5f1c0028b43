//! Host names for a person who has to judge them.

use super::markdown::code;

/// A host name in its ASCII form, and the domain under which it was registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostName {
    /// Lower case, punycode for anything beyond ASCII.
    pub ascii: String,
    /// The last two labels, or three under suffixes such as `co.uk`. Without the public suffix list this is a guess, only for display and
    /// never used to allow anything.
    pub registrable: String,
}

/// Second-level labels under which country registries sell names.
const SHARED_SECOND: [&str; 10] = ["ac", "co", "com", "edu", "go", "gov", "ne", "net", "or", "org"];

/// Parses a host name; `None` for any other text, which the caller shows as code.
pub fn host_name(text: &str) -> Option<HostName> {
    let ascii = match url::Host::parse(text.trim_end_matches('.')) {
        Ok(url::Host::Domain(name)) => name,
        Ok(address) => {
            let address = address.to_string();
            return Some(HostName { registrable: address.clone(), ascii: address });
        }
        Err(_) => return None,
    };
    if ascii.is_empty() || ascii.len() > 253 {
        return None;
    }
    let labels: Vec<&str> = ascii.split('.').collect();
    let shared = labels.len() >= 3
        && labels.last().is_some_and(|top| top.len() == 2)
        && SHARED_SECOND.contains(&labels[labels.len() - 2]);
    let keep = if shared { 3 } else { 2 };
    let registrable = labels[labels.len().saturating_sub(keep)..].join(".");
    Some(HostName { ascii, registrable })
}

impl HostName {
    /// `` `cdn.example.com:443` (of `example.com`) ``; the part in parentheses only where it adds information.
    pub fn shown(&self, port: Option<u16>) -> String {
        let name = match port {
            Some(port) => code(&format!("{}:{port}", self.ascii)),
            None => code(&self.ascii),
        };
        if self.registrable == self.ascii { name } else { format!("{name} (of {})", code(&self.registrable)) }
    }
}

/// A rule of the router (`host`, `host:port`, `*.suffix`) for a person: in punycode, with the registered domain.
pub fn rule_shown(rule: &str) -> String {
    let (name, port) = rule.rsplit_once(':').map_or((rule, None), |(name, port)| (name, Some(port)));
    let port = port.map(str::parse::<u16>).transpose().ok();
    match (host_name(name), port) {
        (Some(host), Some(port)) if !name.contains('*') => host.shown(port),
        _ => code(rule),
    }
}
