//! Merging the pull request of approved work on the forge, for a person who asked for it or whose final approval lets it follow.
//!
//! Everything that lets it happen is read right before: setting, pull request, rights, the base branch's rule. A try that was cut looks at
//! the pull request first. Tests: `tests/stories/merge.rs`.

use super::publish::Publisher;
use super::repository::{Repository, request};
use crate::forge::{Access, ForgeError, PullRequest};
use crate::trouble::Trouble;
use domain::{Account, Commit, GuardLack, Input, MergeBar, Merged, State, Task, To};
use std::time::Duration;

/// While the forge checks for conflicts it merges nothing, and says so.
const CHECKING: &str = "try again later";
const CHECK_TRIES: u32 = 20;
const CHECK_WAIT: Duration = Duration::from_millis(500);

impl Publisher {
    pub(super) async fn merge(
        &self,
        task: &Task,
        commit: &Commit,
        (asker, to): (&Account, To),
    ) -> Result<Input, Trouble> {
        let approved = matches!(&task.state, State::Approved { commit: approved, .. } if approved == commit);
        let Some(number) = task.pull.filter(|_| approved) else { return Ok(Input::Settled) };
        let repository = self.repositories.of(task)?;
        let pull = self.forge.pull(&repository.at, number).await?;
        if pull.merged || !pull.open {
            return Ok(self.closed(&pull, asker));
        }
        let why = match self.bar(task, &repository, (&pull, commit), asker).await? {
            Some(bar) => bar,
            None => match self.merged(&repository, number, commit).await? {
                Ok(pull) => return Ok(self.closed(&pull, asker)),
                Err(said) => MergeBar::Forge { said },
            },
        };
        Ok(Input::NotMerged { why, login: asker.login.clone(), to })
    }

    /// Merges it; the pull request afterwards, or what the forge said in refusal.
    async fn merged(
        &self,
        repository: &Repository,
        number: u64,
        commit: &Commit,
    ) -> Result<Result<PullRequest, String>, Trouble> {
        for left in (0..CHECK_TRIES).rev() {
            match self.forge.merge_pull(&repository.at, number, commit.as_str()).await {
                Ok(()) => break,
                Err(ForgeError::Conflict(said)) if left == 0 || !said.contains(CHECKING) => return Ok(Err(said)),
                Err(ForgeError::Conflict(_)) => tokio::time::sleep(CHECK_WAIT).await,
                Err(other) => return Err(other.into()),
            }
        }
        let pull = self.forge.pull(&repository.at, number).await?;
        match pull.merged {
            true => Ok(Ok(pull)),
            false => Err(Trouble::later("the forge does not show the merged pull request yet")),
        }
    }

    /// Why it may not be merged, as everything is now; none where it may.
    async fn bar(
        &self,
        task: &Task,
        repository: &Repository,
        (pull, commit): (&PullRequest, &Commit),
        asker: &Account,
    ) -> Result<Option<MergeBar>, Trouble> {
        let entry = self.repositories.configured(task)?;
        if let Some(bar) = self.config.merge_bar(&entry) {
            return Ok(Some(bar));
        }
        let branch = &request(task)?.base_branch;
        if pull.head_sha != commit.as_str() || pull.base_ref != *branch {
            return Ok(Some(MergeBar::Moved { commit: commit.clone() }));
        }
        for person in [Some(asker), task.last_decider.as_ref()].into_iter().flatten() {
            let account = crate::forge::Account { id: person.id, login: person.login.clone() };
            if self.forge.permission(&repository.at, &account).await? < Access::Write {
                return Ok(Some(MergeBar::NoRight { login: person.login.clone() }));
            }
        }
        let guard = self.forge.guard(&repository.at, branch).await?;
        let lack = guard.map_or(Some(GuardLack::Rule), |guard| guard.lack());
        Ok(lack.map(|lack| MergeBar::Unguarded { lack, branch: branch.clone() }))
    }

    /// How the task learns of it; of a merge by the bot's account, with the person for whom it was.
    fn closed(&self, pull: &PullRequest, asker: &Account) -> Input {
        let ours = pull.merged_by.as_ref().is_some_and(|by| by.id == self.me.id);
        let asked = ours.then(|| asker.login.clone());
        Input::PullClosed { merged: pull.merged, how: pull.merge().map(|how| Merged { asked, ..how }) }
    }
}
