//! Rights, and teams that give them by unit.

use std::collections::BTreeMap;

pub(crate) const CODE: &str = "repo.code";
pub(crate) const ISSUES: &str = "repo.issues";
pub(crate) const PULLS: &str = "repo.pulls";

/// Right of an account to a repository or to one unit of it; a later one includes the earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// No right; with none in any unit a private repository answers 404.
    None,
    /// May read, comment and review.
    Read,
    /// May push, merge, label, and edit what others wrote.
    Write,
    /// May also dismiss reviews and change collaborators, hooks and settings.
    Admin,
    /// Owner of the repository or of its organisation; site admins and members of a team of admins count as such.
    Owner,
}

#[derive(Debug, Clone)]
pub(crate) struct Team {
    pub id: i64,
    pub name: String,
    /// General right of the team; Gitea 1.25 stores none below admin, but teams of an older version may have more.
    pub general: Access,
    pub units: BTreeMap<String, Access>,
    pub members: Vec<String>,
    /// Ids of the repositories.
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
