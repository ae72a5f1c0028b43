//! The policy for one step of a task: the operator's tables for its repository, narrowed by the project file at the task's base, and
//! widened where the operator accepted that exact file. Resolved once per step. Also the only place from which a step takes the project file,
//! or asks the configuration about sandboxes, hosts and budgets (`tests/house/project_file.rs`). Tests: `tests/stories/policy.rs`.

use super::repository::{ProjectWithRules, Repositories, Repository, request};
use crate::config::Process;
use crate::config::process::{Budget, Sandbox};
use crate::config::project::{Effective, FILE, Granted, Network};
use crate::policy::Rules;
use crate::sandbox::SetupSpec;
use crate::trouble::Trouble;
use domain::{Commit, Task};
use protocol::router::Rule;
use protocol::runner::Limits;
use std::sync::{Arc, PoisonError};

/// The most repositories and commits whose project files are cached.
const MOST: usize = 64;

/// The operator's part of a policy: the tables for one repository. It needs no file and no address of the repository, so a single action,
/// which waits for neither, takes this part alone.
pub(super) struct RepositoryPolicy<'a> {
    /// Settings for sandboxes.
    pub sandbox: &'a Sandbox,
    /// What every task is granted, hosts that are denied included.
    pub granted: Granted,
    /// What the tasks of all repositories together may spend in a day and a month.
    pub shared_budget: &'a Budget,
    /// What those of this repository may spend, where it has a table of its own.
    pub own_budget: Option<&'a Budget>,
    /// What may not be reached, whoever allows it.
    denied: Vec<Rule>,
    /// What the router refuses to this repository alone.
    pub refusals: Vec<Rule>,
}

impl<'a> RepositoryPolicy<'a> {
    fn of(config: &'a Process, key: &str) -> Self {
        Self {
            sandbox: config.sandbox_of(key),
            granted: Granted::of(config, key),
            shared_budget: &config.budget,
            own_budget: config.own_budget_of(key),
            denied: config.denied_of(key),
            refusals: config.refusals_of(key),
        }
    }

    /// Whether sandboxes have a network.
    pub(super) fn networked(&self) -> bool {
        self.sandbox.networked()
    }

    /// Whether the operator denies what this rule would allow.
    pub(super) fn denies(&self, rule: &Rule) -> bool {
        crate::egress::overruled(&self.denied, rule).is_some()
    }

    /// Limits of one action.
    pub(super) fn action_limits(&self) -> Limits {
        Limits { wall_ms: self.sandbox.action_wall_s * 1000, output_bytes: self.sandbox.action_output_kib << 10 }
    }
}

/// The resolved policy.
pub(super) struct Policy<'a> {
    pub repository: Repository,
    /// The commit whose project file was read.
    pub base: Commit,
    pub operators: RepositoryPolicy<'a>,
    pub effective: Effective,
    /// What a sandbox may reach before people allow more; without what the operator denies.
    pub rules: Vec<Rule>,
    /// What the command of the repository's own that began the task adds to them. Never for `setup`: its result goes to every task.
    pub of_command: Vec<Rule>,
}

impl Policy<'_> {
    /// The rules with which the router opens a subnet before people allow more.
    pub(super) fn for_router(&self) -> Vec<Rule> {
        self.rules.iter().chain(&self.operators.refusals).cloned().collect()
    }

    /// Setup commands, to be run with the files of this commit.
    pub(super) fn setup(&self, commit: &Commit) -> SetupSpec {
        SetupSpec {
            commands: self.effective.setup.clone(),
            commit: commit.clone(),
            wall_ms: self.operators.sandbox.setup_wall_s * 1000,
        }
    }
}

impl Repositories {
    /// The operator's part of a task's policy; an error if its repository was removed.
    pub(super) fn operators(&self, task: &Task) -> Result<RepositoryPolicy<'_>, Trouble> {
        Ok(RepositoryPolicy::of(&self.config, &self.configured(task)?.key))
    }

    /// The policy of a task with this base.
    pub(super) async fn policy(&self, task: &Task, base: &Commit) -> Result<Policy<'_>, Trouble> {
        let asked = request(task)?;
        // By its present kind: hosts that were accepted for a task that reads are not for one that writes.
        let wish = asked.own.as_deref().map(|own| Network::of(task.kind, own));
        let mut policy = self.resolved(self.of(task)?, base, wish.as_ref()).await?;
        if task.of_a_pull() {
            // The pull request's files may instruct the agent, so only hosts that a person allowed are reachable, and no setup runs.
            policy.rules.clear();
            policy.of_command.clear();
            policy.effective.setup.clear();
        }
        Ok(policy)
    }

    /// The policy of a repository with the project file of this commit.
    pub(super) async fn policy_of(&self, repository: Repository, base: &Commit) -> Result<Policy<'_>, Trouble> {
        self.resolved(repository, base, None).await
    }

    /// The project file of this commit, read and compiled once for all steps; the default where there is none.
    ///
    /// # Errors
    /// Blocked where it, or a rule of the operator's, cannot be followed.
    pub(super) async fn project(&self, key: &str, commit: &Commit) -> Result<Arc<ProjectWithRules>, Trouble> {
        let at = (key.to_owned(), commit.clone());
        if let Some(known) = self.projects.lock().unwrap_or_else(PoisonError::into_inner).get(&at) {
            return Ok(known.clone());
        }
        let file = self.repos.project_file(key, commit).await?;
        let project = file.begun.map_err(|e| Trouble::blocked(e.to_string()))?;
        let mistake = file.project.err().map(|e| e.to_string());
        let wrong = |file: &str, (at, key, why): (usize, &str, String)| {
            Trouble::blocked(format!(
                "rule {} of {file} cannot be followed, so nothing is done: `{key}`: {why}",
                at + 1
            ))
        };
        let operators = Rules::read(&self.config.policy).map_err(|e| wrong("caisson.toml", e))?;
        let rules = operators.and(Rules::read(&project.policy).map_err(|e| wrong(FILE, e))?);
        let read = Arc::new(ProjectWithRules { project, rules, mistake });
        let mut projects = self.projects.lock().unwrap_or_else(PoisonError::into_inner);
        if projects.len() >= MOST {
            projects.clear();
        }
        projects.insert(at, read.clone());
        Ok(read)
    }

    /// As [`Repositories::policy_of`], for a task whose command of the repository's own wishes for this. Its hosts are reached only if the
    /// command at `base` wishes for them too: the accepted hash is that of these wishes.
    async fn resolved(
        &self,
        repository: Repository,
        base: &Commit,
        wish: Option<&Network>,
    ) -> Result<Policy<'_>, Trouble> {
        let project = &self.project(&repository.key, base).await?.project;
        let operators = RepositoryPolicy::of(&self.config, &repository.key);
        let accepted = repository.accepted.as_deref();
        let effective = project.within(&operators.granted, accepted);
        let mut of_command = match wish.filter(|wish| !wish.hosts.is_empty()) {
            Some(wish) => {
                let commands = self.repos.own_commands(&repository.key, base).await?;
                project.clone().with_networks(commands.networks()).network_of(accepted, wish)
            }
            None => Vec::new(),
        };
        let mut rules = operators.granted.egress.clone();
        rules.extend(effective.egress.iter().cloned());
        for rules in [&mut rules, &mut of_command] {
            rules.retain(|rule| !operators.denies(rule));
        }
        Ok(Policy { repository, base: base.clone(), operators, effective, rules, of_command })
    }
}
