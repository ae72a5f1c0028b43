//! The policy for one step of a task: the operator's tables for its repository, narrowed by the project file at the task's base, and
//! widened where the operator accepted that exact file. Resolved once per step. Tests: `tests/stories/policy.rs`.

use super::repository::{Repositories, Repository, request};
use crate::config::process::Sandbox;
use crate::config::project::{Effective, FILE, Granted, MAX_BYTES, Project};
use crate::trouble::Trouble;
use domain::{Commit, OwnCommand, Task};
use protocol::router::Rule;

/// The resolved policy.
pub(super) struct Policy<'a> {
    pub repository: Repository,
    /// The commit whose project file was read.
    pub base: Commit,
    /// The operator's settings for sandboxes of this repository.
    pub sandbox: &'a Sandbox,
    pub effective: Effective,
    /// What a sandbox may reach before people allow more; without what the operator denies.
    pub rules: Vec<Rule>,
}

impl Repositories {
    /// The policy of a task with this base.
    pub(super) async fn policy(&self, task: &Task, base: &Commit) -> Result<Policy<'_>, Trouble> {
        let own = request(task)?.own.as_deref();
        let mut policy = self.resolved(self.of(task)?, base, own).await?;
        if task.kind.of_a_pull() {
            // A stranger's files may lead the agent: nothing is reached but what a person allows this task, and nothing is run.
            policy.rules.clear();
            policy.effective.setup.clear();
        }
        Ok(policy)
    }

    /// The policy of a repository with the project file of this commit.
    pub(super) async fn policy_of(&self, repository: Repository, base: &Commit) -> Result<Policy<'_>, Trouble> {
        self.resolved(repository, base, None).await
    }

    /// As [`Repositories::policy_of`], for a task that this command of the repository's own began. Its hosts are reached only if the commands
    /// at `base` wish for them too: the accepted hash is that of their wishes.
    async fn resolved(
        &self,
        repository: Repository,
        base: &Commit,
        own: Option<&OwnCommand>,
    ) -> Result<Policy<'_>, Trouble> {
        let project = match self.repos.show(&repository.key, base, FILE, MAX_BYTES).await? {
            Some(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                Project::parse(FILE, &text).map_err(|e| Trouble::blocked(e.to_string()))?
            }
            None => Project::default(),
        };
        let commands = self.repos.own_commands(&repository.key, base).await?;
        let project = project.with_networks(commands.networks());
        let (granted, accepted) = (Granted::of(&self.config, &repository.key), repository.accepted.as_deref());
        let mut effective = project.within(&granted, accepted);
        if let Some(own) = own {
            effective.egress.extend(project.network_of(accepted, &own.name, &own.network));
        }
        let denied = self.config.egress.denied();
        let mut rules = granted.egress;
        rules.extend(effective.egress.iter().cloned());
        rules.retain(|rule| crate::egress::overruled(&denied, rule).is_none());
        let sandbox = self.config.sandbox_of(&repository.key);
        Ok(Policy { repository, base: base.clone(), sandbox, effective, rules })
    }
}
