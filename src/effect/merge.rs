//! Merging the pull request of approved work on the forge, for a person who asked for it or whose final approval lets it follow.
//!
//! Everything that lets it happen is read right before: setting, pull request, rights, the base branch's rule, and that the task stands as
//! approved. A try that was cut looks at the pull request first. Tests: `tests/stories/merge.rs`.

use super::publish::Publisher;
use super::repository::{Repository, request};
use crate::config::process::Repository as Entry;
use crate::forge::{ForgeError, PullRequest, ReviewState};
use crate::thread::Feed;
use crate::trouble::Trouble;
use domain::{
    Access, Account, Commit, Effect, Event, Failure, GuardLack, Input, MergeBar, Merged, State, Task, To, Verb,
};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// While the forge checks for conflicts it merges nothing, and says so.
const CHECKING: &str = "try again later";
const CHECK_TRIES: u32 = 20;
const CHECK_WAIT: Duration = Duration::from_millis(500);
/// After so many tries that the forge could not answer, the person is told.
const MOST_FAILURES: i64 = 20;

/// Somebody whose right is read again.
struct Person {
    account: crate::forge::Account,
    /// Whether the merge is for them; otherwise they approved the work.
    wants: bool,
}

/// What whoever wanted a merge is told where it failed for good; none of another effect.
pub fn not_merged(effect: &Effect, failure: &Failure) -> Option<Input> {
    let Effect::Merge { asker, to, .. } = effect else { return None };
    let why = MergeBar::Forge { refusal: Trouble::Failed(failure.clone()).to_string() };
    Some(Input::NotMerged { why, login: asker.login.clone(), to: *to })
}

/// Whether the task is approved at this commit.
fn stands(task: &Task, commit: &Commit) -> bool {
    matches!(&task.state, State::Approved { commit: approved, .. } if approved == commit)
}

impl Publisher {
    /// Merges it, or says why not: whoever wanted it is always told.
    pub(super) async fn merge(
        &self,
        task: &Task,
        commit: &Commit,
        (asker, to): (&Account, To),
        (failures, feed): (i64, &dyn Feed),
    ) -> Result<Input, Trouble> {
        let why = match self.try_merge(task, commit, (asker, to), feed).await {
            Ok(Ok(input)) => return Ok(input),
            Ok(Err(why)) => why,
            Err(trouble @ Trouble::Later { .. }) if failures >= MOST_FAILURES => {
                MergeBar::Forge { refusal: trouble.to_string() }
            }
            Err(trouble) => return Err(trouble),
        };
        Ok(Input::NotMerged { why, login: asker.login.clone(), to })
    }

