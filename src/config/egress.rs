//! The operator's allowed and denied hosts as rules.

use super::process::Egress;
use protocol::router::Rule;

impl Egress {
    /// Rules that allow, without presets; those with reasons come first.
    pub fn allowed(&self) -> Vec<Rule> {
        self.read(false, &self.allow, "allowed by the operator")
    }

    /// Rules that deny, with priority over all others.
    pub fn denied(&self) -> Vec<Rule> {
        self.read(true, &self.deny, "")
    }

    /// The allowed names as written.
    pub fn allowed_words(&self) -> Vec<String> {
        let own = self.rules.iter().filter(|rule| !rule.deny).map(|rule| &rule.host);
        own.chain(&self.allow).cloned().collect()
    }

    /// Unreadable entries were refused when the file was loaded.
    fn read(&self, deny: bool, list: &[String], reason: &str) -> Vec<Rule> {
        let own = self.rules.iter().filter(|rule| rule.deny == deny).filter_map(|rule| rule.rule().ok());
        own.chain(list.iter().filter_map(|text| Some(Rule::parse(text).ok()?.because(reason)))).collect()
    }
}
