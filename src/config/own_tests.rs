//! `[repositories.tests]`: what the test runs of a repository may reach, by the operator's word alone. Tests: `tests/stories/test_network.rs`.

use protocol::router::Rule;
use serde::Deserialize;

/// What the operator grants to test runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OwnTests {
    /// Hosts, as in `egress.allow`, without presets; empty = test runs have no network.
    pub hosts: Vec<String>,
}

impl OwnTests {
    /// What is wrong with it.
    pub(super) fn problem(&self) -> Option<String> {
        self.hosts.iter().find_map(|host| Rule::parse(host).err().map(|why| format!("{host:?}: {why}")))
    }
}
