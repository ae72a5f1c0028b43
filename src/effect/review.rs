//! Posts the review of a checkpoint; without a pull request, the answer on the issue.

use super::ci::CiReader;
use super::configured_model::ConfiguredModels;
use super::posts::{Post, Posts, ambiguous};
use super::reply::Replies;
use super::repository::{Repositories, Repository, base, request};
use super::scan::scan_of;
use super::second_look::SecondLook;
use crate::checkpoint::{self, render_sources, sources};
use crate::config::Process;
use crate::forge::{Forge, NewReview, Note};
use crate::message::{self, AnswerParts};
use crate::sandbox::SandboxEgress;
use crate::store::{EffectRow, Store};
use crate::thread::{Feed, Threads};
use crate::trouble::Trouble;
use domain::{Commit, Event, Input, QuestionSubject, Scan, State, Task, TaskKind};
use std::sync::Arc;

/// Posts what a task has to say.
pub(super) struct Talk {
    pub config: Arc<Process>,
    pub store: Store,
    pub forge: Arc<dyn Forge>,
    /// Reads what people say to tasks.
    pub threads: Arc<Threads>,
    pub repositories: Arc<Repositories>,
    pub egress: Arc<SandboxEgress>,
    pub models: Arc<ConfiguredModels>,
    pub second_look: SecondLook,
    pub replies: Replies,
    pub posts: Posts,
    pub ci: Arc<CiReader>,
}

impl Talk {
    pub(super) async fn review(
        &self,
        task: &Task,
        row: &EffectRow,
        (n, commit, last): (u32, Option<&Commit>, bool),
        feed: &dyn Feed,
    ) -> Result<Input, Trouble> {
        if task.of_a_pull() {
            return self.pull_review(task, row, n).await;
        }
        let repository = self.repositories.of(task)?;
        self.look_for_withdrawn(task, &repository, feed).await?;
        let mut view = self.view(task, n, last).await?;
        if commit.is_some() && self.second_look.look_again(task, row, n, &view, feed).await? {
            view = self.view(task, n, last).await?;
        }
        let Some(pull) = task.pull else { return self.answer(task, row, repository, n).await };
        let body = if last { checkpoint::render_final(&view) } else { checkpoint::render_checkpoint(&view) };
        let notes = checkpoint::render_notes(&view);
        let notes: Vec<Note> = notes.into_iter().map(|(path, line, body)| Note { path, line, body }).collect();
        let head = match commit.or(task.pushed.as_ref()) {
            Some(commit) => commit.to_string(),
            None => base(task)?.to_string(),
        };
        let post = self.post(task, row, &repository, pull);
        let review = self.posts.review(&post, &NewReview { commit: head, body, notes }).await?;
        Ok(Input::ReviewPosted { n, review: review.id, number: review.number, risk: view.risk })
    }

    /// Posts the question that waits, on the task's pull request or, before there is one, on its issue.
    pub(super) async fn put(&self, task: &Task, row: &EffectRow, about: QuestionSubject) -> Result<Input, Trouble> {
        // Answered meanwhile, or posted by an earlier try.
        if !matches!(task.underneath(), State::Asking { about: now, number: None } if *now == about) {
            return Ok(Input::Settled);
        }
        let scripted = self.models.of(task).model.scripted();
        let text = match (about, &task.question, &task.permission, &task.action) {
            (QuestionSubject::Question { .. }, Some(question), _, _) => message::question(question, task, scripted),
            (QuestionSubject::Permission { number }, _, Some(reason), Some(action)) => {
                // An action that cannot be shown whole is not asked about, unless an older version did that.
                let what = message::whole(action).unwrap_or_else(|| "it is too long to be shown: refuse it".to_owned());
                message::permission(number, &what, reason, task, scripted)
            }
            // Answered or dropped meanwhile.
            _ => return Ok(Input::Settled),
        };
        let repository = self.repositories.of(task)?;
        let number = task.pull.unwrap_or(request(task)?.issue);
        let comment = self.posts.comment(&self.post(task, row, &repository, number), &text).await?;
        Ok(Input::QuestionPosted { about, number: comment.id })
    }

    /// The address and key of an effect's post.
    pub(super) fn post<'a>(
        &self,
        task: &Task,
        row: &'a EffectRow,
        repository: &'a Repository,
        number: u64,
    ) -> Post<'a> {
        let repository = (repository.key.as_str(), &repository.at);
        Post { task: task.id, effect: &row.key, ambiguous: ambiguous(row), tries: row.tries, repository, number }
    }

    /// Without a pull request, the text goes to the issue: a read-only task's answer, or a checkpoint without a change.
    async fn answer(&self, task: &Task, row: &EffectRow, repository: Repository, n: u32) -> Result<Input, Trouble> {
        let text = if task.kind.reads_only() {
            let parts = self.answer_parts(task, &repository).await?;
            message::plan_answer(task, n, self.models.of(task).model.scripted(), &parts)
        } else {
            checkpoint::render_checkpoint(&self.view(task, n, false).await?)
        };
        let request = request(task)?;
        let post = self.post(task, row, &repository, request.issue);
        let comment = self.posts.comment(&post, &text).await?;
        Ok(Input::AnswerPosted { n, number: comment.id })
    }

    /// What the host adds to an answer: what it found by itself, and what it knows of the places and sources that are named.
    async fn answer_parts(&self, task: &Task, repository: &Repository) -> Result<AnswerParts, Trouble> {
        let not_there = self.repositories.not_there(task).await?;
        let mut parts = AnswerParts { not_there, ..AnswerParts::default() };
        match task.kind {
            TaskKind::Security => {
                let scan = scan_of(&self.store, task).await?;
                if let Some(rules) = scan.as_ref().and_then(|scan| scan.rules.as_ref()) {
                    parts.before = self.rule_table(repository, &base(task)?, rules);
                }
            }
            TaskKind::Search => {
                let scan = scan_of(&self.store, task).await?;
                parts.after = self.sources(task, scan.as_deref()).await?;
            }
            TaskKind::Deps => {
                let scan = scan_of(&self.store, task).await?;
                if let Some(found) = scan.as_ref().and_then(|scan| scan.dependencies.as_ref()) {
                    parts.before = self.dependency_table(repository, &base(task)?, found);
                }
                parts.after = self.sources(task, scan.as_deref()).await?;
            }
            TaskKind::Fix
            | TaskKind::Plan
            | TaskKind::Explain
            | TaskKind::Test
            | TaskKind::Refactor
            | TaskKind::Review => {}
        }
        Ok(parts)
    }

    /// The sources that the answer names, each with whether this task looked at it.
    async fn sources(&self, task: &Task, scan: Option<&Scan>) -> Result<String, Trouble> {
        let log: Vec<Event> = self.store.log(task.id).await?.into_iter().map(|(_, event)| event).collect();
        let hosts = scan.and_then(|scan| scan.hosts.as_deref());
        Ok(render_sources(&sources(task.summary.as_deref().unwrap_or_default(), &log), hosts))
    }
}
