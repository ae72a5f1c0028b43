//! `[repositories.egress]`: what the sandboxes of one repository may reach besides `[egress]`, and what they may not. Tests: `tests.rs`.

use protocol::router::{PRESET, Rule};
use serde::Deserialize;

/// The operator's hosts for one repository, added to those of every repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OwnEgress {
    /// Names that its sandboxes may reach, as in `egress.allow`, without presets.
    pub allow: Vec<String>,
    /// Names that its sandboxes may not reach, whoever allows them; written as in `allow`.
    pub deny: Vec<String>,
}

impl OwnEgress {
    /// Rules that allow.
    pub(super) fn allowed(&self) -> Vec<Rule> {
        read(&self.allow).map(|rule| rule.because("allowed by the operator for this repository")).collect()
    }

    /// Rules that deny.
    pub(super) fn denied(&self) -> Vec<Rule> {
        read(&self.deny).collect()
    }

    /// Everything wrong with it: the key, and what to write instead. `denied` is what no repository may reach.
    pub(super) fn problems(&self, denied: &[Rule]) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        for (key, list) in [("allow", &self.allow), ("deny", &self.deny)] {
            for text in list {
                if text.starts_with(PRESET) {
                    found.push((
                        key,
                        format!("`{text}` is for every repository: write it into [egress], or its hosts here"),
                    ));
                } else if let Err(why) = Rule::parse(text) {
                    found.push((key, why.to_string()));
                }
            }
        }
        for rule in read(&self.allow) {
            if let Some(deny) = denied.iter().find(|deny| deny.overrules(&rule)) {
                found.push((
                    "allow",
                    format!("`{rule}` is denied to every repository by `{deny}` in [egress]; remove one of them"),
                ));
            }
        }
        found
    }
}

/// Unreadable entries were refused when the file was loaded.
fn read(list: &[String]) -> impl Iterator<Item = Rule> {
    list.iter().filter_map(|text| Rule::parse(text).ok())
}