    /// Reads everything again before each request, because the forge may ask to wait while somebody changes it.
    async fn try_merge(
        &self,
        task: &Task,
        commit: &Commit,
        (asker, to): (&Account, To),
        feed: &dyn Feed,
    ) -> Result<Result<Input, MergeBar>, Trouble> {
        let Some(number) = task.pull.filter(|_| stands(task, commit)) else { return Ok(Ok(Input::Settled)) };
        let repository = self.repositories.of(task)?;
        let people = self.people(task, asker).await?;
        let mut why = MergeBar::Undecided;
        for _ in 0..CHECK_TRIES {
            let pull = self.forge.pull(&repository.at, number).await?;
            if pull.merged || !pull.open {
                return Ok(Ok(self.closed(&pull, asker)));
            }
            if let Some(bar) = self.bar(task, &repository, (&pull, commit), (&people, to)).await? {
                return Ok(Err(bar));
            }
            // Somebody may have stopped it meanwhile; this is looked at last, because the readings take their time.
            if !stands(&feed.look(task.id).await?, commit) {
                return Ok(Ok(Input::Settled));
            }
            match self.forge.merge_pull(&repository.at, number, commit.as_str()).await {
                Ok(()) => return self.done(&repository, number, asker).await.map(Ok),
                Err(ForgeError::Conflict(said)) if said.contains(CHECKING) => tokio::time::sleep(CHECK_WAIT).await,
                Err(ForgeError::Conflict(refusal)) => {
                    why = MergeBar::Forge { refusal };
                    break;
                }
                Err(other) => return Err(other.into()),
            }
        }
        // What an earlier request was answered may have been lost.
        let pull = self.forge.pull(&repository.at, number).await?;
        if pull.merged || !pull.open { Ok(Ok(self.closed(&pull, asker))) } else { Ok(Err(why)) }
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
        (people, to): (&[Person], To),
    ) -> Result<Option<MergeBar>, Trouble> {
        let entry = self.repositories.configured(task)?;
        if let Some(bar) = self.config.merge_bar(&entry) {
            return Ok(Some(bar));
        }
        let by_itself = matches!(to, To::Step { .. });
        if by_itself && !self.config.merges_when_approved(&entry) {
            return Ok(Some(MergeBar::Off { repository: entry.key.clone() }));
        }
        let branch = &request(task)?.base_branch;
        if pull.head_sha != commit.as_str() || pull.base_ref != *branch {
            return Ok(Some(MergeBar::Moved { commit: commit.clone() }));
        }
        let mut rights = HashMap::new();
        for Person { account, wants } in people {
            let right = self.threads.accounts.right(&entry, account, &mut rights).await?;
            let person = Account { id: account.id, login: account.login.clone() };
            let asks = (&Verb::Merge { bar: None }, &person, right);
            if right < Access::Write || *wants && self.threads.groups.barred(&entry, asks, Some(task)).await?.is_some()
            {
                return Ok(Some(MergeBar::NoRight { login: account.login.clone() }));
            }
        }
        let guard = self.forge.guard(&repository.at, branch).await?;
        if let Some(lack) = guard.map_or(Some(GuardLack::Rule), |guard| guard.lack()) {
            return Ok(Some(MergeBar::Unguarded { lack, branch: branch.clone() }));
        }
        let approved = self.is_approved((&entry, repository), pull, &mut rights).await?;
        Ok((!approved).then_some(MergeBar::NotReviewed))
    }

    /// Whoever wants the merge, and everybody whose final approval counted.
    async fn people(&self, task: &Task, asker: &Account) -> Result<Vec<Person>, Trouble> {
        let log = self.store.log(task.id).await?;
        let used = log.iter().rev().find_map(|(_, event)| match event {
            Event::DecisionUsed { decision, .. } if matches!(decision.verb, Verb::Approve { .. }) => Some(decision),
            _ => None,
        });
        let others = used.and_then(|decision| decision.others.as_deref()).map(|others| others.approvals.as_slice());
        let approvers = used.into_iter().map(|it| &**it).chain(others.unwrap_or_default());
        let person = |it: &Account, wants: bool| {
            let account = crate::forge::Account { id: it.id, login: it.login.clone() };
            Person { account, wants }
        };
        Ok(approvers.map(|it| person(&it.poster, false)).chain([person(asker, true)]).collect())
    }

    /// Whether a person who may write approved this very head by a review, and nobody who may write asks for changes of it. A forge's rule
    /// may count approvals of earlier commits.
    async fn is_approved(
        &self,
        (entry, repository): (&Entry, &Repository),
        pull: &PullRequest,
        rights: &mut HashMap<i64, Access>,
    ) -> Result<bool, Trouble> {
        let reviews = self.forge.reviews(&repository.at, pull.number).await?;
        let mut verdicts = BTreeMap::new();
        for review in reviews.into_iter().filter(|review| self.threads.accounts.counts(&review.author)) {
            if matches!(review.state, ReviewState::Approved | ReviewState::RequestChanges) {
                verdicts.insert(review.author.id, review);
            }
        }
        let mut approved = false;
        for review in verdicts.into_values().filter(|review| review.commit == pull.head_sha) {
            let writes = self.threads.accounts.right(entry, &review.author, rights).await? >= Access::Write;
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
