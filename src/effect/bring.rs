//! A task that another host began or moved on: its commits are brought here before anything is done with them.
//!
//! The forge has what was pushed, the store the newest commit that may not be. Tests: `tests/stories/several.rs`.

use super::EffectRunner;
use crate::git::PackLimits;
use crate::trouble::Trouble;
use domain::{Commit, Effect, Task, TaskId};
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A larger commit stays on its host until it is pushed.
const MOST_BYTES: u64 = 64 << 20;

impl EffectRunner {
    /// Before anything of a repository is done here that another host worked for: sandboxes that are older than the task's log go, and
    /// those that stand follow what was allowed and taken back meanwhile.
    ///
    /// # Errors
    /// When store, engine or router is away: nothing may be done before this succeeds.
    pub async fn adopt(&self, repository: &str, host: &str) -> Result<(), Trouble> {
        for row in self.store.live_tasks().await?.iter().filter(|row| row.repository == repository) {
            self.here.forget(TaskId(row.id));
            if !row.owner.is_empty() && row.owner != host {
                tracing::info!(task = row.id, "goes on here: another host had it");
                self.sandboxes.moved_here(row.id).await?;
            }
            if self.reach_task(TaskId(row.id)).await.is_err() {
                self.cut_off(TaskId(row.id)).await?;
            }
        }
        Ok(())
    }

    /// Sandboxes that stand here of tasks that another host has moved on since.
    ///
    /// # Errors
    /// When store or engine is away; what is left is removed by the next try.
    pub async fn drop_moved(&self, host: &str) -> Result<(), Trouble> {
        let standing = self.sandboxes.tasks();
        if standing.is_empty() {
            return Ok(());
        }
        let live = self.store.live_tasks().await?;
        let moved = |row: &&crate::store::TaskRow| !row.owner.is_empty() && row.owner != host;
        for row in live.iter().filter(|row| standing.contains(&row.id)).filter(moved) {
            tracing::info!(task = row.id, "its sandbox is removed: another host has moved it on");
            self.sandboxes.remove(row.id).await?;
        }
        Ok(())
    }

    /// Keeps a commit for other hosts until its branch has it. Only where there are others.
    pub(super) async fn lend(&self, task: &Task, commit: &Commit, parent: &Commit) -> Result<(), Trouble> {
        if !self.store.is_shared() || commit == parent {
            return Ok(());
        }
        let key = &self.request(task)?.repository;
        match self.repos.increment(key, commit, parent, MOST_BYTES).await? {
            Some(pack) => self.store.keep_pack(task.id, commit, pack).await?,
            None => tracing::warn!(
                task = task.id.0,
                "a commit is too large for the store: it stays here until it is pushed"
            ),
        }
        Ok(())
    }

    /// Brings what an effect needs into the local repository, which is a cache: another host may have worked on the task, or it was deleted.
    pub(super) async fn bring(&self, task: &Task, effect: &Effect) -> Result<(), Trouble> {
        if task.base.is_none() || !needs_commits(effect) {
            return Ok(());
        }
        let wanted = wanted(task, effect);
        if self.here.has(task.id, &wanted) {
            return Ok(());
        }
        let repository = self.repository(task)?;
        let key = &repository.key;
        self.repos.ensure(key).await?;
        let mut missing = self.missing(key, &wanted).await?;
        if !missing.is_empty() {
            self.repos.fetch(key, &repository.url, Some(&self.auth)).await?;
            missing = self.missing(key, &missing).await?;
        }
        for commit in &missing {
            if let Some(pack) = self.store.pack(task.id, commit).await? {
                self.repos.import(key, &mut pack.as_slice(), PackLimits::default()).await?;
                self.repos.keep_brought(key, task.id.0, commit).await?;
            }
        }
        for commit in self.missing(key, &missing).await? {
            // Whatever became of its branch, the forge may have it still.
            if self.repos.fetch_commit(key, &repository.url, Some(&self.auth), &commit).await.is_err() {
                return Err(Trouble::blocked(format!(
                    "the commit {commit} is neither here nor on the forge nor in the store: start the host on which this task ran before, or `/stop` the task"
                )));
            }
        }
        self.here.note(task.id, wanted);
        Ok(())
    }

    async fn missing(&self, key: &str, of: &[Commit]) -> Result<Vec<Commit>, Trouble> {
        let mut missing = Vec::new();
        for commit in of {
            if !self.repos.has(key, commit).await? {
                missing.push(commit.clone());
            }
        }
        Ok(missing)
    }
}

/// Commits that are known to be in the local repositories, by task.
#[derive(Default)]
pub struct Here(Mutex<HashMap<TaskId, HashSet<Commit>>>);

impl Here {
    fn lock(&self) -> MutexGuard<'_, HashMap<TaskId, HashSet<Commit>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has(&self, task: TaskId, all: &[Commit]) -> bool {
        self.lock().get(&task).is_some_and(|known| all.iter().all(|commit| known.contains(commit)))
    }

    fn note(&self, task: TaskId, all: Vec<Commit>) {
        self.lock().entry(task).or_default().extend(all);
    }

    pub(super) fn forget(&self, task: TaskId) {
        self.lock().remove(&task);
    }
}

/// What it does happens in a repository or a sandbox.
fn needs_commits(effect: &Effect) -> bool {
    match effect {
        Effect::Prepare { .. }
        | Effect::Converse { .. }
        | Effect::Act { .. }
        | Effect::Capture { .. }
        | Effect::Push { .. }
        | Effect::Review { .. }
        | Effect::Verify { .. }
        | Effect::Open { .. }
        | Effect::Keep { .. }
        | Effect::Egress { .. } => true,
        Effect::OpenPull
        | Effect::Rest { .. }
        | Effect::Suspend { .. }
        | Effect::Teardown
        | Effect::ClosePull
        | Effect::ReadyPull
        | Effect::Comment { .. }
        | Effect::Label { .. }
        | Effect::CommitStatus { .. }
        | Effect::Recheck { .. }
        | Effect::Advance { .. } => false,
    }
}

fn wanted(task: &Task, effect: &Effect) -> Vec<Commit> {
    let own = match effect {
        Effect::Push { commit, .. } | Effect::Verify { commit, .. } => Some(commit),
        Effect::Review { commit, .. } => commit.as_ref(),
        _ => None,
    };
    let all = [task.base.as_ref(), task.head.as_ref(), task.kept.as_ref(), own];
    all.into_iter().flatten().cloned().collect()
}
