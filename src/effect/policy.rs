//! What holds in one step of a task: the operator's tables for its repository, narrowed by the project file at the task's base, widened
//! where the operator accepted that very file. Resolved once; whatever the step does takes it. Tests: `tests/stories/policy.rs`.

use super::repository::{Repositories, Repository};
use crate::config::process::Sandbox;
use crate::config::project::{Effective, FILE, Granted, MAX_BYTES, Project};
use crate::trouble::Trouble;
use domain::{Commit, Task};
use protocol::router::Rule;

/// See the module.
pub(super) struct Policy<'a> {
    pub repository: Repository,
    /// The commit whose project file it is.
    pub base: Commit,
    /// What sandboxes of this repository are made with.
    pub sandbox: &'a Sandbox,
    pub effective: Effective,
    /// What a sandbox may reach before a person allowed more: nothing that the operator denies.
    pub rules: Vec<Rule>,
}

impl Repositories {
    /// The policy of a task whose base this is.
    pub(super) async fn policy(&self, task: &Task, base: &Commit) -> Result<Policy<'_>, Trouble> {
        let mut policy = self.policy_of(self.of(task)?, base).await?;
        if task.kind.of_a_pull() {
            // A stranger's files may lead the agent: nothing is reached but what a person allows this task, and nothing is run.
            policy.rules.clear();
            policy.effective.setup.clear();
        }
        Ok(policy)
    }

    /// The policy of a repository whose project file is read at this commit.
    pub(super) async fn policy_of(&self, repository: Repository, base: &Commit) -> Result<Policy<'_>, Trouble> {
        let project = match self.repos.show(&repository.key, base, FILE, MAX_BYTES).await? {
            Some(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                Project::parse(FILE, &text).map_err(|e| Trouble::blocked(e.to_string()))?
            }
            None => Project::default(),
        };
        let granted = Granted::of(&self.config, &repository.key);
        let effective = project.within(&granted, repository.accepted.as_deref());
        let denied = self.config.egress.denied();
        let mut rules = granted.egress;
        rules.extend(effective.egress.iter().cloned());
        rules.retain(|rule| crate::egress::overruled(&denied, rule).is_none());
        let sandbox = self.config.sandbox_of(&repository.key);
        Ok(Policy { repository, base: base.clone(), sandbox, effective, rules })
    }
}
