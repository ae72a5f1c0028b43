//! The proxies that git asks for other machines.
//!
//! Owns which variables of our environment name one, and for which servers none is asked. Tests: below.

use std::ffi::{OsStr, OsString};

use url::Url;

/// Variables by which git finds a proxy; the one that exempts servers is `no_proxy`.
const PROXIES: &[&str] = &["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];

/// Servers on this machine, for which no proxy is asked: it would be told the forge's tokens. A libcurl before 7.86 knows no ranges.
const WITHOUT_PROXY: &str = "localhost,127.0.0.1,127.0.0.0/8,::1";

/// What git is told of the proxies that `of` names.
pub(super) fn passed_on(of: &dyn Fn(&str) -> Option<OsString>) -> Vec<(&'static str, OsString)> {
    let mut all = Vec::new();
    for &variable in PROXIES {
        let Some(value) = of(variable) else { continue };
        if is_proxy(&value) {
            all.push((variable, value));
        } else {
            tracing::warn!(variable, "names no address of a proxy, so git asks none; write / in a password as %2F");
        }
    }
    if !all.is_empty() {
        let without = match of("no_proxy").or_else(|| of("NO_PROXY")) {
            None => WITHOUT_PROXY.into(),
            // Alone it stands for every server.
            Some(own) if own == "*" => own,
            Some(own) => [OsString::from(WITHOUT_PROXY), own].join(OsStr::new(",")),
        };
        all.push(("no_proxy", without));
    }
    all
}

/// Whether it is the address of a proxy. Of one that is none git would tell a part in its error, where a password may stand.
fn is_proxy(value: &OsStr) -> bool {
    let Some(text) = value.to_str() else { return false };
    let whole = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let has_user = |url: &Url| !url.username().is_empty() || url.password().is_some();
    Url::parse(&whole).is_ok_and(|url| url.has_host() && (!text.contains('@') || has_user(&url)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What git is told where these are the variables.
    fn of(variables: &[(&str, &str)]) -> Vec<String> {
        let found = |name: &str| variables.iter().find(|(known, _)| *known == name);
        let all = passed_on(&|name: &str| found(name).map(|(_, value)| OsString::from(*value))).into_iter();
        all.map(|(name, value)| format!("{name}={}", value.display())).collect()
    }

    #[test]
    fn a_proxy_is_asked_for_other_machines_alone() {
        assert!(of(&[("no_proxy", "a.test")]).is_empty());
        let proxy = ("https_proxy", "http://proxy.test:3128");
        let with = |without: &str| vec!["https_proxy=http://proxy.test:3128".to_owned(), format!("no_proxy={without}")];
        assert_eq!(of(&[proxy]), with("localhost,127.0.0.1,127.0.0.0/8,::1"));
        assert_eq!(of(&[proxy, ("NO_PROXY", "a.test")]), with("localhost,127.0.0.1,127.0.0.0/8,::1,a.test"));
        assert_eq!(of(&[proxy, ("NO_PROXY", "a.test"), ("no_proxy", "*")]), with("*"));
    }

    #[test]
    fn what_git_would_tell_a_part_of_in_its_error_is_no_proxy() {
        for broken in [
            "http://me:pass/word@proxy.test:3128",
            "http://me:1/word@proxy.test",
            "me:pass#word@proxy.test",
            "http://me:word@",
        ] {
            assert!(of(&[("https_proxy", broken)]).is_empty(), "{broken}");
        }
        for right in
            ["proxy.test:3128", "socks5h://me:word@proxy.test", "http://:word@10.0.0.1:80/", "http://[::1]:3128"]
        {
            assert_eq!(of(&[("all_proxy", right)])[0], format!("all_proxy={right}"));
        }
    }
}
