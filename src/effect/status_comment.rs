//! Brings a task's one status comment to its present state. The text is in `message`, how the comment is found again in `posts`.
//! Tests: `tests/stories/status_comment.rs`, `tests/stories/kills.rs`.

use super::action_log::log_thread;
use super::posts::Post;
use super::repository::request;
use super::review::Talk;
use crate::line::Line;
use crate::message::{self, About, StatusPlaces};
use crate::store::{EffectRow, EffectState};
use crate::trouble::{TELL_AFTER, Trouble};
use domain::{Event, Input, Queue, State, Task, TaskKind};
use std::time::Duration;

impl Talk {
    pub(super) async fn status_comment(&self, task: &Task, row: &EffectRow) -> Result<Input, Trouble> {
        // A request of an interrupted try may still land, and would put an older text in a newer one's place.
        if row.state == EffectState::Started || row.failures > 0 {
            tokio::time::sleep(Duration::from_millis(self.config.forge.settle_ms)).await;
        }
        let repository = self.repositories.of(task)?;
        let text = self.status_text(task).await?;
        let post = Post { ambiguous: row.tries > 0, ..self.post(task, row, &repository, request(task)?.issue) };
        self.posts.show(&post, &text).await?;
        Ok(Input::StatusShown { seq: task.seq })
    }

    async fn status_text(&self, task: &Task) -> Result<String, Trouble> {
        let request = request(task)?;
        let line = Line::standing_of(&self.store, &self.config, &request.repository, task.id).await?;
        let url = self.pull_url(task);
        let scripted = self.models.of(task).model.scripted();
        let about = About { task, pull_url: url.as_deref(), scripted, line: line.as_ref() };
        // What came since belongs to the next edit.
        let log = self.store.log(task.id).await?.into_iter().map(|(_, event)| event);
        let log: Vec<Event> = log.take(task.seq as usize).collect();
        let searches = task.kind == TaskKind::Search;
        let nowhere = if searches { self.repositories.nowhere(task)? } else { None };
        let note = nowhere.map(message::nowhere_to_look);
        let places = StatusPlaces { repository: self.pages(task), action_log: self.attached_log(task).await, note };
        Ok(message::status_comment(&about, &log, &places, self.standing_trouble(task).await?.as_deref()))
    }

    /// Why a step waits that was tried several times; none where none does.
    async fn standing_trouble(&self, task: &Task) -> Result<Option<String>, Trouble> {
        for queue in [Queue::Work, Queue::Egress] {
            let next = self.store.next_effect(task.id, queue).await;
            // A row that cannot be read is the outbox's to tell of.
            if let Some(row) = next.ok().flatten().filter(|row| row.failures >= TELL_AFTER) {
                return Ok(row.trouble);
            }
        }
        Ok(None)
    }

    /// Address of the attached log of actions; none before it is attached, or while the forge does not say.
    async fn attached_log(&self, task: &Task) -> Option<String> {
        let over = matches!(task.state, State::Approved { .. } | State::Ended { .. });
        let thread = over.then(|| log_thread(task).ok()).flatten()?;
        let (base, repository) = (self.config.people_url()?, self.repositories.of(task).ok()?);
        let name = self.log_name(task);
        let files = self.forge.attachments(&repository.at, thread).await.ok()?;
        let file = files.into_iter().find(|file| file.name == name)?;
        let plain = file.uuid.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        plain.then(|| format!("{}/attachments/{}", base.as_str().trim_end_matches('/'), file.uuid))
    }
}
