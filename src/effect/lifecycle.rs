//! The sandbox of a task: prepared with the repository in it, opened for work, stopped, removed.

use super::base::BaseSeen;
use super::checks::Checks;
use super::configured_model::ConfiguredModels;
use super::egress::Egress;
use super::images::{Images, listed};
use super::listeners::Listeners;
use super::pictures::Pictures;
use super::policy::Policy;
use super::repository::{Repositories, Repository, base, request};
use crate::barrier::Inspector;
use crate::engine;
use crate::git::Branch;
use crate::message;
use crate::sandbox::{Merge, PrepareSpec, Prepared, Replacement, SandboxError, Sandboxes, Segment};
use crate::scan::{Advisories, NewestVersions};
use crate::store::{EffectRow, Store};
use crate::trouble::Trouble;
use domain::{Commit, Input, State, Suspension, Task};
use std::sync::Arc;

/// Prepares, opens and stops the sandboxes of tasks.
pub(super) struct Lifecycle {
    pub store: Store,
    pub sandboxes: Arc<Sandboxes>,
    pub repositories: Arc<Repositories>,
    pub egress: Arc<Egress>,
    pub images: Arc<Images>,
    pub checks: Arc<Checks>,
    pub pictures: Arc<Pictures>,
    pub models: Arc<ConfiguredModels>,
    /// What the operator knows of packages.
    pub advisories: Arc<Advisories>,
    pub newest: NewestVersions,
    /// Looks for others that would receive a push.
    pub listeners: Arc<Listeners>,
    /// Inspects each sandbox before anything of an agent runs in it.
    pub inspector: Arc<dyn Inspector>,
}

impl Lifecycle {
    pub(super) async fn prepare(&self, task: &Task) -> Result<Input, Trouble> {
        let repository = self.repositories.of(task)?;
        self.listeners.nobody(&repository).await?;
        self.repositories.repos.fetch(&repository.key, &repository.url, Some(&self.repositories.auth)).await?;
        let base = self.pinned(task, &repository).await?;
        // Keeps the base although its branch may be rewritten: until the first checkpoint nothing else refers to it.
        self.repositories.repos.keep_base(&repository.key, task.id.0, &base).await?;
        let policy = self.repositories.policy(task, &base).await?;
        let mut difference = None;
        if let Some(pull) = &request(task)?.pull {
            self.repositories.bring_head(task, &repository, pull).await?;
            difference = Some(Box::new(self.repositories.difference(&repository.key, pull).await?));
        }
        // A pull request's head is checked out; policy and rules come from the base.
        let tip = task.head.as_ref().filter(|_| task.rebase_wanted().is_none()).unwrap_or(&base);
        let chosen = self.images.choose(task, &policy).await?;
        let Prepared { boot, conflicts } = self.make(task, &policy, tip, &chosen.image, None).await?;
        let elsewhere = self.repositories.repos.elsewhere(&repository.key, tip).await?.sentence();
        let scan = self.scan(task, &policy, difference.as_deref()).await?;
        let checks = match difference.is_none() {
            true => self.checks.base_seen(task, &policy, &chosen.image).await,
            false => BaseSeen::default(),
        };
        let styles = self.models.styles(task);
        let (rules, given) =
            self.repositories.rules(&repository.key, &base, (task.kind, !task.of_a_pull()), styles).await?;
        let (pictures, seen) = match task.rebase_wanted() {
            // The conversation has them already.
            Some(_) => (Vec::new(), None),
            None => self.pictures.of_issue(task, &repository.at, styles.now).await?,
        };
        let asked = request(task)?;
        let start = asked.start().filter(|_| task.base.is_none()).map(message::goes_on_from);
        let notes = start.into_iter().chain(engine::left_out(asked)).chain(chosen.note).chain(elsewhere);
        let notes: Vec<String> = notes.chain(checks.note).chain(given).chain(seen).collect();
        let note = Some(notes.join(" ")).filter(|note| !note.is_empty());
        let (every, budget) = (policy.effective.every, Some(policy.effective.budget));
        let (image, on_base) = (chosen.image, checks.report.map(Box::new));
        Ok(Input::Prepared {
            base,
            boot,
            image,
            every,
            note,
            budget,
            rules,
            pictures,
            difference,
            scan,
            on_base,
            conflicts,
        })
    }

