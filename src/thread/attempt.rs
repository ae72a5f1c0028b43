//! Why a `/retry` begins nothing, and the approved checkpoint of an earlier attempt that `/retry --from N` begins from: looked for in that
//! attempt's log, and on the forge.
//! Tests: `tests/stories/retry.rs`.

use super::branch_tips::BranchTips;
use super::groups::Groups;
use crate::config::Process;
use crate::config::process::Repository;
use crate::git::Repos;
use crate::message::{NoStart, begun_already, no_start};
use crate::store::Store;
use crate::trouble::Trouble;
use domain::{ApprovedStart, Commit, Decision, Effect, Event, Task, Verb};
use std::sync::Arc;

/// Looks whether, and from what, a `/retry` begins.
pub struct Retries {
    pub(super) config: Arc<Process>,
    pub(super) store: Store,
    pub(super) groups: Arc<Groups>,
    pub(super) tips: Arc<BranchTips>,
}

impl Retries {
    /// Why no new attempt begins by this decision of somebody who may otherwise begin one, as it is answered; none where it may.
    pub(super) async fn bars_attempt(
        &self,
        entry: &Repository,
        task: &Task,
        decision: &Decision,
    ) -> Result<Option<String>, Trouble> {
        let who = &decision.poster;
        if let Some(answer) = self.just_begun(task, decision.number, &who.login).await? {
            return Ok(Some(answer));
        }
        if let Err(answer) = self.attempt(entry, task, (who, decision.right)).await? {
            return Ok(Some(answer));
        }
        let Verb::Retry { from: Some(n) } = decision.verb else { return Ok(None) };
        let log: Vec<Event> = self.store.log(task.id).await?.into_iter().map(|(_, event)| event).collect();
        Ok(self.start(entry, (task, &log), n, &who.login).await?.err())
    }

    /// The answer to a `/retry` with this number that came too early to be about this attempt; none where it did not.
    pub(crate) async fn just_begun(&self, task: &Task, number: i64, login: &str) -> Result<Option<String>, Trouble> {
        // An issue's status comment is the first that a person sees of a task.
        let shown = self.store.post(task.id, &Effect::StatusComment.key()).await?;
        let request = task.request.as_ref().filter(|_| task.is_just_begun(number, shown));
        Ok(request.map(|request| begun_already(login, task, &request.asker.login)))
    }

    /// The checkpoint with this number of an attempt, if it was approved and its commit is still there; an error within is the answer.
    pub(crate) async fn start(
        &self,
        entry: &Repository,
        (task, log): (&Task, &[Event]),
        n: u32,
        login: &str,
    ) -> Result<Result<ApprovedStart, String>, Trouble> {
        let no = |why| Ok(Err(no_start(login, task.id, n, why)));
        let Some(start) = approved(task, log, n) else { return no(NoStart::NotApproved) };
        // Policy, setup and the base's tests come from the base, so it has to be one that the protected branch has had.
        match self.tips.fetched_tip(entry).await? {
            Some(tip) if is_below(&self.tips.repos, &entry.key, &start.base, &tip).await? => {}
            Some(_) | None => return no(NoStart::OtherBase),
        }
        match self.tips.is_there(entry, &start.commit).await? {
            true => Ok(Ok(start)),
            false => no(NoStart::Gone),
        }
    }
}

/// The checkpoint, with the base on which it stood when it was approved. One that was voided since stands for nothing.
fn approved(task: &Task, log: &[Event], n: u32) -> Option<ApprovedStart> {
    let checkpoint = task.checkpoints.iter().find(|it| it.n == n && !it.void)?;
    let commit = checkpoint.commit.clone()?;
    let (at, by) = log.iter().enumerate().find_map(|(at, event)| match event {
        Event::DecisionUsed { decision, n: of } if *of == n && matches!(decision.verb, Verb::Approve { .. }) => {
            Some((at, decision.poster.clone()))
        }
        _ => None,
    })?;
    let base = Task::fold(task.id, &log[..at]).base?;
    Some(ApprovedStart { n, commit, base, by })
}

/// Whether the branch that ends at `tip` has had this base.
async fn is_below(repos: &Repos, key: &str, base: &Commit, tip: &Commit) -> Result<bool, Trouble> {
    Ok(repos.has(key, base).await? && repos.is_ancestor(key, base, tip).await?)
}
