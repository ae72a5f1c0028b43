//! The operator's rules of egress as data: which host, why, and examples that are checked when the file is loaded.
//!
//! Must not read presets (`presets.rs`) and must not judge a connection. Tests: `tests.rs`.

use protocol::router::{Caps, HostCap, PRESET, Rule};
use serde::Deserialize;

/// Characters of the longest reason: it stands in a line of the review and in each line of the router's log.
const MAX_REASON: usize = 120;

/// One `[[egress.rule]]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperatorRule {
    /// `host`, `host:port` or `*.suffix`; no preset.
    pub host: String,
    /// Why the rule stands, in one line of 1 to 120 characters; shown in the router's log and in reviews.
    pub reason: String,
    /// It refuses instead of allowing.
    #[serde(default)]
    pub deny: bool,
    /// `host` or `host:port` that the rule must match, with `!` in front that it must not.
    #[serde(default)]
    pub example: Vec<String>,
    /// Bytes, instead of those in `egress.caps`.
    #[serde(default)]
    pub up: Option<u64>,
    /// Bytes to the sandbox, as `up` for bytes from it.
    #[serde(default)]
    pub down: Option<u64>,
}

impl OperatorRule {
    /// # Errors
    /// What is wrong with its host, and what to write instead.
    pub fn rule(&self) -> Result<Rule, String> {
        if self.host.starts_with(PRESET) {
            return Err(format!("`{}` has its own reasons; write it into egress.allow", self.host));
        }
        Ok(Rule::parse(&self.host).map_err(|error| error.to_string())?.because(self.reason.as_str()))
    }

    /// Its own caps in bytes, if it has any.
    pub fn cap(&self, rule: &Rule, all: Caps) -> Option<HostCap> {
        let some = self.up.is_some() || self.down.is_some();
        let (up, down) = (self.up.unwrap_or(all.up), self.down.unwrap_or(all.down));
        some.then(|| HostCap { rule: rule.to_string(), up, down })
    }

    /// Everything wrong with it: the key, and what to do.
    pub(super) fn problems(&self) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        let reason = self.reason.trim();
        if reason.is_empty() || reason.chars().count() > MAX_REASON || reason.contains(char::is_control) {
            found.push(("reason", format!("say in one line of up to {MAX_REASON} characters why the rule stands")));
        }
        for (key, cap) in [("up", self.up), ("down", self.down)] {
            if cap == Some(0) || (cap.is_some() && self.deny) {
                found.push((key, "caps are bytes above 0, for a host that may be reached".to_owned()));
            }
        }
        match self.rule() {
            Ok(rule) => {
                found.extend(self.example.iter().filter_map(|line| Some(("example", self.differs(&rule, line)?))))
            }
            Err(why) => found.push(("host", why)),
        }
        found
    }

    /// Why the example is not what the rule says; none when it is.
    fn differs(&self, rule: &Rule, line: &str) -> Option<String> {
        let (text, wanted) = line.trim().strip_prefix('!').map_or((line, true), |text| (text, false));
        let name = match Rule::parse(text) {
            Ok(name) if !name.is_wildcard() => name,
            Ok(_) => {
                return Some(format!("`{line}` is a rule; an example is a name, such as `a{}`", &text.trim()[1..]));
            }
            Err(why) => return Some(why.to_string()),
        };
        let matches = match name.port {
            None => rule.covers(&name.host),
            Some(port) if self.deny => rule.denies(&name.host, port),
            Some(port) => rule.allows(&name.host, port),
        };
        let (must, not) = if wanted { ("must match", " not") } else { ("must not match", "") };
        (matches != wanted).then(|| format!("`{name}` {must}, but does{not}: {}", self.says(rule)))
    }

    /// The rule in words.
    fn says(&self, rule: &Rule) -> String {
        let whom = match rule.host.strip_prefix("*.") {
            Some(suffix) => format!("every name below `{suffix}`, not `{suffix}` itself,"),
            None => format!("`{}` and no other name", rule.host),
        };
        let ports = match (rule.port, self.deny) {
            (Some(port), _) => format!("port {port}"),
            (None, true) => "every port".to_owned(),
            (None, false) => "ports 443 and 80".to_owned(),
        };
        format!("`{rule}` {} {whom} on {ports}", if self.deny { "denies" } else { "allows" })
    }
}
