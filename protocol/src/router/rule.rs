//! One rule of the egress policy: a host, or every name below a suffix, and a port.
//!
//! Owns the syntax of rules, their validation, and what they match. The errors are shown to people (`/allow`), so each says what to write
//! instead. Tests: at the end of this file, and properties in `router/tests/parsers.rs`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// First character of a host that a refusal names. No host name has it, so a router that knows no refusals refuses the whole grant.
const REFUSES: char = '!';

/// One rule, with its host in lower-case ASCII without a final dot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rule {
    /// Exact name, or `*.suffix` for every name below the suffix but not the suffix itself; with `!` in front a refusal
    /// ([`Rule::refusing`]).
    pub host: String,
    /// TCP port; without one a rule allows 443 and 80, and in a deny list refuses every port.
    #[serde(default)]
    pub port: Option<u16>,
    /// Why the rule exists, shown in reviews and in the log.
    #[serde(default)]
    pub reason: String,
}

/// Why a text is no rule; the message says what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// The text is empty or nothing but white space.
    #[error("a rule names a host: write `host`, `host:port` or `*.suffix`")]
    Empty,
    /// It has a `/`, `@` or `?`; the text, cut at 100 characters.
    #[error("`{0}` is a URL; write the host alone, such as `docs.example.org` or `docs.example.org:8443`")]
    Url(String),
    /// It is an IPv4 or IPv6 address, in any spelling; the text, cut at 100 characters if it is long.
    #[error("`{0}` is an address; rules name hosts, because the router judges by name")]
    Address(String),
    /// What follows the colon is no number from 1 to 65535; that part, cut at 20 characters.
    #[error("`{0}` is no port; write a number from 1 to 65535")]
    Port(String),
    /// It has characters beyond ASCII; the text, cut at 100 characters.
    #[error("`{0}` isn't ASCII; write its punycode form (`xn--…`), so that look-alikes can be told apart")]
    NotAscii(String),
    /// It is no host name of at least two labels by RFC 1123; the name, cut at 100 characters, and what is wrong with
    /// it.
    #[error("`{0}` is no host name: {1}")]
    Name(String, &'static str),
    /// A `*` stands elsewhere than in front as `*.`; the text, cut at 100 characters.
    #[error("`*` stands only at the front, as `*.example.org`; `{0}` has it elsewhere")]
    Star(String),
    /// Anybody can register names below the suffix of this wildcard; the suffix without `*.`.
    #[error("`*.{0}` would allow names that anyone can register; name a host, or a suffix that one owner holds")]
    PublicSuffix(String),
}

/// Second-level labels under which country registries sell names.
const REGISTRY_LABELS: [&str; 16] =
    ["ac", "co", "com", "edu", "gob", "gov", "gv", "go", "id", "ltd", "mil", "ne", "net", "nom", "or", "org"];

/// Suffixes whose owners give names to anybody, so that a wildcard there allows anybody's host. The list is not complete; the operator or a
/// writer of the repository answers for the rule.
const SHARED_SUFFIXES: [&str; 28] = [
    "github.io",
    "githubusercontent.com",
    "gitlab.io",
    "pages.dev",
    "workers.dev",
    "r2.dev",
    "netlify.app",
    "vercel.app",
    "herokuapp.com",
    "amazonaws.com",
    "cloudfront.net",
    "elasticbeanstalk.com",
    "azurewebsites.net",
    "azureedge.net",
    "core.windows.net",
    "blob.core.windows.net",
    "cloudapp.net",
    "appspot.com",
    "web.app",
    "firebaseapp.com",
    "run.app",
    "fly.dev",
    "onrender.com",
    "ngrok.io",
    "ngrok.app",
    "trycloudflare.com",
    "fastly.net",
    "akamaized.net",
];

