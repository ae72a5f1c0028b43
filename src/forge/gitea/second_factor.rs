//! What a Gitea that demands a second factor shows an account without one: repositories by their numbers, and nothing at their names.
//! Source: `repoAssignment` in `routers/api/v1/api.go` and `GetByID` in `routers/api/v1/repo/repo.go` of 1.25. Tests: `tests/setup/mend.rs`.

use super::Gitea;
use crate::forge::{ForgeError, ForgeReads, RepoRef};

impl Gitea {
    /// Why nothing is shown at the name of the repository with this number, in a sentence for a person; none where it is shown there, or is not at
    /// that name.
    pub async fn hidden_name(&self, repo: &RepoRef, id: i64) -> Option<String> {
        let found = self.locate(id).await.ok()?;
        let is_there = found.owner.eq_ignore_ascii_case(&repo.owner) && found.name.eq_ignore_ascii_case(&repo.name);
        let hidden = is_there && matches!(self.repository(repo).await, Err(ForgeError::NotFound(_)));
        hidden.then(|| {
            format!(
                "the forge shows {repo} to the bot's account by its number and nothing at its name, as Gitea does with `[security] \
                 TWO_FACTOR_AUTH = enforced` where an account has no second factor: enrol one for the account there (its token stays valid), or \
                 take that setting back"
            )
        })
    }
}
