//! Attaches what the agent did to the pull request of approved work, once. Tests: `tests/stories/action_log.rs`, `tests/stories/kills.rs`.

use super::repository::Repository;
use super::review::Talk;
use crate::forge::ForgeError;
use crate::message;
use crate::secret::without;
use crate::store::EffectRow;
use crate::trouble::Trouble;
use domain::{Event, Input, Task};

/// Tries after which a refusal of the forge is final, and a comment takes the file's place.
const CERTAIN: i64 = 2;
/// Tries after which there is no file and no comment, because what waits behind this one matters more. Those of the title before it count.
const MOST: i64 = 5;

impl Talk {
    /// Attaches the file, unless it hangs there already or a comment took its place. After the last try a failure is ignored, because nothing depends on the file.
    pub(super) async fn attach_log(&self, task: &Task, row: &EffectRow) -> Result<Input, Trouble> {
        let Some(pull) = task.pull else { return Ok(Input::Settled) };
        match self.put_log(task, row, pull).await {
            Ok(()) => Ok(Input::Settled),
            Err(trouble @ Trouble::Failed(_)) => Ok(given_up(task, &trouble)),
            // The repository has another address: the next try finds it there.
            Err(trouble @ Trouble::Moved { .. }) => Err(trouble),
            Err(trouble) if row.tries >= MOST => Ok(given_up(task, &trouble)),
            Err(trouble) => Err(trouble),
        }
    }

    async fn put_log(&self, task: &Task, row: &EffectRow, pull: u64) -> Result<(), Trouble> {
        let repository = self.repositories.of(task)?;
        let post = self.post(task, row, &repository, pull);
        if self.posts.has_comment(&post).await? {
            return Ok(());
        }
        let log: Vec<Event> = self.store.log(task.id).await?.into_iter().map(|(_, event)| event).collect();
        // Each text is redacted by itself; over the whole only the bot's own secrets are searched.
        let file = (message::action_log_name(task.id.0), without(&message::action_log(task.id.0, &log)));
        let Err(refusal) = self.attach_once(&repository, pull, &file).await else { return Ok(()) };
        if !is_refusal(&refusal) {
            return Err(refusal.into());
        }
        // The tries before this one may have failed for other reasons: the same refusal has to come twice.
        if row.tries >= CERTAIN {
            match self.attach_once(&repository, pull, &file).await {
                Ok(()) => return Ok(()),
                Err(again) if std::mem::discriminant(&again) == std::mem::discriminant(&refusal) => {
                    let text = without(&message::action_log_comment(task.id.0, &log));
                    self.posts.comment(&post, &text).await?;
                    return Ok(());
                }
                Err(_) => {}
            }
        }
        Err(Trouble::later(format!("the log of actions cannot be attached: {refusal}")))
    }

    /// By its name alone: an attachment whose answer was lost may be of an earlier version of the bot, which wrote another text.
    async fn attach_once(
        &self,
        repository: &Repository,
        pull: u64,
        (name, text): &(String, String),
    ) -> Result<(), ForgeError> {
        if self.forge.attachments(&repository.at, pull).await?.iter().any(|file| file.name == *name) {
            return Ok(());
        }
        self.forge.attach(&repository.at, pull, name, text.clone().into_bytes()).await
    }
}

/// Whether attachments are switched off, or not of this type or size.
fn is_refusal(error: &ForgeError) -> bool {
    match error {
        ForgeError::NotFound(_) | ForgeError::Forbidden(_) | ForgeError::Invalid(_) | ForgeError::TooLarge(_) => true,
        ForgeError::Moved(_)
        | ForgeError::Conflict(_)
        | ForgeError::Unavailable { .. }
        | ForgeError::Ambiguous(_)
        | ForgeError::Protocol(_) => false,
    }
}

fn given_up(task: &Task, trouble: &Trouble) -> Input {
    tracing::warn!(task = %task.id, %trouble, "the log of actions is not attached; `caisson task export` has it");
    Input::Settled
}
