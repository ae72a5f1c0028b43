//! How what reads a push is named where people can read it: by id and host, never by an address, which may hold a secret.
//! Must not say what may stay: the operator accepts by name. Tests: below.

use url::{Host, Url};

/// `hook 3` and its address, as `hook 3 to ci.example`.
pub fn listener(what: &str, address: &str) -> String {
    let host = Url::parse(address).ok().and_then(|url| url.host().map(|host: Host<&str>| host.to_string()));
    format!("{what} to {}", host.unwrap_or_else(|| "an address that cannot be read".to_owned()))
}

/// Whether the operator accepted it: by this name, or by the whole address, as earlier versions named it.
pub fn is_accepted(name: &str, accepted: &[String]) -> bool {
    accepted.iter().any(|entry| named(entry) == name)
}

/// What was accepted as it is named now, also where an earlier version wrote its address down.
pub fn named(entry: &str) -> String {
    let kinds = ["hook ", "organisation hook ", "push mirror"];
    match entry.rsplit_once(' ') {
        Some((what, address)) if !what.ends_with(" to") && kinds.iter().any(|kind| what.starts_with(kind)) => {
            listener(what, address)
        }
        _ => entry.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_named_by_its_host_alone() {
        let named = listener("hook 3", "https://user:pass@ci.example:8443/build/s3cret?token=x");
        assert_eq!(named, "hook 3 to ci.example");
        assert_eq!(listener("hook 3", "no address/s3cret"), "hook 3 to an address that cannot be read");
    }

    #[test]
    fn what_was_accepted_by_its_whole_address_stays_accepted() {
        let accepted = ["hook 3 https://ci.example/s3cret".to_owned(), "push mirror https://m.example/x".to_owned()];
        assert!(is_accepted("hook 3 to ci.example", &accepted));
        assert!(is_accepted("push mirror to m.example", &accepted));
        assert!(!is_accepted("hook 4 to ci.example", &accepted));
        assert!(!is_accepted("hook 3 to other.example", &accepted));
        assert!(is_accepted("hook 4 to ci.example", &["hook 4 to ci.example".to_owned()]));
        assert!(is_accepted("actions", &["actions".to_owned()]) && !is_accepted("actions", &accepted));
    }
}