impl Rule {
    /// Reads `host`, `host:port`, `*.suffix` or `*.suffix:port`. Case and one final dot don't matter.
    ///
    /// # Errors
    /// A [`RuleError`] whose text says what to write instead.
    pub fn parse(text: &str) -> Result<Rule, RuleError> {
        let text = text.trim();
        let shown = || text.chars().take(100).collect::<String>();
        if text.is_empty() {
            return Err(RuleError::Empty);
        }
        if !text.is_ascii() {
            return Err(RuleError::NotAscii(shown()));
        }
        if text.contains('/') || text.contains('@') || text.contains('?') {
            return Err(RuleError::Url(shown()));
        }
        if text.starts_with('[') || text.matches(':').count() > 1 {
            return Err(RuleError::Address(shown()));
        }
        let (host, port) = match text.split_once(':') {
            Some((host, port)) => (host, Some(parse_port(port)?)),
            None => (text, None),
        };
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        let (name, wild) = match host.strip_prefix("*.") {
            Some(rest) => (rest, true),
            None => (host.as_str(), false),
        };
        if name.contains('*') {
            return Err(RuleError::Star(shown()));
        }
        check_name(name)?;
        if wild && public_suffix(name) {
            return Err(RuleError::PublicSuffix(name.to_owned()));
        }
        Ok(Rule { host, port, reason: String::new() })
    }

    /// The same rule with this [`Rule::reason`].
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Rule {
        self.reason = reason.into();
        self
    }

    /// The same rule as a refusal among a subnet's own rules, which is judged before everything that allows.
    #[must_use]
    pub fn refusing(mut self) -> Rule {
        if !self.is_refusal() {
            self.host.insert(0, REFUSES);
        }
        self
    }

    /// Whether it is a refusal; one allows nothing.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        self.host.starts_with(REFUSES)
    }

    /// The rule that a refusal was made of; a copy of any other rule.
    #[must_use]
    pub fn plain(&self) -> Rule {
        let host = self.host.strip_prefix(REFUSES).unwrap_or(&self.host).to_owned();
        Rule { host, port: self.port, reason: self.reason.clone() }
    }

    /// Whether the host is a `*.suffix`.
    #[must_use]
    pub fn is_wildcard(&self) -> bool {
        self.host.starts_with("*.")
    }

    /// Whether the rule matches this host at any port. `name` is lower case without a final dot.
    #[must_use]
    pub fn covers(&self, name: &str) -> bool {
        is_of(&self.host, name)
    }

    /// Whether it refuses, as part of a deny list, everything that the other rule would allow.
    #[must_use]
    pub fn overrules(&self, other: &Rule) -> bool {
        self.covers(&other.host) && (self.port.is_none() || self.port == other.port)
    }

    /// Whether it is a refusal of this host, whatever its port.
    #[must_use]
    pub fn refuses_name(&self, name: &str) -> bool {
        self.host.strip_prefix(REFUSES).is_some_and(|host| is_of(host, name))
    }

    /// Whether it is a refusal of this connection; without a port it refuses every port.
    #[must_use]
    pub fn refuses(&self, name: &str, port: u16) -> bool {
        self.refuses_name(name) && self.port.is_none_or(|own| own == port)
    }

    /// Whether it allows a connection; without a port it allows 443 and 80.
    #[must_use]
    pub fn allows(&self, name: &str, port: u16) -> bool {
        self.covers(name) && self.port.map_or(port == 443 || port == 80, |own| own == port)
    }

    /// Whether it refuses a connection as part of a deny list; without a port it refuses every port.
    #[must_use]
    pub fn denies(&self, name: &str, port: u16) -> bool {
        self.covers(name) && self.port.is_none_or(|own| own == port)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.host),
            None => f.write_str(&self.host),
        }
    }
}

/// Whether a name is this host, or below it where it is a `*.suffix`.
fn is_of(host: &str, name: &str) -> bool {
    match host.strip_prefix("*.") {
        // At least one label in front: `*.example.org` does not match `example.org`.
        Some(suffix) => name.strip_suffix(suffix).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
        None => name == host,
    }
}

