//! `[egress]`: the operator's allowed and denied hosts, and as rules. Tests: at the end of this file, and `tests.rs`.

use super::presets::{self, Machine};
use super::rule::OperatorRule;
use protocol::router::{Caps, PRESET, Rule};
use serde::Deserialize;
use std::collections::BTreeMap;

/// `[egress]`: what sandboxes may reach.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Egress {
    /// Names that every sandbox may reach but one that reads a person's pull request: `host`, `host:port`, `*.suffix` or `preset:name`;
    /// empty = none.
    pub allow: Vec<String>,
    /// Names that no sandbox may reach, whoever allows them; written as in `allow`.
    pub deny: Vec<String>,
    /// `[[egress.rule]]`: rules with reasons.
    #[serde(default, rename = "rule")]
    pub rules: Vec<OperatorRule>,
    /// Networks, such as `10.1.0.0/16`, that no allowed name may resolve to, besides private and special ones.
    pub private_ranges: Vec<String>,
    /// Whether a TLS hello with an Encrypted Client Hello (ECH), which may hide another name, is refused.
    pub refuse_ech: bool,
    /// Upload to one host since the last checkpoint above which the review names the host, in KiB.
    pub upload_note_kib: u64,
    /// `[egress.caps]`: limits of each sandbox's connections, names and bytes.
    pub caps: Caps,
    /// No key of the file: the rules of each preset that `allow` or `deny` names, or why it has none.
    #[serde(skip)]
    pub presets: BTreeMap<String, Result<Vec<Rule>, String>>,
}

impl Egress {
    /// Reads the configuration of this machine's own tools for the presets that `allow` and `deny` name. A preset that cannot be read is
    /// one of [`Egress::faults`].
    pub(super) fn read_presets(&mut self, machine: &Machine<'_>) {
        let named = self.allow.iter().chain(&self.deny).filter_map(|text| text.strip_prefix(PRESET));
        self.presets = named.map(|name| (name.to_owned(), presets::rules(name, machine))).collect();
    }

    /// Rules that allow, presets included; those with reasons of their own come first, so that their reason is reported.
    pub fn allowed(&self) -> Vec<Rule> {
        self.read(false)
    }

    /// Rules that deny, with priority over all others. The hosts of a preset are denied at every port.
    pub fn denied(&self) -> Vec<Rule> {
        self.read(true)
    }

    /// The allowed names as written.
    pub fn allowed_words(&self) -> Vec<String> {
        let own = self.rules.iter().filter(|rule| !rule.deny).map(|rule| &rule.host);
        own.chain(&self.allow).cloned().collect()
    }

    /// What is no rule, or a preset without hosts, each with its key and what to write instead. Only presets can be among them once the
    /// file is loaded.
    pub fn faults(&self) -> Vec<String> {
        let tables = self.rules.iter().filter_map(|table| table.rule().err()).map(|why| format!("rule: {why}"));
        let allow = self.entries(false).filter_map(Result::err).map(|why| format!("allow: {why}"));
        let deny = self.entries(true).filter_map(Result::err).map(|why| format!("deny: {why}"));
        tables.chain(allow).chain(deny).collect()
    }

    /// Without what is one of [`Egress::faults`].
    fn read(&self, deny: bool) -> Vec<Rule> {
        let tables = self.rules.iter().filter(|table| table.deny == deny).filter_map(|table| table.rule().ok());
        tables.chain(self.entries(deny).filter_map(Result::ok).flatten()).collect()
    }

    /// The rules of each entry of `deny`, or of `allow`.
    fn entries(&self, deny: bool) -> impl Iterator<Item = Result<Vec<Rule>, String>> {
        let list = if deny { &self.deny } else { &self.allow };
        list.iter().map(move |text| self.entry(deny, text))
    }

    fn entry(&self, deny: bool, text: &str) -> Result<Vec<Rule>, String> {
        let Some(name) = text.strip_prefix(PRESET) else {
            let rule = Rule::parse(text).map_err(|error| error.to_string())?;
            return Ok(vec![if deny { rule } else { rule.because("allowed by the operator") }]);
        };
        let unread = || Err(format!("preset {name}: this machine's tools were not read"));
        let rules = self.presets.get(name).cloned().unwrap_or_else(unread)?;
        Ok(rules.into_iter().map(|rule| if deny { Rule { port: None, ..rule } } else { rule }).collect())
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Process;
    use crate::config::presets::Machine;
    use crate::config::project::Granted;
    use protocol::router::Rule;
    use std::path::Path;

    /// A configuration of this table, on a machine whose npm and pip are configured for one host each.
    fn on_a_machine(table: &str) -> Process {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".npmrc"), "registry=https://npm.near.test/\n").unwrap();
        let variable = |name: &str| (name == "PIP_INDEX_URL").then(|| "https://pip.near.test/simple".to_owned());
        let mut config = Process::from_layers(Path::new("/x/caisson.toml"), table, &|_| None).unwrap();
        config.egress.read_presets(&Machine { root: folder.path(), home: folder.path(), variable: &variable });
        config
    }

    #[test]
    fn the_hosts_of_a_preset_are_known_wherever_rules_are_asked_for() {
        let config = on_a_machine("[egress]\nallow = [\"a.test\", \"preset:npm\"]\ndeny = [\"preset:pypi\"]\n");
        let granted = Granted::of(&config, "shop");
        let shown = |rule: &Rule| format!("{rule} ({})", rule.reason);
        let allowed: Vec<String> = granted.egress.iter().map(shown).collect();
        assert_eq!(allowed, ["a.test (allowed by the operator)", "npm.near.test:443 (preset npm)"]);
        let rule = |text: &str| Rule::parse(text).unwrap();
        assert!(granted.reaches(&rule("npm.near.test:443")) && !granted.reaches(&rule("pip.near.test:443")));
        let denied = config.denied_of("shop");
        let is_denied = |text: &str| denied.iter().any(|deny| deny.overrules(&rule(text)));
        assert!(is_denied("pip.near.test") && is_denied("pip.near.test:443") && is_denied("pip.near.test:8443"));
        assert!(!is_denied("npm.near.test") && config.egress.faults().is_empty());
    }

    #[test]
    fn a_preset_without_hosts_opens_nothing_and_is_a_fault() {
        let config = on_a_machine("[egress]\nallow = [\"preset:cargo\"]\ndeny = [\"preset:go\"]\n");
        assert!(config.allowed_of("shop").is_empty());
        let faults = config.egress.faults();
        let [allow, deny] = &faults[..] else { panic!("{faults:?}") };
        assert!(allow.starts_with("allow: preset cargo: no host") && deny.starts_with("deny: preset go: no host"));
    }
}
