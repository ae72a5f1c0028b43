//! Merging the pull request of approved work on the forge, for a person who asked for it or whose final approval lets it follow.
//!
//! Everything that lets it happen is read right before: setting, pull request, rights, the base branch's rule. A try that was cut looks at
//! the pull request first. Tests: `tests/stories/merge.rs`.

use super::publish::Publisher;
use super::repository::{Repository, request};
use crate::forge::{Access, ForgeError, PullRequest, ReviewState};
use crate::trouble::Trouble;
use domain::{Account, Commit, GuardLack, Input, MergeBar, Merged, State, Task, To};
use std::time::Duration;

/// While the forge checks for conflicts it merges nothing, and says so.
const CHECKING: &str = "try again later";
const NOT_APPROVED: &str =
    "there are not enough approvals: a review has to approve exactly this commit, and none may ask for changes of it";
const CHECK_TRIES: u32 = 20;
const CHECK_WAIT: Duration = Duration::from_millis(500);
/// After so many tries that the forge could not answer, the person is told.
const MOST_FAILURES: i64 = 20;

impl Publisher {
    /// Merges it, or says why not: whoever wanted it is always told.
    pub(super) async fn merge(
        &self,
        task: &Task,
        commit: &Commit,
        (asker, to): (&Account, To),
        failures: i64,
    ) -> Result<Input, Trouble> {
        let refusal = match self.try_merge(task, commit, asker).await {
            Ok(Ok(input)) => return Ok(input),
            Ok(Err(why)) => why,
            // The queue of texts gives these up without a word.
            Err(trouble @ (Trouble::Failed(_) | Trouble::Doubtful { .. })) => {
                MergeBar::Forge { refusal: trouble.to_string() }
            }
            Err(trouble @ Trouble::Later { .. }) if failures >= MOST_FAILURES => {
                MergeBar::Forge { refusal: trouble.to_string() }
            }
            Err(trouble) => return Err(trouble),
        };
        Ok(Input::NotMerged { why: refusal, login: asker.login.clone(), to })
    }

    /// Reads everything again before each request, because the forge may ask to wait while somebody changes it.
    async fn try_merge(
        &self,
        task: &Task,
        commit: &Commit,
        asker: &Account,
    ) -> Result<Result<Input, MergeBar>, Trouble> {
        let approved = matches!(&task.state, State::Approved { commit: approved, .. } if approved == commit);
        let Some(number) = task.pull.filter(|_| approved) else { return Ok(Ok(Input::Settled)) };
        let repository = self.repositories.of(task)?;
        let mut refusal = String::new();
        for _ in 0..CHECK_TRIES {
            let pull = self.forge.pull(&repository.at, number).await?;
            if pull.merged || !pull.open {
                return Ok(Ok(self.closed(&pull, asker)));
            }
            if let Some(bar) = self.bar(task, &repository, (&pull, commit), asker).await? {
                return Ok(Err(bar));
            }
            match self.forge.merge_pull(&repository.at, number, commit.as_str()).await {
                Ok(()) => return self.done(&repository, number, asker).await.map(Ok),
                Err(ForgeError::Conflict(said)) => {
                    let waits = said.contains(CHECKING);
                    refusal = said;
                    if !waits {
                        break;
                    }
                    tokio::time::sleep(CHECK_WAIT).await;
                }
                Err(other) => return Err(other.into()),
            }
        }
        // What an earlier request was answered may have been lost.
        let pull = self.forge.pull(&repository.at, number).await?;
        if pull.merged || !pull.open { Ok(Ok(self.closed(&pull, asker))) } else { Ok(Err(MergeBar::Forge { refusal })) }
    }

    async fn done(&self, repository: &Repository, number: u64, asker: &Account) -> Result<Input, Trouble> {
        let pull = self.forge.pull(&repository.at, number).await?;
        match pull.merged {
            true => Ok(self.closed(&pull, asker)),
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
        let lack = match guard.map_or(Some(GuardLack::Rule), |guard| guard.lack()) {
            None if !self.is_approved(repository, pull).await? => {
                return Ok(Some(MergeBar::Forge { refusal: NOT_APPROVED.to_owned() }));
            }
            lack => lack,
        };
        Ok(lack.map(|lack| MergeBar::Unguarded { lack, branch: branch.clone() }))
    }

    /// Whether a person who may write approved this very head by a review, and nobody who may write asks for changes of it. A forge's rule
    /// may count approvals of earlier commits.
    async fn is_approved(&self, repository: &Repository, pull: &PullRequest) -> Result<bool, Trouble> {
        let reviews = self.forge.reviews(&repository.at, pull.number).await?;
        let mut verdicts = std::collections::BTreeMap::new();
        for review in reviews.into_iter().filter(|review| review.author.id != self.me.id) {
            if matches!(review.state, ReviewState::Approved | ReviewState::RequestChanges) {
                verdicts.insert(review.author.id, review);
            }
        }
        let mut approved = false;
        for review in verdicts.into_values().filter(|review| review.commit == pull.head_sha) {
            let writes = self.forge.permission(&repository.at, &review.author).await? >= Access::Write;
            match review.state {
                ReviewState::RequestChanges if writes => return Ok(false),
                _ => approved |= writes,
            }
        }
        Ok(approved)
    }

    /// How the task learns of it; of a merge by the bot's account, with the person for whom it was.
    fn closed(&self, pull: &PullRequest, asker: &Account) -> Input {
        let ours = pull.merged_by.as_ref().is_some_and(|by| by.id == self.me.id);
        let asked = ours.then(|| asker.login.clone());
        Input::PullClosed { merged: pull.merged, how: pull.merge().map(|how| Merged { asked, ..how }) }
    }
}