fn parse_port(text: &str) -> Result<u16, RuleError> {
    let bad = || RuleError::Port(text.chars().take(20).collect());
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(bad());
    }
    text.parse().ok().filter(|port| *port != 0).ok_or_else(bad)
}

/// Checks for a full host name of letters, digits and hyphens (RFC 1123) with at least two labels, which is no address in any spelling.
///
/// # Errors
/// What is wrong with it.
pub fn check_name(name: &str) -> Result<(), RuleError> {
    let bad = |why| Err(RuleError::Name(name.chars().take(100).collect(), why));
    if name.is_empty() || name.len() > 253 {
        return bad("it must have 1 to 253 characters");
    }
    let labels: Vec<&str> = name.split('.').collect();
    for label in &labels {
        if label.is_empty() || label.len() > 63 {
            return bad("each part between dots must have 1 to 63 characters");
        }
        if !label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') {
            return bad("only letters, digits, hyphens and dots may stand in it");
        }
        if label.starts_with('-') || label.ends_with('-') {
            return bad("no part may begin or end with a hyphen");
        }
    }
    let last = labels[labels.len() - 1];
    // Resolvers read 1.2.3, 0x7f.1 and 127.1 as addresses, so the last label must not be a number.
    if last.bytes().all(|b| b.is_ascii_digit()) || last.starts_with("0x") {
        return Err(RuleError::Address(name.to_owned()));
    }
    if labels.len() < 2 {
        return bad("it needs a dot; a single word would be a machine of the local network");
    }
    Ok(())
}

/// Whether anybody can register names below this suffix, as far as known without the full list.
#[must_use]
pub fn public_suffix(name: &str) -> bool {
    let labels: Vec<&str> = name.split('.').collect();
    let country = labels.len() == 2 && labels[1].len() == 2 && REGISTRY_LABELS.contains(&labels[0]);
    labels.len() < 2 || country || SHARED_SUFFIXES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read() {
        let rule = Rule::parse(" Docs.Example.ORG. ").unwrap();
        assert_eq!((rule.host.as_str(), rule.port), ("docs.example.org", None));
        assert_eq!(Rule::parse("a.test:8443").unwrap().port, Some(8443));
        assert_eq!(Rule::parse("*.a.test:22").unwrap().to_string(), "*.a.test:22");
    }

    #[test]
    fn what_is_refused_says_why() {
        let cases = [
            ("", "names a host"),
            ("https://a.test/x", "host alone"),
            ("me@a.test", "host alone"),
            ("10.0.0.1", "is an address"),
            ("[::1]:80", "is an address"),
            ("0x7f.1", "is an address"),
            ("a.0x7f", "is an address"),
            ("a.test:0", "no port"),
            ("a.test:+1", "no port"),
            ("a.test:65536", "no port"),
            ("bücher.test", "punycode"),
            ("localhost", "needs a dot"),
            ("a..test", "between dots"),
            ("-a.test", "hyphen"),
            ("a_b.test", "only letters"),
            ("a.*.test", "at the front"),
            ("*", "at the front"),
            ("*.com", "needs a dot"),
            ("*.co.uk", "anyone can register"),
            ("*.github.io", "anyone can register"),
        ];
        for (text, expected) in cases {
            let error = Rule::parse(text).expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn what_a_rule_matches() {
        let wild = Rule::parse("*.a.test").unwrap();
        assert!(wild.allows("x.a.test", 443) && wild.allows("x.y.a.test", 80));
        assert!(!wild.covers("a.test") && !wild.covers("xa.test") && !wild.covers(".a.test"));
        let plain = Rule::parse("a.test").unwrap();
        assert!(!plain.allows("a.test", 22) && plain.denies("a.test", 22));
        let ssh = Rule::parse("a.test:22").unwrap();
        assert!(ssh.allows("a.test", 22) && !ssh.allows("a.test", 443) && !ssh.denies("a.test", 443));
    }
}
