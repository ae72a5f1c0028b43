//! Answers where no task is at work, and those beside a task's own: each posted once for its key, also when the forge fails in between or the
//! bot is killed. Tests: `tests/stories/answers.rs`, `tests/stories/delivery/`.

use super::Threads;
use crate::checkpoint::mark;
use crate::clock::now;
use crate::config::process::Repository;
use crate::forge::{ForgeError, RepoRef};
use crate::trouble::Trouble;
use std::time::Duration;

impl Threads {
    /// Posts an answer, once for each key. That it begins is noted first, and the key once it stands: a later try of one that was begun looks
    /// for it on the forge before it posts.
    ///
    /// # Errors
    /// When the forge cannot take it now; the reading is then done again. An answer that it refuses for good is given up.
    pub async fn answer_once(&self, entry: &Repository, number: u64, key: &str, text: &str) -> Result<(), Trouble> {
        if self.store.knows_input(key).await? {
            return Ok(());
        }
        let begun = format!("answering:{key}");
        let again = !self.store.note_input_of(&entry.key, &begun, now()).await?;
        let (at, sign) = (self.place(entry)?, format!("{}:{key}", entry.key));
        if !(again && self.stands(&at, number, &sign).await?) {
            let body = format!("{text}\n\n{}", mark::mark(self.mark_key.bytes(), &sign));
            match self.forge.post_comment(&at, number, &body).await {
                Ok(_) => {}
                Err(error) if self.is_final(&error).await => {
                    tracing::warn!(repository = entry.key, number, key, %error, "not answered: the forge refuses it");
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.store.note_input_of(&entry.key, key, now()).await?;
        Ok(())
    }

    /// Whether an earlier try posted this answer; of two the younger is deleted.
    async fn stands(&self, at: &RepoRef, number: u64, sign: &str) -> Result<bool, Trouble> {
        // What was cut may still arrive.
        tokio::time::sleep(Duration::from_millis(self.config.forge.settle_ms)).await;
        let wanted = mark::find(self.mark_key.bytes(), &mark::mark(self.mark_key.bytes(), sign));
        let mut ours = self.forge.comments(at, number).await?;
        ours.retain(|it| it.author.id == self.me.id && mark::find(self.mark_key.bytes(), &it.body) == wanted);
        ours.sort_by_key(|comment| comment.id);
        for younger in ours.iter().skip(1) {
            self.forge.delete_comment(at, younger.id).await?;
        }
        Ok(!ours.is_empty())
    }

    /// Whether trying again would change nothing: a locked thread, a blocked user, a text that is refused. A forge that is starting says "not
    /// found" and "forbidden" as well.
    async fn is_final(&self, error: &ForgeError) -> bool {
        match error {
            ForgeError::Invalid(_) | ForgeError::TooLarge(_) | ForgeError::Conflict(_) => true,
            ForgeError::NotFound(_) | ForgeError::Forbidden(_) => self.forge_answers().await,
            ForgeError::Unavailable { .. }
            | ForgeError::Ambiguous(_)
            | ForgeError::Protocol(_)
            | ForgeError::Moved(_) => false,
        }
    }
}