    /// The task's base, as it is known here; where there is none yet or a newer one was asked for, the present end of the base branch.
    async fn pinned(&self, task: &Task, repository: &Repository) -> Result<Commit, Trouble> {
        let key = &repository.key;
        let wanted = task.rebase_wanted();
        if let (Some(base), None) = (&task.base, wanted) {
            return Ok(base.clone());
        }
        let repos = &self.repositories.repos;
        if let (Some(start), None) = (request(task)?.start(), wanted) {
            self.repositories.bring_all(task, vec![start.base.clone(), start.commit.clone()]).await?;
            repos.keep_before(key, task.id.0, &start.commit).await?;
            return Ok(start.base.clone());
        }
        // Until the task is deleted, whatever happens to the branches.
        for before in wanted.iter().flat_map(|rebase| [&rebase.from, &rebase.head]) {
            repos.keep_before(key, task.id.0, before).await?;
        }
        let newest = repos.resolve(key, &Branch::parse(&request(task)?.base_branch)?).await?;
        // Only here can the file still be mended.
        match &self.repositories.project(key, &newest).await?.mistake {
            Some(why) => Err(Trouble::blocked(why.as_str())),
            None => Ok(newest),
        }
    }

    /// Makes the task's sandbox with `tip` checked out and what is to be merged onto it, and opens its subnet.
    async fn make(
        &self,
        task: &Task,
        policy: &Policy<'_>,
        tip: &Commit,
        image: &str,
        anew: Option<Replacement>,
    ) -> Result<Prepared, Trouble> {
        let key = &policy.repository.key;
        // As last fetched. If the branch is gone from the forge, there is no mirror of it.
        let branch = Branch::parse(&request(task)?.base_branch)?;
        let trunk = self.repositories.repos.resolve(key, &branch).await.ok();
        let wanted = task.rebase_wanted().map(|rebase| (&rebase.from, &rebase.head));
        let merge = wanted.or(task.to_merge()).map(|(from, head)| Merge { from: from.clone(), head: head.clone() });
        let spec = PrepareSpec {
            task: task.id.0,
            attempt: 1,
            repo_key: key.clone(),
            base: tip.clone(),
            trunk,
            image: image.to_owned(),
            limits: policy.operators.sandbox.limits(),
            network: policy.operators.networked(),
            // Those of `setup`; what its command adds is opened below.
            egress: policy.for_router(),
            setup: Some(policy.setup(&policy.base)),
            anew,
            merge,
            afresh: wanted.is_some(),
        };
        let prepared = self.sandboxes.of_tasks.prepare(&spec).await?;
        // Rules first, so that the subnet opens with all of them.
        self.egress.reach(task, policy).await?;
        self.sandboxes.of_tasks.open(task.id.0).await?;
        if let Some(wrong) = self.mismatch(task).await? {
            // Nothing of an agent has run in it yet.
            self.sandboxes.of_tasks.remove(task.id.0).await?;
            return Err(wrong);
        }
        Ok(prepared)
    }

    /// The barrier was proven in another sandbox; this tries the checks that depend on the subnet in this one.
    async fn mismatch(&self, task: &Task) -> Result<Option<Trouble>, Trouble> {
        let mismatches = self.inspector.mismatches(task.id.0).await?;
        if mismatches.is_empty() {
            return Ok(None);
        }
        tracing::error!(task = task.id.0, ?mismatches, "THE BARRIER DOES NOT HOLD in a task's sandbox");
        let what = mismatches.join("; ");
        let said = format!("the barrier does not hold in this task's sandbox, so nothing ran in it: {what}");
        Ok(Some(Trouble::blocked(said)))
    }

