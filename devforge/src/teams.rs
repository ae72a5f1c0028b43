//! Teams of an organisation with rights by unit, and what Gitea shows of them. `permission` of a collaborator shows only the coarse mode: a
//! team without admin right adds nothing to it, whatever its units are.

pub(crate) use crate::team::{CODE, ISSUES, PULLS, Team};
use crate::world::{Access, Repo, Result, World, refuse};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(crate) fn access_word(access: Access) -> &'static str {
    match access {
        Access::None => "none",
        Access::Read => "read",
        Access::Write => "write",
        Access::Admin => "admin",
        Access::Owner => "owner",
    }
}

pub(crate) fn access_of(word: &str) -> Access {
    match word {
        "read" => Access::Read,
        "write" => Access::Write,
        "admin" => Access::Admin,
        "owner" => Access::Owner,
        _ => Access::None,
    }
}

/// The unit of an issue's or a pull request's conversation.
pub(crate) fn unit_of(is_pull: bool) -> &'static str {
    if is_pull { PULLS } else { ISSUES }
}

impl World {
    /// Teams of an organisation with access to this repository and this member.
    fn teams_of<'a>(&'a self, repo: &'a Repo, login: &'a str) -> impl Iterator<Item = &'a Team> {
        let teams = self.find_account(&repo.owner).map_or(&[][..], |owner| &owner.teams[..]);
        teams.iter().filter(move |team| team.repos.contains(&repo.id) && team.has(login))
    }

    /// Whether this account is in the team of this name, which reaches this repository.
    pub fn is_in_team(&self, at: usize, name: &str, login: &str) -> bool {
        self.teams_of(&self.repos[at], login).any(|team| team.name.eq_ignore_ascii_case(name))
    }

    /// The permission that `collaborators/{login}/permission` shows.
    pub fn told_access(&self, repo: &Repo, login: Option<&str>) -> Access {
        let public = if repo.private { Access::None } else { Access::Read };
        let Some(account) = login.and_then(|l| self.find_account(l)) else { return public };
        let owners = self.find_account(&repo.owner).and_then(|o| o.owners.as_ref());
        let mut teams = self.teams_of(repo, &account.login);
        let owns = account.admin
            || repo.owner.eq_ignore_ascii_case(&account.login)
            || owners.is_some_and(|o| o.iter().any(|l| l == &account.login))
            || teams.any(|team| team.general >= Access::Admin);
        if owns {
            return Access::Owner;
        }
        let general = self.teams_of(repo, &account.login).map(|team| team.general).max().unwrap_or(Access::None);
        repo.collaborators.get(&account.login).copied().unwrap_or(Access::None).max(public).max(general)
    }

    /// The right of an account to one unit of a repository.
    pub fn unit_access(&self, repo: &Repo, login: Option<&str>, unit: &str) -> Access {
        let public = if repo.private { Access::None } else { Access::Read };
        let Some(account) = login.and_then(|l| self.find_account(l)) else { return public };
        if self.told_access(repo, login) == Access::Owner {
            return Access::Owner;
        }
        let own = repo.collaborators.get(&account.login).copied().unwrap_or(Access::None);
        let by_team = self.teams_of(repo, &account.login).map(|team| team.right(unit)).max();
        own.max(public).max(by_team.unwrap_or(Access::None))
    }

    /// Whether an account may see anything of a repository.
    pub fn sees(&self, repo: &Repo, login: Option<&str>) -> bool {
        [CODE, ISSUES, PULLS].iter().any(|unit| self.unit_access(repo, login, unit) > Access::None)
    }

    /// Whether an account may change what others wrote in a conversation.
    pub fn may_edit(&self, at: usize, actor: i64, is_pull: bool) -> bool {
        self.unit_access(&self.repos[at], Some(self.login_of(actor)), unit_of(is_pull)) >= Access::Write
    }

    pub fn team(&self, id: i64) -> Result<&Team> {
        let found = self.accounts.iter().flat_map(|a| &a.teams).find(|team| team.id == id);
        found.map_or_else(|| refuse(404, "The target couldn't be found."), Ok)
    }

    pub fn team_mut(&mut self, id: i64) -> Result<&mut Team> {
        let found = self.accounts.iter_mut().flat_map(|a| &mut a.teams).find(|team| team.id == id);
        found.map_or_else(|| refuse(404, "The target couldn't be found."), Ok)
    }

    pub fn add_team(&mut self, org: &str, name: &str, general: Access, units: BTreeMap<String, Access>) -> Result<i64> {
        if self.account(org)?.teams.iter().any(|team| team.name == name) {
            return refuse(422, format!("team already exists [name: {name}]"));
        }
        let id = self.id();
        let team = Team { id, name: name.to_owned(), general, units, members: Vec::new(), repos: Vec::new() };
        self.account_mut(org)?.teams.push(team);
        Ok(id)
    }

    pub fn team_json(&self, team: &Team) -> Value {
        let units: BTreeMap<&str, &str> = match team.general >= Access::Admin {
            true => [CODE, ISSUES, PULLS].map(|unit| (unit, access_word(team.general))).into(),
            false => team.units.iter().map(|(unit, access)| (unit.as_str(), access_word(*access))).collect(),
        };
        json!({
            "id": team.id, "name": team.name, "description": "", "organization": null, "includes_all_repositories": false,
            "permission": access_word(team.general), "units": units.keys().collect::<Vec<_>>(), "units_map": units,
            "can_create_org_repo": false,
        })
    }
}
