//! Attaches what the agent did to the pull request of approved work, and to that of a task that ended otherwise or its issue; once. Tests: `tests/stories/action_log.rs`, `tests/stories/kills.rs`.

use super::attachment::{Attached, On, attach_or_refused};
use super::repository::request;
use super::review::Talk;
use crate::message;
use crate::secret::without;
use crate::store::EffectRow;
use crate::trouble::Trouble;
use domain::{Event, Input, Task};

/// Tries after which there is no file and no comment, because what waits behind this one matters more. Those of the title before it count.
const MOST: i64 = 5;

impl Talk {
    /// Attaches the file, unless it hangs there already or a comment took its place. After the last try a failure is ignored, because nothing depends on the file.
    pub(super) async fn attach_log(&self, task: &Task, row: &EffectRow) -> Result<Input, Trouble> {
        match self.put_log(task, row).await {
            Ok(()) => Ok(Input::Settled),
            Err(trouble @ Trouble::Failed(_)) => Ok(given_up(task, &trouble)),
            // The repository has another address: the next try finds it there.
            Err(trouble @ Trouble::Moved { .. }) => Err(trouble),
            Err(trouble) if row.tries >= MOST => Ok(given_up(task, &trouble)),
            Err(trouble) => Err(trouble),
        }
    }

    /// Name of the task's log of actions.
    pub(super) fn log_name(&self, task: &Task) -> String {
        message::action_log_name(task.id.0, &self.posts.digits(&format!("{}:actions", task.id)))
    }

    async fn put_log(&self, task: &Task, row: &EffectRow) -> Result<(), Trouble> {
        let (repository, thread) = (self.repositories.of(task)?, log_thread(task)?);
        let post = self.post(task, row, &repository, thread);
        if self.posts.has_comment(&post).await? {
            return Ok(());
        }
        let log: Vec<Event> = self.store.log(task.id).await?.into_iter().map(|(_, event)| event).collect();
        // Each text is redacted by itself; over the whole only the bot's own secrets are searched.
        let (name, text) = (self.log_name(task), without(&message::action_log(task.id.0, &log)));
        let (on, file) = (On::Thread(thread), (name.as_str(), text.as_bytes()));
        match attach_or_refused(&*self.forge, &repository.at, on, file, row.tries).await? {
            Attached::Hangs => {}
            // On an issue nothing stands in the file's place: what people discuss there would be drowned.
            Attached::Refused if task.pull.is_none() => {}
            Attached::Refused => {
                let text = without(&message::action_log_comment(task.id.0, &log));
                self.posts.comment(&post, &text).await?;
            }
        }
        Ok(())
    }
}

/// The pull request or issue that the log hangs on.
pub(super) fn log_thread(task: &Task) -> Result<u64, Trouble> {
    Ok(task.pull.unwrap_or(request(task)?.issue))
}

fn given_up(task: &Task, trouble: &Trouble) -> Input {
    tracing::warn!(task = %task.id, %trouble, "the log of actions is not attached; `caisson task export` has it");
    Input::Settled
}
