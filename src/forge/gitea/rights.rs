//! Rights to a repository's *code*: the forge's permission of a collaborator, and the units of teams. `permission` alone gives too little
//! for a team's member (Gitea since 1.24), or too much (a team of an older version, with one right for every unit). Must not guess: a team
//! whose members this account may not see is ignored. Tests: below, and the contract suite.

use super::raw::seg;
use super::reader::base;
use super::{Gitea, convert, wire};
use crate::forge::{Access, Account, ForgeError, RepoRef, Result};
use futures_util::future::try_join_all;

const CODE: &str = "repo.code";
const ISSUES: &str = "repo.issues";
const PULLS: &str = "repo.pulls";

/// A team with access to a repository, except administrators' teams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Team {
    id: i64,
    /// The team's name in its organisation.
    pub name: String,
    /// Its right to the code.
    pub code: Access,
    /// Its right to the issues; with write access its members can change texts of others there.
    pub issues: Access,
    /// Its right to the pull requests; with write access its members can change texts of others there.
    pub pulls: Access,
    /// Its general right, which the forge may include in a member's permission.
    general: Access,
}

/// Whether an account is in a team; unknown where the bot may not see the team.
type Member = Option<bool>;

impl Team {
    /// Whether its members may change texts of others, of an issue or of a pull request, and not the code.
    pub fn edits_alone(&self, is_pull: bool) -> bool {
        let texts = if is_pull { self.pulls } else { self.issues };
        texts >= Access::Write && self.code < Access::Write
    }

    /// Whether its members' permission may show write access without write access to the code.
    pub fn overstates(&self) -> bool {
        self.general >= Access::Write && self.code < Access::Write
    }
}

/// The right to the code, from the reported permission and the teams that could change it.
fn judge(told: Access, teams: &[(&Team, Member)]) -> Access {
    let given = teams.iter().filter(|(_, member)| *member == Some(true)).map(|(team, _)| team.code).max();
    let given = given.unwrap_or(Access::None);
    let doubted =
        told >= Access::Write && teams.iter().any(|(team, member)| team.overstates() && *member != Some(false));
    if doubted { given } else { told.max(given) }
}

impl Gitea {
    pub(super) async fn right(&self, repo: &RepoRef, account: &Account) -> Result<Access> {
        if account.id < 1 {
            return Ok(Access::None);
        }
        if let Some(right) = self.right_by_login(repo, account).await? {
            return Ok(right);
        }
        match self.renamed(account).await? {
            Some(now) => Ok(self.right_by_login(repo, &now).await?.unwrap_or(Access::None)),
            None => Ok(Access::None),
        }
    }

    /// The right of an account that has this login; none where nobody has it, or somebody else does.
    async fn right_by_login(&self, repo: &RepoRef, account: &Account) -> Result<Option<Access>> {
        let path = format!("{}/collaborators/{}/permission", base(repo), seg(&account.login));
        // In parallel, because a person waits for the answer.
        let (found, teams) = tokio::try_join!(self.raw.find::<wire::Permission>(&path), self.teams(repo))?;
        // A login can be given up and taken by somebody else, an id cannot.
        let has_it = |found: &wire::Permission| found.user.as_ref().is_some_and(|user| user.id == account.id);
        let Some(found) = found.filter(has_it) else { return Ok(None) };
        let told = convert::access(&found.permission);
        if told >= Access::Admin {
            return Ok(Some(told));
        }
        let matters = |team: &&Team| team.code > told || (told >= Access::Write && team.overstates());
        let asked = teams
            .iter()
            .filter(matters)
            .map(|team| async move { Ok::<_, ForgeError>((team, self.member(team, account).await?)) });
        Ok(Some(judge(told, &try_join_all(asked).await?)))
    }

    /// An account as it is called now, where it gave up its login; none where it did not, is gone, or is not shown.
    async fn renamed(&self, account: &Account) -> Result<Option<Account>> {
        let found: wire::Users = match self.raw.get(&format!("/users/search?uid={}", account.id)).await {
            // An administrator of the forge can switch this off.
            Err(ForgeError::NotFound(_) | ForgeError::Forbidden(_)) => return Ok(None),
            answer => answer?,
        };
        let now = found.data.into_iter().find(|user| user.id == account.id);
        let now = now.map(|user| Account { id: user.id, login: user.login });
        Ok(now.filter(|now| now.login != account.login))
    }

