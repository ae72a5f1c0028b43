//! Hosts that people allowed: the rules of a running sandbox follow the log at once, those of a resting one when it is opened.
//!
//! The rules are always made anew from the operator's configuration, the accepted project file, the task's log and the repository's
//! grants, and told as a whole; so a repeated or late try ends at the same rules.

use super::policy::Policy;
use super::repository::{Repositories, request};
use crate::config::Process;
use crate::sandbox::{SandboxError, Sandboxes};
use crate::store::{Store, TaskRow};
use crate::trouble::Trouble;
use domain::{Grant, Input, Notice, State, Task, TaskId};
use protocol::router::Rule;
use std::sync::Arc;

/// How long until it is tried again while the sandbox is being made.
const PREPARING_MS: u64 = 2_000;

/// Keeps what sandboxes may reach in step with what is allowed.
pub struct Egress {
    /// The configuration of this process.
    pub config: Arc<Process>,
    /// Where grants and logs are kept.
    pub store: Store,
    /// The sandboxes of all tasks.
    pub sandboxes: Arc<Sandboxes>,
    /// What holds in each repository.
    pub repositories: Arc<Repositories>,
    /// Held while rules are made and told to the router.
    pub reaching: tokio::sync::Mutex<()>,
}

impl Egress {
    pub(super) async fn set(&self, task: &Task, repo: bool, serial: u32, notice: &Notice) -> Result<Input, Trouble> {
        let now = self.store.task(task.id).await?;
        match &now.base {
            Some(base) => self.reach(&now, &self.repositories.policy(&now, base).await?).await?,
            None if now.state == State::Preparing => return Err(being_made()),
            // What is made later is made with what the log says then.
            None => {}
        }
        if repo {
            self.reach_repository(&request(task)?.repository, Some(task.id)).await?;
        }
        Ok(Input::EgressSet { serial, notice: notice.clone() })
    }

    /// Brings the sandboxes of a repository's live tasks, but for one, to what is allowed now.
    pub async fn reach_repository(&self, key: &str, but: Option<TaskId>) -> Result<(), Trouble> {
        let live = self.store.live_tasks().await?;
        let mut all = Ok(());
        for row in live.iter().filter(|row| row.repository == key && but != Some(TaskId(row.id))) {
            // One that cannot be reached keeps no other from being told.
            all = all.and(self.reach_task(TaskId(row.id)).await);
        }
        all
    }

    /// What a life that was cut off may not have told the sandboxes that stand: done before anything goes on in them. Where the rules cannot
    /// be made anew, the old ones may say more than what holds now: that sandbox reaches nothing until they can.
    pub async fn reach_all(&self) -> Result<(), Trouble> {
        self.reach_standing(None).await
    }

    /// As [`Egress::reach_all`], of one repository, if one is named: its entry is another one, or is gone.
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

    pub(super) async fn reach_task(&self, id: TaskId) -> Result<(), Trouble> {
        let task = self.store.task(id).await?;
        let key = &self.repositories.configured(&task)?.key;
        match &task.base {
            _ if !self.config.sandbox_of(key).networked() => self.cut_off(id).await,
            Some(base) => self.reach(&task, &self.repositories.policy(&task, base).await?).await,
            None if task.state == State::Preparing => {
                let kept = self.store.grants(key).await?;
                // It may just have got rules in which one stands that was taken back.
                if task.hosts.iter().all(|grant| stands(grant, &kept)) { Ok(()) } else { Err(being_made()) }
            }
            None => Ok(()),
        }
    }

    /// Brings the rules of a task's sandbox to what its log says now. Without a sandbox there is nothing to bring.
    pub(super) async fn reach(&self, task: &Task, policy: &Policy<'_>) -> Result<(), Trouble> {
        if !policy.sandbox.networked() {
            return self.cut_off(task.id).await;
        }
        // One at a time: rules made from an older look never come after newer ones.
        let _one = self.reaching.lock().await;
        let task = self.store.task(task.id).await?;
        let mut rules = policy.rules.clone();
        rules.extend(self.granted_hosts(&task).await?);
        unless_gone(self.sandboxes.egress.allow(task.id.0, rules).await)
    }

    /// Takes the way out from a sandbox that may have been made while its repository had one.
    pub(super) async fn cut_off(&self, id: TaskId) -> Result<(), Trouble> {
        let _one = self.reaching.lock().await;
        unless_gone(self.sandboxes.egress.cut_off(id.0).await)
    }

    /// What people allowed this task, without what the operator denies or what was taken back for the repository meanwhile.
    async fn granted_hosts(&self, task: &Task) -> Result<Vec<Rule>, Trouble> {
        let kept = self.store.grants(&request(task)?.repository).await?;
        let rule =
            |grant: &Grant| Some(Rule::parse(&grant.host).ok()?.because(format!("allowed by {}", grant.by.login)));
        let rules = task.hosts.iter().filter(|grant| stands(grant, &kept)).filter_map(rule);
        let denied = self.config.egress.denied();
        Ok(rules.filter(|rule| crate::egress::overruled(&denied, rule).is_none()).collect())
    }
}

/// Where there is no sandbox, there is nothing to tell.
fn unless_gone(told: Result<(), SandboxError>) -> Result<(), Trouble> {
    match told {
        Ok(()) | Err(SandboxError::Gone(_)) => Ok(()),
        Err(other) => Err(other.into()),
    }
}

/// One that was given for the repository holds while it is `kept` there, whichever task took it over.
fn stands(grant: &Grant, kept: &[Grant]) -> bool {
    !grant.repo || kept.iter().any(|known| known.host == grant.host)
}

fn being_made() -> Trouble {
    Trouble::Later { sentence: "the sandbox is being made".to_owned(), after_ms: Some(PREPARING_MS) }
}
