//! Carries out what a transition asked for, one file for each kind. `docs/effects.md` says for each: its key, how it is repeated,
//! what it may leave behind.
//!
//! An effect answers with the input that closes it, or with [`Trouble`]: what is only down is tried again and is no verdict.
//! Nothing here decides what happens next; that is `domain::transition`'s. Tests: `tests/stories/`.

mod act;
mod base;
mod brief;
mod bring;
mod certain;
mod converse;
mod egress;
mod guard;
mod image;
mod issue_locks;
mod listeners;
mod money;
mod permission;
mod policy;
mod posts;
mod prepare;
mod publish;
mod repository;
mod review;
mod rules;
mod second_look;
mod speaker;
mod style;
mod talk;
mod verify;
mod view;

pub use bring::Here;
pub use certain::Refusals;
pub(crate) use image::{Choice, Chosen, Told, read as read_toolchain};
pub use issue_locks::IssueLocks;
pub use listeners::Listeners;
pub use permission::Rulebook;
pub(crate) use policy::granted;
pub use posts::Posts;
pub use repository::Repository;
pub use speaker::Speaker;

use crate::barrier::Inspector;
use crate::config::{Process, Secret};
use crate::forge::{Account, Forge, Whereabouts};
use crate::git::{Auth, Repos};
use crate::sandbox::Sandboxes;
use crate::store::{EffectRow, Store};
use crate::thread::{Feed, Threads};
use crate::trouble::Trouble;
use domain::{Again, Effect, Input, Task, TaskKind};
use std::sync::Arc;

/// Carries out effects of all tasks, and holds whatever they need.
pub struct EffectRunner {
    /// The configuration of this process.
    pub config: Arc<Process>,
    /// Where tasks, their logs and effects are kept.
    pub store: Store,
    /// The forge, as the bot's own account sees it.
    pub forge: Arc<dyn Forge>,
    /// Where each configured repository is on the forge now.
    pub whereabouts: Arc<Whereabouts>,
    /// Reads what people say to tasks.
    pub threads: Arc<Threads>,
    /// The bot's own account.
    pub me: Account,
    /// The credential with which git fetches from and pushes to the forge.
    pub auth: Auth,
    /// The sandboxes of all tasks.
    pub sandboxes: Arc<Sandboxes>,
    /// Asked before anything of an agent runs in a sandbox.
    pub inspector: Arc<dyn Inspector>,
    /// The model that works on `/fix`.
    pub worker: Speaker,
    /// The model that answers `/plan`.
    pub planner: Speaker,
    /// The model that looks at a checkpoint's changes before a person does; none where the configuration names no reviewer.
    pub reviewer: Option<Speaker>,
    /// The bot's bare repositories in the state directory.
    pub repos: Repos,
    /// Rules about single actions.
    pub rulebook: Rulebook,
    /// What the bot posts.
    pub posts: Posts,
    /// Who else would get a push.
    pub listeners: Listeners,
    /// The number of this process's life, from [`Store::begin_epoch`].
    pub epoch: i64,
    /// Tags commits that wait in the store for another host; the key of marks, which all hosts share.
    pub pack_key: Secret,
    /// Which commits are known to be in `repos`.
    pub here: Here,
    /// Held from the look at what a day may cost until the call is charged.
    pub spending: tokio::sync::Mutex<()>,
    /// Held while rules are made and told to the router.
    pub reaching: tokio::sync::Mutex<()>,
}

impl EffectRunner {
    /// Does one effect. `row.tries` counts the tries before this one.
    pub async fn perform(&self, task: &Task, row: &EffectRow, feed: &dyn Feed) -> Result<Input, Trouble> {
        if self.ambiguous(row) {
            self.settle().await;
        }
        self.bring(task, &row.effect).await?;
        match &row.effect {
            Effect::Prepare { .. } => self.prepare(task).await,
            Effect::Converse { turn } => self.converse(task, *turn, row, feed).await,
            Effect::Act { number, action, permitted } => self.act(task, *number, action, *permitted, row.tries).await,
            Effect::Capture { n, why } => self.capture(task, *n, *why).await,
            Effect::Push { n, commit, expected } => self.push(task, *n, commit, expected.as_ref()).await,
            Effect::OpenPull => self.open_pull(task, self.ambiguous(row)).await,
            Effect::Review { n, commit, last } => self.review(task, row, (*n, commit.as_ref(), *last), feed).await,
            Effect::Ask { about, .. } => self.put(task, row, *about).await,
            Effect::Verify { n, commit } => self.verify(task, *n, commit, row.tries).await,
            Effect::Open { .. } => self.open(task, row).await,
            Effect::Rest { .. } => self.rest(task).await,
            Effect::Keep { serial } => self.keep(task, *serial).await,
            Effect::Suspend { suspension, .. } => self.suspend(task, *suspension).await,
            Effect::Teardown => self.teardown(task).await,
            Effect::ClosePull => self.close_pull(task).await,
            Effect::ReadyPull => self.ready_pull(task).await,
            Effect::ShowPlan { .. } => self.show_plan(task).await,
            Effect::Egress { serial, repo, notice } => self.egress(task, *repo, *serial, notice).await,
            Effect::Comment { notice, .. } => self.comment(task, row, notice).await,
            Effect::Label { name, .. } => self.label(task, name).await,
            Effect::CommitStatus { n, commit, state } => self.commit_status(task, *n, commit, state).await,
            Effect::Recheck { n, sources } => {
                self.threads.recheck(task, *n, sources, feed).await?;
                Ok(Input::Settled)
            }
            Effect::Advance { n, source } => {
                let decision = self.threads.advance(task, source, feed).await?.map(Box::new);
                Ok(Input::AdvanceRead { n: *n, decision })
            }
        }
    }

    /// Who answers in this task as it is now: a plan that is carried out is the worker's.
    fn speaker(&self, task: &Task) -> &Speaker {
        match task.kind {
            TaskKind::Fix => &self.worker,
            TaskKind::Plan => &self.planner,
        }
    }

    /// Whether an earlier try may have posted it without our knowing.
    fn ambiguous(&self, row: &EffectRow) -> bool {
        row.tries > 0 && row.effect.needs().again == Again::ReadBack
    }

    /// Gives what an interrupted request may still do time to land.
    async fn settle(&self) {
        tokio::time::sleep(std::time::Duration::from_millis(self.config.forge.settle_ms)).await;
    }
}
