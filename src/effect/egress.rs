//! Applies the hosts that people allowed to the sandboxes: to a running one at once, to a stopped one when it is opened.
//!
//! The rules are always computed as a whole from the operator's configuration, the accepted project file, the task's log and the
//! repository's grants, so that a repeated or late try ends with the same rules.

use super::policy::{Policy, RepositoryPolicy};
use super::repository::{Repositories, request};
use crate::sandbox::{SandboxError, Sandboxes};
use crate::store::{Store, TaskRow, unless_unreadable};
use crate::trouble::Trouble;
use domain::{Grant, Input, Notice, State, Task, TaskId};
use protocol::router::Rule;
use std::sync::Arc;

/// Time until another try while the sandbox is being made.
const PREPARING_MS: u64 = 2_000;

/// Keeps the router's rules for sandboxes up to date with what is allowed.
pub struct Egress {
    /// Holds grants and logs.
    pub store: Store,
    /// The sandboxes of all tasks.
    pub sandboxes: Arc<Sandboxes>,
    /// The configured repositories and their policies.
    pub repositories: Arc<Repositories>,
    /// Held while rules are computed and sent to the router.
    pub reaching: tokio::sync::Mutex<()>,
}

impl Egress {
    pub(super) async fn set(&self, task: &Task, repo: bool, serial: u32, notice: &Notice) -> Result<Input, Trouble> {
        let now = self.store.task(task.id).await?;
        match &now.base {
            Some(base) => self.reach(&now, &self.repositories.policy(&now, base).await?).await?,
            None if now.state == State::Preparing => return Err(being_made()),
            // A sandbox made later gets the rules that the log says then.
            None => {}
        }
        if repo {
            self.reach_repository(&request(task)?.repository, Some(task.id)).await?;
        }
        Ok(Input::EgressSet { serial, notice: notice.clone() })
    }

    /// Brings the sandboxes of a repository's live tasks, except for one, to what is allowed now.
    pub async fn reach_repository(&self, key: &str, but: Option<TaskId>) -> Result<(), Trouble> {
        let live = self.store.live_tasks().await?;
        let mut all = Ok(());
        for row in live.iter().filter(|row| row.repository == key && but != Some(TaskId(row.id))) {
            // The failure of one does not keep the others from being brought there.
            all = all.and(self.reach_task(TaskId(row.id)).await);
        }
        all
    }

    /// Brings all existing sandboxes to what is allowed now, before anything continues in them, because the process may have stopped before
    /// it told them. If a sandbox's rules cannot be computed, its old ones may allow too much, so it is cut off until they can.
    pub async fn reach_all(&self) -> Result<(), Trouble> {
        self.reach_standing(None).await
    }

    /// As [`Egress::reach_all`], but only for `repository` if it is given, whose entry was changed or removed.
    pub async fn reach_standing(&self, repository: Option<&str>) -> Result<(), Trouble> {
        let mut all = Ok(());
        let standing = self.sandboxes.of_tasks.tasks();
        let meant = |row: &TaskRow| standing.contains(&row.id) && repository.is_none_or(|key| key == row.repository);
        for row in self.store.live_tasks().await?.into_iter().filter(meant) {
            let told = self.reach_task(TaskId(row.id)).await;
            if told.is_err() {
                all = all.and(told).and(self.cut_off(TaskId(row.id)).await);
            }
        }
        all
    }

    /// Brings a task's sandbox to what is allowed now. One whose task cannot be read is cut off: what was taken back may be among its rules.
    pub(super) async fn reach_task(&self, id: TaskId) -> Result<(), Trouble> {
        let Some(task) = unless_unreadable(id, self.store.task(id).await)? else { return self.cut_off(id).await };
        let operators = self.repositories.operators(&task)?;
        match &task.base {
            _ if !operators.networked() => self.cut_off(id).await,
            Some(base) => self.reach(&task, &self.repositories.policy(&task, base).await?).await,
            None if task.state == State::Preparing => {
                let kept = self.store.grants(&request(&task)?.repository).await?;
                // It may just have been given rules that contain a grant that was taken back.
                if task.hosts.iter().all(|grant| stands(grant, &kept)) { Ok(()) } else { Err(being_made()) }
            }
            None => Ok(()),
        }
    }

    /// Brings the rules of a task's sandbox to what its log says now; does nothing without a sandbox.
    pub(super) async fn reach(&self, task: &Task, policy: &Policy<'_>) -> Result<(), Trouble> {
        if !policy.operators.networked() {
            return self.cut_off(task.id).await;
        }
        // One at a time, so that rules computed from an older log never replace newer ones.
        let _one = self.reaching.lock().await;
        let (kind, task) = (task.kind, self.store.task(task.id).await?);
        let mut rules = policy.for_router();
        // Until then the project's setup may be running in its subnet, whose result other tasks get; it is told again once it is made.
        if self.sandboxes.of_tasks.is_whole(task.id.0) {
            // Those of its command are for a task of that kind alone.
            rules.extend(policy.of_command.iter().filter(|_| task.kind == kind).cloned());
            rules.extend(self.granted_hosts(&task, &policy.operators).await?);
        }
        unless_gone(self.sandboxes.egress.allow(task.id.0, rules).await)
    }

    /// The hosts that a task of this policy may reach, as rules are written; each once.
    pub(super) async fn hosts(&self, task: &Task, policy: &Policy<'_>) -> Result<Vec<String>, Trouble> {
        if !policy.operators.networked() {
            return Ok(Vec::new());
        }
        let granted = self.granted_hosts(task, &policy.operators).await?;
        let mut hosts: Vec<String> =
            policy.rules.iter().chain(&policy.of_command).chain(&granted).map(Rule::to_string).collect();
        hosts.sort_unstable();
        hosts.dedup();
        Ok(hosts)
    }

    /// Cuts off a sandbox that may have been made while its repository had a network.
    pub(super) async fn cut_off(&self, id: TaskId) -> Result<(), Trouble> {
        let _one = self.reaching.lock().await;
        unless_gone(self.sandboxes.egress.cut_off(id.0).await)
    }

    /// The hosts that people allowed this task, except for those that the operator denies or that were taken back for the repository.
    async fn granted_hosts(&self, task: &Task, operators: &RepositoryPolicy<'_>) -> Result<Vec<Rule>, Trouble> {
        let kept = self.store.grants(&request(task)?.repository).await?;
        let rule =
            |grant: &Grant| Some(Rule::parse(&grant.host).ok()?.because(format!("allowed by {}", grant.by.login)));
        let rules = task.hosts.iter().filter(|grant| stands(grant, &kept)).filter_map(rule);
        Ok(rules.filter(|rule| !operators.denies(rule)).collect())
    }
}

/// Without a sandbox there is nothing to tell.
fn unless_gone(told: Result<(), SandboxError>) -> Result<(), Trouble> {
    match told {
        Ok(()) | Err(SandboxError::Gone(_)) => Ok(()),
        Err(other) => Err(other.into()),
    }
}

/// Whether a grant still holds: one for the repository while it is in `kept`, no matter which task it came from.
fn stands(grant: &Grant, kept: &[Grant]) -> bool {
    !grant.repo || kept.iter().any(|known| known.host == grant.host)
}

fn being_made() -> Trouble {
    Trouble::Later { sentence: "the sandbox is being made".to_owned(), after_ms: Some(PREPARING_MS) }
}
