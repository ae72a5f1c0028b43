//! Carries out the effects that a transition asked for, one file for each kind. `docs/effects.md` says for each: its key, how it is
//! repeated, and what it may leave behind.
//!
//! An effect results in the input that closes it, or in [`Trouble`]: what is temporarily unavailable is tried again. Nothing here decides
//! what happens next; that is `domain::transition`'s. Tests: `tests/stories/`.

mod act;
mod action_log;
mod adopt;
mod artifacts;
mod ask_models;
mod attachment;
mod base;
mod brief;
mod bring;
mod checks;
mod ci;
mod cited;
mod configured_model;
mod conflicts;
mod converse;
mod egress;
mod facts;
mod file_summary;
mod find;
mod guard;
mod images;
mod known_commits;
mod lifecycle;
mod listeners;
mod merge;
mod money;
mod parts;
mod permission;
mod pictures;
mod policy;
mod posts;
mod publish;
mod pull_review;
mod refused;
mod reply;
mod repository;
mod review;
mod rules;
mod scan;
mod scope;
mod second_look;
mod status_comment;
mod style;
mod summarizer;
mod talk;
mod test_run;
mod turned_away;
mod view;

pub use ci::{CiReader, CommitContexts, Look};
pub use egress::Egress;
pub(crate) use images::{Choice, Chosen, FromFiles, read as read_toolchain};
pub use merge::not_merged;
pub use parts::Dependencies;
pub use repository::{Repositories, Repository};
pub use test_run::TestRuns;

use crate::store::EffectRow;
use crate::thread::{Feed, Threads};
use crate::trouble::Trouble;
use domain::{Effect, Input, Task};
use std::sync::Arc;

/// Carries out the effects of all tasks, each kind by its part.
pub struct EffectRunner {
    /// Rules of what sandboxes may reach.
    pub egress: Arc<Egress>,
    /// The configured repositories.
    pub repositories: Arc<Repositories>,
    /// Reads what people say to tasks.
    pub threads: Arc<Threads>,
    /// Calls that shutdown waits for, because they would be paid for twice.
    pub paid: Arc<money::Paid>,
    /// Test runs that people asked for.
    pub test_runs: Arc<TestRuns>,
    /// Reads what the forge's CI says.
    pub ci: Arc<CiReader>,
    /// The least milliseconds between two edits of the status comment of a task at work.
    pub status_edit_ms: i64,
    settle_ms: u64,
    lifecycle: Arc<lifecycle::Lifecycle>,
    actions: act::Actions,
    checks: Arc<checks::Checks>,
    conversations: converse::Conversations,
    publisher: publish::Publisher,
    talk: review::Talk,
}

impl EffectRunner {
    /// Carries out one effect. `row.tries` counts the tries before this one.
    pub async fn perform(&self, task: &Task, row: &EffectRow, feed: &dyn Feed) -> Result<Input, Trouble> {
        // The request that opens a pull request may have been broken off a moment before.
        let unrecorded = row.effect == Effect::ClosePull && task.pull.is_none();
        if posts::ambiguous(row) || unrecorded {
            self.settle().await;
        }
        self.repositories.bring(task, &row.effect).await?;
        let Self { lifecycle, publisher, talk, .. } = self;
        match &row.effect {
            Effect::Prepare { .. } => lifecycle.prepare(task).await,
            Effect::Converse { turn } => self.conversations.converse(task, *turn, row, feed).await,
            Effect::Act { number, action, permitted } => {
                self.actions.act(task, *number, action, *permitted, (row.tries, feed)).await
            }
            Effect::Capture { n, why } => publisher.capture(task, *n, *why, feed).await,
            Effect::Push { n, commit, expected } => publisher.push(task, *n, commit, expected.as_ref()).await,
            Effect::OpenPull => publisher.open_pull(task, posts::ambiguous(row)).await,
            Effect::Attach { .. } => talk.attach_artifacts(task, row).await,
            Effect::Review { n, commit, last } => talk.review(task, row, (*n, commit.as_ref(), *last), feed).await,
            Effect::Ask { about, .. } => talk.put(task, row, *about).await,
            Effect::Verify { n, commit } => self.checks.verify(task, *n, commit, row.tries).await,
            Effect::Open { .. } => lifecycle.open(task, row).await,
            Effect::Rest { .. } => lifecycle.rest(task).await,
            Effect::Keep { serial } => publisher.keep(task, *serial).await,
            Effect::Suspend { suspension, .. } => lifecycle.suspend(task, *suspension).await,
            Effect::Teardown => {
                self.conversations.settle(task, feed).await?;
                lifecycle.teardown(task).await
            }
            Effect::ClosePull => publisher.close_pull(task).await,
            Effect::ReadyPull => {
                publisher.ready_pull(task).await?;
                talk.attach_log(task, row).await
            }
            Effect::AttachLog => talk.attach_log(task, row).await.map(|_| Input::LogAttached),
            Effect::Merge { commit, asker, to, .. } => {
                publisher.merge(task, commit, (asker, *to), (row.failures, feed)).await
            }
            Effect::ShowPlan { .. } => publisher.show_plan(task).await,
            Effect::Egress { serial, repo, notice } => self.egress.set(task, *repo, *serial, notice).await,
            Effect::Comment { notice, .. } => talk.comment(task, row, notice, feed).await,
            Effect::StatusComment => talk.status_comment(task, row).await,
            Effect::Label { name, .. } => talk.label(task, name).await,
            Effect::CommitStatus { n, commit, state } => talk.commit_status(task, *n, commit, state).await,
            Effect::Recheck { n, sources } => {
                self.threads.follower.recheck(task, *n, sources, feed).await?;
                Ok(Input::Settled)
            }
            Effect::Advance { n, source } => {
                let decision = self.threads.follower.advance(task, source, feed).await?.map(Box::new);
                Ok(Input::AdvanceRead { n: *n, decision })
            }
        }
    }

    /// Prepares this host for a repository that another host worked for.
    ///
    /// # Errors
    /// When store, engine or router is unavailable: nothing may be done for the repository before this succeeds.
    pub async fn adopt(&self, repository: &str, host: &str) -> Result<(), Trouble> {
        self.lifecycle.adopt(repository, host).await
    }

    /// Waits for the effects that an interrupted request to the forge may still have.
    async fn settle(&self) {
        tokio::time::sleep(std::time::Duration::from_millis(self.settle_ms)).await;
    }
}