    /// Opens the sandbox for work. If it is gone, it is made anew from the last commit; what was not committed is lost, and the review says
    /// so.
    pub(super) async fn open(&self, task: &Task, row: &EffectRow) -> Result<Input, Trouble> {
        let policy = self.repositories.policy(task, &base(task)?).await?;
        listed(task, &policy.operators)?;
        self.warm(task)?;
        self.egress.reach(task, &policy).await?;
        let loss = match self.sandboxes.of_tasks.open(task.id.0).await {
            Ok(false) => match self.sandboxes.of_tasks.made_anew(task.id.0, &row.key) {
                // An earlier try was cut off after it made this one, so nobody was told, and it may not have been inspected.
                Some(loss) => loss,
                None => return Ok(Input::Opened { fresh: None }),
            },
            Ok(true) => return self.awake(task).await,
            Err(SandboxError::Gone(loss)) => loss,
            Err(other) => return Err(other.into()),
        };
        tracing::warn!(task = task.id.0, why = %loss, "the sandbox is made anew");
        self.make_from_last(task, &policy, Some(Replacement { by: row.key.clone(), loss })).await?;
        Ok(Input::Opened { fresh: Some(loss) })
    }

    /// Makes a new sandbox in place of the task's, from its last commit.
    pub(super) async fn make_anew(&self, task: &Task) -> Result<(), Trouble> {
        let policy = self.repositories.policy(task, &base(task)?).await?;
        self.make_from_last(task, &policy, None).await
    }

    /// Makes it from the last commit, which may not be on any branch.
    async fn make_from_last(&self, task: &Task, policy: &Policy<'_>, anew: Option<Replacement>) -> Result<(), Trouble> {
        let tip = task.kept.as_ref().or(task.head.as_ref()).unwrap_or(&policy.base);
        let image = self.images.of_task(task, policy).await?;
        self.make(task, policy, tip, &image, anew).await.map(drop)
    }

    /// A stopped sandbox gets a new network, so it is inspected like a new one. On a mismatch it is stopped again instead of removed,
    /// because it may contain work.
    async fn awake(&self, task: &Task) -> Result<Input, Trouble> {
        let seen = self.mismatch(task).await;
        if !matches!(seen, Ok(None)) {
            self.sandboxes.of_tasks.stop(task.id.0).await?;
        }
        match seen? {
            Some(wrong) => Err(wrong),
            None => {
                self.sandboxes.of_tasks.confirm_awake(task.id.0)?;
                Ok(Input::Opened { fresh: None })
            }
        }
    }

    /// Freezes the sandbox while a person is awaited: it keeps its files and uses no processor.
    pub(super) async fn rest(&self, task: &Task) -> Result<Input, Trouble> {
        // Resumed before this effect's turn: the queue already holds the work that continues.
        if task.state == State::Running {
            return Ok(Input::Settled);
        }
        self.sandboxes.of_tasks.rest(task.id.0).await?;
        Ok(Input::Settled)
    }

    /// Stops or removes the sandbox of a task that has waited long. Effects of later decisions are behind this one in the queue, and start
    /// it or make it anew.
    pub(super) async fn suspend(&self, task: &Task, suspension: Suspension) -> Result<Input, Trouble> {
        match suspension {
            _ if task.state.busy() => {}
            Suspension::Stopped => self.sandboxes.of_tasks.stop(task.id.0).await?,
            Suspension::Evicted => self.sandboxes.of_tasks.remove(task.id.0).await?,
        }
        Ok(Input::Settled)
    }

    pub(super) async fn teardown(&self, task: &Task) -> Result<Input, Trouble> {
        self.repositories.known_commits.forget(task.id);
        self.sandboxes.of_tasks.remove(task.id.0).await?;
        Ok(Input::Settled)
    }

    /// Creates the quarantine container for the next capture in advance, while the work goes on.
    pub(super) fn warm(&self, task: &Task) -> Result<(), Trouble> {
        if !task.kind.reads_only() {
            self.sandboxes.quarantines.warm(&self.segment(task, task.next_n())?);
        }
        Ok(())
    }

    pub(super) fn segment(&self, task: &Task, n: u32) -> Result<Segment, Trouble> {
        let base = base(task)?;
        let parent = task.head.clone().unwrap_or_else(|| base.clone());
        Ok(Segment { task: task.id.0, n, repo_key: self.repositories.of(task)?.key, parent, base })
    }
}
