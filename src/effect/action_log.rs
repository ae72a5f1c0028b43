//! Attaches what the agent did to the pull request of approved work, once. Tests: `tests/stories/action_log.rs`, `tests/stories/kills.rs`.

use super::review::Talk;
use crate::forge::ForgeError;
use crate::message;
use crate::redact::without;
use crate::store::EffectRow;
use crate::trouble::Trouble;
use domain::{Event, Input, Task};

/// Tries after which a refusal of the forge is final, and a comment takes the file's place.
const CERTAIN: i64 = 2;

impl Talk {
    /// Attaches the file, unless it hangs there already by name and size. Nothing relies on it.
    pub(super) async fn attach_log(&self, task: &Task, row: &EffectRow) -> Result<Input, Trouble> {
        let Some(pull) = task.pull else { return Ok(Input::Settled) };
        let repository = self.repositories.of(task)?;
        let log: Vec<Event> = self.store.log(task.id).await?.into_iter().map(|(_, event)| event).collect();
        let (name, text) = (message::action_log_name(task.id.0), without(message::action_log(task.id.0, &log)));
        let attached = match self.forge.attachments(&repository.at, pull).await {
            Ok(there) if there.iter().any(|file| file.name == name && file.size == text.len() as u64) => Ok(()),
            Ok(_) => self.forge.attach(&repository.at, pull, &name, text.into_bytes()).await,
            Err(error) => Err(error),
        };
        match attached {
            Ok(()) => {}
            // Switched off, or not this type or size.
            Err(
                error @ (ForgeError::NotFound(_)
                | ForgeError::Forbidden(_)
                | ForgeError::Invalid(_)
                | ForgeError::TooLarge(_)),
            ) => {
                if row.tries < CERTAIN {
                    return Err(Trouble::later(format!("the log of actions cannot be attached: {error}")));
                }
                let text = without(message::action_log_comment(task.id.0, &log));
                self.posts.comment(&self.post(task, row, &repository, pull), &text).await?;
            }
            Err(other) => return Err(other.into()),
        }
        Ok(Input::Settled)
    }
}
