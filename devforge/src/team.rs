//! Rights, and teams that give them by unit.

use std::collections::BTreeMap;

pub(crate) const CODE: &str = "repo.code";
pub(crate) const ISSUES: &str = "repo.issues";
pub(crate) const PULLS: &str = "repo.pulls";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    None,
    Read,
    Write,
    Admin,
    Owner,
}

#[derive(Debug, Clone)]
pub(crate) struct Team {
    pub id: i64,
    pub name: String,
    /// The mode of the team as a whole. Gitea 1.25 stores none below admin; teams that an older version made may have more.
    pub general: Access,
    pub units: BTreeMap<String, Access>,
    pub members: Vec<String>,
    /// The repositories' ids.
    pub repos: Vec<i64>,
}

impl Team {
    pub fn right(&self, unit: &str) -> Access {
        if self.general >= Access::Admin {
            return self.general;
        }
        self.units.get(unit).copied().unwrap_or(Access::None)
    }

    pub fn has(&self, login: &str) -> bool {
        self.members.iter().any(|m| m.eq_ignore_ascii_case(login))
    }
}