    /// The teams with access to a repository, without administrators' teams, whose members' permission is complete. None where no
    /// organisation owns it.
    pub async fn teams(&self, repo: &RepoRef) -> Result<Vec<Team>> {
        let found: Option<Vec<wire::Team>> = match self.raw.get(&format!("{}/teams", base(repo))).await {
            // 405: an account owns it. 404: it does not exist, which later queries report.
            Err(ForgeError::Conflict(_) | ForgeError::NotFound(_)) => None,
            answer => answer?,
        };
        Ok(found.unwrap_or_default().into_iter().map(read).filter(|team| team.general < Access::Admin).collect())
    }

    pub(super) async fn is_in_team(&self, organisation: &str, name: &str, account: &Account) -> Result<Member> {
        if account.id < 1 {
            return Ok(Some(false));
        }
        let listed: Vec<wire::Team> = match self.raw.pages(&format!("/orgs/{}/teams", seg(organisation))).await {
            // From an organisation's former name the forge redirects: whoever may take that is not who was meant.
            Err(ForgeError::NotFound(_) | ForgeError::Forbidden(_) | ForgeError::Moved(_)) => return Ok(None),
            answer => answer?,
        };
        // The forge takes names of one organisation's teams that differ only in case for the same.
        match listed.into_iter().map(read).find(|team| team.name.eq_ignore_ascii_case(name)) {
            Some(team) => self.member(&team, account).await,
            None => Ok(None),
        }
    }

    async fn member(&self, team: &Team, account: &Account) -> Result<Member> {
        let path = |login: &str| format!("/teams/{}/members/{}", team.id, seg(login));
        let mut found = self.raw.get::<wire::User>(&path(&account.login)).await;
        // From a login that was given up the forge redirects.
        if matches!(found, Err(ForgeError::Moved(_)))
            && let Some(now) = self.renamed(account).await?
        {
            found = self.raw.get(&path(&now.login)).await;
        }
        match found {
            Ok(user) => Ok(Some(user.id == account.id)),
            // Also the answer where the whole team is hidden.
            Err(ForgeError::NotFound(_)) => Ok(self.shows(team).await?.then_some(false)),
            Err(ForgeError::Forbidden(_) | ForgeError::Moved(_)) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Whether this account may see the members of a team.
    pub async fn shows(&self, team: &Team) -> Result<bool> {
        match self.raw.get::<wire::Team>(&format!("/teams/{}", team.id)).await {
            Ok(_) => Ok(true),
            Err(ForgeError::NotFound(_) | ForgeError::Forbidden(_)) => Ok(false),
            Err(e) => Err(e),
        }
    }
}

fn read(team: wire::Team) -> Team {
    let unit = |name: &str| team.units_map.get(name).map_or(Access::None, |word| convert::access(word));
    let (code, issues, pulls) = (unit(CODE), unit(ISSUES), unit(PULLS));
    Team { id: team.id, code, issues, pulls, general: convert::access(&team.permission), name: team.name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn team(code: Access, general: Access) -> Team {
        Team { id: 1, name: "t".into(), code, issues: Access::Write, pulls: Access::Read, general }
    }

    #[test]
    fn texts_are_edited_by_who_may_write_issues_or_pull_requests() {
        let issues = team(Access::Read, Access::None);
        assert_eq!([false, true].map(|is_pull| issues.edits_alone(is_pull)), [true, false]);
        let pulls = Team { issues: Access::Read, pulls: Access::Write, ..issues.clone() };
        assert_eq!([false, true].map(|is_pull| pulls.edits_alone(is_pull)), [false, true]);
        let writers = Team { code: Access::Write, ..pulls };
        assert_eq!([false, true].map(|is_pull| writers.edits_alone(is_pull)), [false; 2]);
    }

    #[test]
    fn a_team_gives_its_members_the_code_and_nobody_else() {
        let writers = team(Access::Write, Access::None);
        assert_eq!(judge(Access::None, &[(&writers, Some(true))]), Access::Write);
        assert_eq!(judge(Access::Read, &[(&writers, Some(false))]), Access::Read);
        assert_eq!(judge(Access::Read, &[(&writers, None)]), Access::Read, "not shown");
    }

    #[test]
    fn what_a_team_overstates_counts_for_nothing() {
        let old = team(Access::Read, Access::Write);
        assert_eq!(judge(Access::Write, &[(&old, Some(true))]), Access::Read);
        assert_eq!(judge(Access::Write, &[(&old, Some(false))]), Access::Write, "somebody else's team");
        assert_eq!(judge(Access::Write, &[(&old, None)]), Access::None, "who is in it is not shown");
        let writers = team(Access::Write, Access::Write);
        assert_eq!(judge(Access::Write, &[(&old, Some(true)), (&writers, Some(true))]), Access::Write);
    }
}
