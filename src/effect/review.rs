//! The review of a checkpoint: exactly one stands in the end, whatever was cut, doubled or lost on the way.
//!
//! Each try: list; our own review with this key and all its inline notes is it; a PENDING one of ours is rubbish of a cut request
//! and goes; then post; then list again: the younger of two goes. One lane for each pull request (the forge mixes concurrent ones).
//! A first try where the last review of this life was seen whole has nothing to find, and posts at once.

use super::{EffectRunner, Trouble};
use crate::checkpoint::{self, mark};
use crate::forge::{ForgeError, NewReview, Note, RepoRef, Review, ReviewState};
use crate::message;
use crate::store::EffectRow;
use domain::{Commit, Input, Task, TaskKind};
use std::sync::PoisonError;

impl EffectRunner {
    pub(super) async fn review(
        &self,
        task: &Task,
        row: &EffectRow,
        n: u32,
        commit: Option<&Commit>,
        last: bool,
    ) -> Result<Input, Trouble> {
        let repository = self.repository(task)?;
        let view = self.view(task, n, last).await?;
        let key = format!("{}:{}", task.id, row.key);
        let Some(pull) = task.pull else { return self.answer(task, row, n).await };
        let body = if last { checkpoint::render_final(&view) } else { checkpoint::render_checkpoint(&view) };
        let notes = checkpoint::render_notes(&view);
        let notes: Vec<Note> = notes.into_iter().map(|(path, line, body)| Note { path, line, body }).collect();
        let head = match commit.or(task.pushed.as_ref()) {
            Some(commit) => commit.to_string(),
            None => self.base(task)?.to_string(),
        };
        let body = format!("{body}\n\n{}", mark::mark(self.mark_key.bytes(), &key));
        let new = NewReview { commit: head, body, notes };
        let _lane = self.lanes.enter(&repository.key, pull).await;
        let place = (repository.key.clone(), pull);
        let tidy = self.tidy.lock().unwrap_or_else(PoisonError::into_inner).remove(&place) && !self.ambiguous(row);
        let review = self.converge(&repository.at, pull, &key, &new, tidy).await?;
        self.tidy.lock().unwrap_or_else(PoisonError::into_inner).insert(place);
        self.store.remember_post(task.id, &row.key, review.id).await?;
        Ok(Input::ReviewPosted { n, review: review.id, number: review.number, risk: view.risk })
    }

    async fn converge(
        &self,
        at: &RepoRef,
        pull: u64,
        key: &str,
        new: &NewReview,
        tidy: bool,
    ) -> Result<Review, Trouble> {
        if !tidy && let Some(found) = self.whole(at, pull, key, new, true).await? {
            return Ok(found);
        }
        match self.forge.post_review(at, pull, new).await {
            Ok(_) => {}
            Err(ForgeError::Invalid(why)) => {
                return Err(Trouble::blocked(format!("the forge refuses the review: {why}")));
            }
            Err(other) => return Err(other.into()),
        }
        match self.whole(at, pull, key, new, false).await? {
            Some(review) => Ok(review),
            None => Err(Trouble::later("the forge took the review but does not show it whole")),
        }
    }

    /// Our review with this key, if it stands whole; what is left of cut tries is removed.
    async fn whole(
        &self,
        at: &RepoRef,
        pull: u64,
        key: &str,
        new: &NewReview,
        before: bool,
    ) -> Result<Option<Review>, Trouble> {
        let mut found: Vec<Review> = Vec::new();
        for review in self.forge.reviews(at, pull).await? {
            if review.author.id != self.me.id {
                continue;
            }
            let pending = review.state == ReviewState::Pending;
            let ours = mark::find(self.mark_key.bytes(), &review.body).as_deref() == Some(key);
            if pending && before {
                self.forge.delete_review(at, pull, review.id).await?;
            } else if ours && !pending {
                found.push(review);
            }
        }
        found.sort_by_key(|review| review.number);
        let mut kept: Option<Review> = None;
        for review in found {
            let complete = review.comments as usize >= new.notes.len();
            if kept.is_none() && complete {
                kept = Some(review);
            } else {
                self.forge.delete_review(at, pull, review.id).await?;
            }
        }
        Ok(kept)
    }

    /// Where there is no pull request, words go to the issue: a read-only task's answer, or a checkpoint without a change.
    async fn answer(&self, task: &Task, row: &EffectRow, n: u32) -> Result<Input, Trouble> {
        let text = match task.kind {
            TaskKind::Plan => message::plan_answer(task, n, self.speaker(task).model.scripted()),
            TaskKind::Fix => checkpoint::render_checkpoint(&self.view(task, n, false).await?),
        };
        let request = self.request(task)?;
        let comment = self.post_once(task, row, request.issue, &text).await?;
        Ok(Input::AnswerPosted { n, number: comment.id })
    }
}
