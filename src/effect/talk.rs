//! Comments, labels and commit statuses.

use super::{EffectRunner, No, Trouble};
use crate::checkpoint::{label, mark};
use crate::forge::{Comment, NewStatus, StatusState};
use crate::message::{self, About};
use crate::store::EffectRow;
use domain::{Commit, Effect, Input, Notice, Task, To};
use std::time::{Duration, Instant};

/// A passing state that lasts as long is labelled.
const LASTING: Duration = Duration::from_secs(1);
/// How often is looked whether it is over.
const LOOK: Duration = Duration::from_millis(50);

impl EffectRunner {
    pub(super) async fn comment(&self, task: &Task, row: &EffectRow, notice: &Notice) -> Result<Input, Trouble> {
        let request = self.request(task)?;
        let url = self.pull_url(task);
        let about = About { task, pull_url: url.as_deref(), scripted: self.speaker(task).model.scripted() };
        let text = message::notice(notice, &about);
        let number = match task.pull {
            Some(pull) if !matches!(notice, Notice::Accepted) && !self.asked_on_the_issue(task, row).await? => pull,
            _ => request.issue,
        };
        match self.post_once(task, row, number, &text).await {
            Err(Trouble::Doubtful { no: No::Missing, .. }) if self.forge_answers().await => {
                let other = if task.pull == Some(number) { Some(request.issue) } else { task.pull };
                self.post_once(task, row, other.unwrap_or(number), &text).await?;
            }
            posted => drop(posted?),
        }
        Ok(Input::Settled)
    }

    /// Whether this answers a comment of the issue: who asks there looks there.
    async fn asked_on_the_issue(&self, task: &Task, row: &EffectRow) -> Result<bool, Trouble> {
        let Effect::Comment { to: To::Asked { number }, .. } = &row.effect else { return Ok(false) };
        let question = self.forge.comment(&self.repository(task)?.at, *number).await?;
        Ok(question.is_some_and(|comment| Some(comment.issue) == task.request.as_ref().map(|it| it.issue)))
    }

    /// Posts a comment so that exactly one stands: found again by its mark under our own account.
    pub(super) async fn post_once(
        &self,
        task: &Task,
        row: &EffectRow,
        number: u64,
        text: &str,
    ) -> Result<Comment, Trouble> {
        let repository = self.repository(task)?;
        let key = format!("{}:{}", task.id, row.key);
        let body = format!("{text}\n\n{}", mark::mark(self.mark_key.bytes(), &key));
        let _lane = self.lanes.enter(&repository.key, number).await;
        if self.ambiguous(row) {
            let mut ours: Vec<Comment> = self.forge.comments(&repository.at, number).await?;
            ours.retain(|c| {
                c.author.id == self.me.id && mark::find(self.mark_key.bytes(), &c.body).as_deref() == Some(&key)
            });
            ours.sort_by_key(|comment| comment.id);
            for younger in ours.iter().skip(1) {
                self.forge.delete_comment(&repository.at, younger.id).await?;
            }
            if let Some(first) = ours.into_iter().next() {
                return Ok(first);
            }
        }
        let comment = self.forge.post_comment(&repository.at, number, &body).await?;
        self.store.remember_post(task.id, &row.key, comment.id).await?;
        Ok(comment)
    }

    /// One exclusive label says the state; the forge takes the others of its scope away.
    pub(super) async fn label(&self, task: &Task, state: &str) -> Result<Input, Trouble> {
        let repository = self.repository(task)?;
        // Otherwise a newer label is already in line.
        if task.state.name() != state || !self.lasts(task, state).await? {
            return Ok(Input::Settled);
        }
        let Some(label) = label::of_state(state) else { return Ok(Input::Settled) };
        let request = self.request(task)?;
        for number in [Some(request.issue), task.pull].into_iter().flatten() {
            self.forge.add_label(&repository.at, number, label.name).await?;
        }
        Ok(Input::Settled)
    }

    /// Whether the state stays. Between two reviews a task may run and publish within a second: two labels on an issue and a pull
    /// request each, which nobody would see but in their history, and the forge's work for them while it takes the push.
    async fn lasts(&self, task: &Task, state: &str) -> Result<bool, Trouble> {
        if !label::PASSING.contains(&state) {
            return Ok(true);
        }
        let end = Instant::now() + LASTING;
        while Instant::now() < end {
            tokio::time::sleep(LOOK).await;
            if self.store.task_row(task.id).await?.is_none_or(|row| row.state != state) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) async fn commit_status(
        &self,
        task: &Task,
        n: u32,
        commit: &Commit,
        state: &str,
    ) -> Result<Input, Trouble> {
        let repository = self.repository(task)?;
        let description = message::status_line(state, n, task.verdict.as_ref());
        let state = match state {
            "success" => StatusState::Success,
            "failure" => StatusState::Failure,
            _ => StatusState::Pending,
        };
        let newest = self.forge.statuses(&repository.at, commit.as_str()).await?;
        if newest.iter().any(|s| s.context == label::STATUS_CONTEXT && s.state == state && s.description == description)
        {
            return Ok(Input::Settled);
        }
        let target_url = self.pull_url(task).unwrap_or_default();
        let new = NewStatus { context: label::STATUS_CONTEXT.to_owned(), state, description, target_url };
        self.forge.post_status(&repository.at, commit.as_str(), &new).await?;
        Ok(Input::Settled)
    }

    /// The pull request's address for people.
    pub(super) fn pull_url(&self, task: &Task) -> Option<String> {
        let repository = self.repository(task).ok()?;
        let base = self.config.people_url()?;
        task.pull.map(|pull| format!("{}/{}/pulls/{pull}", base.as_str().trim_end_matches('/'), repository.at))
    }
}
