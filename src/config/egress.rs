//! What the operator allows and denies, as rules.

use super::process::Egress;
use protocol::router::Rule;

impl Egress {
    /// What the operator allows every task, without presets; those that say why come first.
    pub fn allowed(&self) -> Vec<Rule> {
        self.read(false, &self.allow, "allowed by the operator")
    }

    /// What the operator denies, whoever allows it.
    pub fn denied(&self) -> Vec<Rule> {
        self.read(true, &self.deny, "")
    }

    /// The names that are allowed, as they were written.
    pub fn allowed_words(&self) -> Vec<String> {
        let own = self.rules.iter().filter(|rule| !rule.deny).map(|rule| &rule.host);
        own.chain(&self.allow).cloned().collect()
    }

    /// Whatever can't be read was refused when the file was loaded.
    fn read(&self, deny: bool, list: &[String], reason: &str) -> Vec<Rule> {
        let own = self.rules.iter().filter(|rule| rule.deny == deny).filter_map(|rule| rule.rule().ok());
        own.chain(list.iter().filter_map(|text| Some(Rule::parse(text).ok()?.because(reason)))).collect()
    }
}
