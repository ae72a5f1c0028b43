//! Names for what reads pushes, shown to people: by id, host and a digest, never by the address, which may contain a secret. Must not
//! decide what is accepted: the operator does by name. Tests: below.

use sha2::{Digest, Sha256};
use url::{Host, Url};

/// `hook 3` and its address, as `hook 3 to ci.example (3fa9c1d2)`: the host, and the first 8 hexadecimal digits of the whole
/// address's SHA-256, so that another address of the same host has another name.
pub fn listener(what: &str, address: &str) -> String {
    let host = Url::parse(address).ok().and_then(|url| url.host().map(|host: Host<&str>| host.to_string()));
    let host = host.unwrap_or_else(|| "an address that cannot be read".to_owned());
    format!("{what} to {host} ({})", hex::encode(&Sha256::digest(address)[..4]))
}

/// Whether the operator accepted it by this name, or by the whole address as in earlier versions.
pub fn is_accepted(name: &str, accepted: &[String]) -> bool {
    accepted.iter().any(|entry| named(entry) == name)
}

/// An accepted entry in its present form, even if an earlier version stored the whole address. A name without a digest is unchanged and
/// matches nothing.
pub fn named(entry: &str) -> String {
    let kinds = ["hook ", "organisation hook ", "push mirror"];
    match entry.rsplit_once(' ') {
        Some((what, address)) if !what.contains(" to") && kinds.iter().any(|kind| what.starts_with(kind)) => {
            listener(what, address)
        }
        _ => entry.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_named_by_its_host_and_a_digest_alone() {
        let address = "https://user:pass@ci.example:8443/build/s3cret?token=x";
        let digest = hex::encode(Sha256::digest(address));
        assert_eq!(listener("hook 3", address), format!("hook 3 to ci.example ({})", &digest[..8]));
        assert!(listener("hook 3", "no address/s3cret").starts_with("hook 3 to an address that cannot be read ("));
    }

    #[test]
    fn another_address_of_the_same_host_was_not_accepted() {
        let (one, two) = ("https://m.example/ours/x.git", "https://m.example/theirs/x.git");
        for accepted in [listener("push mirror", one), format!("push mirror {one}")] {
            let accepted = [accepted];
            assert!(is_accepted(&listener("push mirror", one), &accepted));
            assert!(!is_accepted(&listener("push mirror", two), &accepted));
        }
        assert!(!is_accepted(&listener("hook 3", one), &["hook 3 to m.example".to_owned()]), "a host is no address");
        for (one, two) in [("git@m.example:a", "git@m.example:b"), ("odd", "other")] {
            assert!(!is_accepted(&listener("push mirror", two), &[format!("push mirror {one}")]));
        }
    }

    #[test]
    fn what_was_accepted_by_its_whole_address_stays_accepted() {
        let hook = "https://ci.example/s3cret";
        let accepted = [format!("hook 3 {hook}"), format!("organisation hook 5 {hook}")];
        assert!(is_accepted(&listener("hook 3", hook), &accepted));
        assert!(is_accepted(&listener("organisation hook 5", hook), &accepted));
        assert!(!is_accepted(&listener("hook 4", hook), &accepted));
        assert!(is_accepted("actions", &["actions".to_owned()]) && !is_accepted("actions", &accepted));
    }
}
