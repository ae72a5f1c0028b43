//! Comments, labels and commit statuses.

use super::repository::request;
use super::review::Talk;
use crate::checkpoint::label;
use crate::forge::{ForgeError, NewStatus, StatusState};
use crate::line::Line;
use crate::message::{self, About};
use crate::store::EffectRow;
use crate::thread::Feed;
use crate::trouble::{Denial, Trouble};
use domain::{Access, Commit, Effect, Event, Input, Notice, Task, To};
use std::time::{Duration, Instant};

/// A passing state is labelled if it lasts this long.
const LASTING: Duration = Duration::from_secs(1);
/// Interval between two looks at the state.
const LOOK: Duration = Duration::from_millis(50);

impl Talk {
    pub(super) async fn comment(
        &self,
        task: &Task,
        row: &EffectRow,
        notice: &Notice,
        feed: &dyn Feed,
    ) -> Result<Input, Trouble> {
        let request = request(task)?;
        let url = self.pull_url(task);
        let scripted = self.models.of(task).model.scripted();
        let line = Line::standing_of(&self.store, &self.config, &request.repository, task.id).await?;
        let about = About { task, pull_url: url.as_deref(), scripted, line: line.as_ref() };
        let text = match notice {
            Notice::Cost => {
                let log: Vec<Event> = self.store.log(task.id).await?.into_iter().map(|(_, event)| event).collect();
                message::cost(&about, &message::sums(&log))
            }
            Notice::Reply { login, number, question } => {
                self.replies.text(task, row, (*number, login, question), feed).await?
            }
            // Who asked may read the code: the task machine answers nobody else.
            Notice::Help => self.threads.own.help_at_work(&*self.repositories.configured(task)?, Access::Read).await,
            other => message::notice(other, &about),
        };
        let asked = match &row.effect {
            Effect::Comment { to: To::Asked { thread: Some(thread), .. } | To::Beside { thread, .. }, .. } => {
                Some(*thread)
            }
            // Stored by a version that did not store where it was asked.
            Effect::Comment { to: To::Asked { number, thread: None, .. }, .. } => {
                self.forge.comment(&self.repositories.of(task)?.at, *number).await?.map(|question| question.issue)
            }
            _ => None,
        };
        let number = match (task.pull, asked) {
            (_, Some(thread)) => thread,
            (Some(pull), None) if !matches!(notice, Notice::Accepted) => pull,
            _ => request.issue,
        };
        let repository = self.repositories.of(task)?;
        let post = |number| self.post(task, row, &repository, number);
        match self.posts.comment(&post(number), &text).await {
            Err(Trouble::Doubtful { denial: Denial::Missing, .. }) if self.threads.accounts.forge_answers().await => {
                let other = if task.pull == Some(number) { Some(request.issue) } else { task.pull };
                self.posts.comment(&post(other.unwrap_or(number)), &text).await?;
            }
            posted => drop(posted?),
        }
        Ok(Input::Settled)
    }

    /// Sets the one label that shows the state; the forge removes the others of its scope, because they are exclusive.
    pub(super) async fn label(&self, task: &Task, state: &str) -> Result<Input, Trouble> {
        let repository = self.repositories.of(task)?;
        // The state changed, so a newer label is already queued.
        if task.state.name() != state || !self.lasts(task, state).await? {
            return Ok(Input::Settled);
        }
        let Some(label) = label::of_state(state) else { return Ok(Input::Settled) };
        let request = request(task)?;
        for number in [Some(request.issue), task.pull].into_iter().flatten() {
            match self.forge.add_label(&repository.at, number, label.name).await {
                // The label was deleted, or an older version did not create it. That does not hold up the task.
                Err(ForgeError::NotFound(what)) if self.forge.labels(&repository.at, number).await.is_ok() => {
                    tracing::warn!(task = %task.id, number, what, "not labelled; `caisson repo add` makes the labels that are missing");
                }
                labelled => labelled?,
            }
        }
        Ok(Input::Settled)
    }

    /// Whether the state lasts. Between two reviews a task may run and publish within a second. Labels for that would only be seen in the
    /// history, and the forge would have to set them while it takes the push.
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
        let repository = self.repositories.of(task)?;
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

    /// Address of the pull request for people.
    pub(super) fn pull_url(&self, task: &Task) -> Option<String> {
        let page = self.pages(task)?;
        task.pull.map(|pull| format!("{page}/pulls/{pull}"))
    }
}
