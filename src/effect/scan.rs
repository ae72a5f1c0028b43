//! What the host reads for a task before its model is asked, by the task's kind; and that reading again, out of the log.
//!
//! Part of preparing the task, so that the model and the posted answer have the same. Repeated, it reads the same commit again. Tests:
//! `tests/stories/security.rs`, `tests/stories/searches.rs`, `tests/stories/dependencies.rs`.

use super::lifecycle::Lifecycle;
use super::policy::Policy;
use super::repository::{Repositories, request};
use crate::policy::plain;
use crate::scan::{look_for_dependencies, look_for_weaknesses};
use crate::store::Store;
use crate::trouble::Trouble;
use domain::{Commit, Difference, Event, Scan, Task, TaskKind};

impl Lifecycle {
    /// What is read for a task of this kind; none where nothing is.
    pub(super) async fn scan(
        &self,
        task: &Task,
        policy: &Policy<'_>,
        difference: Option<&Difference>,
    ) -> Result<Option<Box<Scan>>, Trouble> {
        let scan = match task.kind {
            TaskKind::Security => self.repositories.weaknesses(task, &policy.base, difference).await?,
            TaskKind::Search => Scan { hosts: Some(self.egress.hosts(task, policy).await?), ..Scan::default() },
            TaskKind::Deps => {
                let (key, base) = (&policy.repository.key, &policy.base);
                let (mut found, packages) = look_for_dependencies(&self.repositories.repos, key, base).await?;
                found.advisories = self.advisories.look(packages).await;
                self.newest.fill(&mut found).await;
                let hosts = self.egress.hosts(task, policy).await?;
                Scan { dependencies: Some(found), hosts: Some(hosts), rules: None }
            }
            TaskKind::Fix
            | TaskKind::Plan
            | TaskKind::Explain
            | TaskKind::Test
            | TaskKind::Refactor
            | TaskKind::Review => return Ok(None),
        };
        Ok(Some(Box::new(scan)))
    }
}

impl Repositories {
    /// What static rules find in the base, or in what a pull request adds.
    async fn weaknesses(&self, task: &Task, base: &Commit, difference: Option<&Difference>) -> Result<Scan, Trouble> {
        let (request, from) = (request(task)?, difference.map(|it| &it.from));
        let commit = request.pull.as_ref().map_or(base, |pull| &pull.head);
        let named = match &request.place {
            Some(place) => Some(place.path.as_str()),
            None => request.words.split_whitespace().next().map(|first| first.trim_matches('`')),
        };
        let below = self.named_path(&request.repository, commit, named).await?;
        let rules = look_for_weaknesses(&self.repos, &request.repository, commit, below, from).await?;
        Ok(Scan { rules: Some(rules), ..Scan::default() })
    }

    /// The file or folder of this name, if it is there.
    async fn named_path(&self, key: &str, commit: &Commit, named: Option<&str>) -> Result<Option<String>, Trouble> {
        let Some(path) = named.and_then(plain) else { return Ok(None) };
        Ok(self.repos.has_path(key, commit, &path).await?.then_some(path))
    }

    /// Where it is known before a sandbox is made that a task can reach no host, whether sandboxes have a network at all. Where the repository's own file
    /// may add hosts, it is not known.
    pub(super) fn nowhere(&self, task: &Task) -> Result<Option<bool>, Trouble> {
        let (entry, operators) = (self.configured(task)?, self.operators(task)?);
        if !operators.networked() {
            return Ok(Some(false));
        }
        let closed = operators.granted.egress.iter().all(|rule| operators.denies(rule));
        let nothing = closed && task.hosts.is_empty() && entry.accepted.is_empty();
        Ok(nothing.then_some(true))
    }
}

/// What the host read for this task, as its log has it; none where it read nothing.
pub(super) async fn scan_of(store: &Store, task: &Task) -> Result<Option<Box<Scan>>, Trouble> {
    let found = |(_, event): (_, Event)| match event {
        Event::Prepared { scan, .. } => scan,
        _ => None,
    };
    Ok(store.log(task.id).await?.into_iter().rev().find_map(found))
}
