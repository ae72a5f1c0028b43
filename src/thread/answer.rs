//! Answers where no task is at work, and those beside a task's own: each posted once for its key, also when the forge fails in between or the
//! bot is killed. Tests: `tests/stories/answers.rs`, `tests/stories/delivery/`.

use super::accounts::Accounts;
use super::audit::{Asking, Audit};
use crate::checkpoint::mark;
use crate::clock::now;
use crate::config::process::Repository;
use crate::forge::{Forge, ForgeError, IssueLocks, Refusals, RepositoryAddresses};
use crate::redact::in_comment;
use crate::secret::Secret;
use crate::store::Store;
use crate::trouble::Trouble;
use std::sync::Arc;
use std::time::Duration;

/// Posts answers.
pub struct Answers {
    pub(super) store: Store,
    pub(super) forge: Arc<dyn Forge>,
    pub(super) addresses: Arc<RepositoryAddresses>,
    pub(super) accounts: Arc<Accounts>,
    /// What is kept of a refusal.
    pub audit: Arc<Audit>,
    /// Key of the marks by which answers are found again.
    pub(super) mark_key: Secret,
    /// How long a request that was cut may still arrive, in milliseconds.
    pub(super) settle_ms: u64,
    /// One answer at a time on each issue or pull request.
    pub(super) turns: IssueLocks,
    /// Answers that the forge refused, by their keys.
    pub(super) refused: Refusals<String>,
}

impl Answers {
    /// Posts an answer, once for each key. That it begins is noted first, and the key once it stands: a later try of one that was begun looks
    /// for it on the forge before it posts.
    ///
    /// # Errors
    /// When the forge cannot take it now; the reading is then done again. An answer that it refuses for certain is given up.
    pub async fn answer_once(&self, entry: &Repository, number: u64, key: &str, text: &str) -> Result<(), Trouble> {
        // An issue and its pull request may be read at the same time, for the same text.
        let _turn = self.turns.enter(&entry.key, number).await;
        if self.is_answered(entry, number, key).await? {
            return Ok(());
        }
        self.store.note_input_of(&entry.key, &begun(key), now()).await?;
        let body = format!("{}\n\n{}", in_comment(text), mark::mark(self.mark_key.bytes(), &sign(entry, key)));
        match self.forge.post_comment(&self.addresses.at(entry)?, number, &body).await {
            Ok(_) => {}
            Err(error) if self.is_final(key, &error).await => {
                tracing::warn!(repository = entry.key, number, key, %error, "not answered: the forge refuses it");
            }
            Err(error) => return Err(not_now(error)),
        }
        self.refused.forget(&key.to_owned());
        self.store.note_input_of(&entry.key, key, now()).await?;
        Ok(())
    }

    /// Refuses what the text with this key asks for, with one answer for each person on an issue or pull request. That it is refused is kept
    /// of each text.
    ///
    /// # Errors
    /// As [`Answers::answer_once`].
    pub async fn refuse_once(
        &self,
        entry: &Repository,
        number: u64,
        key: &str,
        asking: Asking<'_>,
        text: &str,
    ) -> Result<(), Trouble> {
        if self.store.knows_input(key).await? {
            return Ok(());
        }
        self.audit.note_refused(entry, number, key, asking, text).await?;
        self.store.note_input_of(&entry.key, &refusing(key), now()).await?;
        self.answer_once(entry, number, &refusal(entry, number, asking.id), text).await?;
        // Noted last: what is cut before is done again.
        self.store.note_input_of(&entry.key, key, now()).await?;
        Ok(())
    }

    /// Answers the text with this key, which the account `who` wrote, where nobody is answered so twice on an issue or pull request.
    ///
    /// # Errors
    /// As [`Answers::answer_once`].
    pub async fn tell_once(
        &self,
        entry: &Repository,
        number: u64,
        key: &str,
        (who, text): (i64, &str),
    ) -> Result<(), Trouble> {
        self.answer_once(entry, number, &format!("told:{}:{number}:{who}", entry.key), text).await?;
        self.store.note_input_of(&entry.key, key, now()).await?;
        Ok(())
    }

    /// Whether a text of `who` was taken up. If its answer or refusal stands and only that was not noted, it is noted now: people have read
    /// it, so the text is not judged anew by what changed since.
    pub async fn is_taken_up(&self, entry: &Repository, number: u64, key: &str, who: i64) -> Result<bool, Trouble> {
        let _turn = self.turns.enter(&entry.key, number).await;
        if self.is_answered(entry, number, key).await? {
            return Ok(true);
        }
        if !self.store.knows_input(&refusing(key)).await?
            || !self.is_answered(entry, number, &refusal(entry, number, who)).await?
        {
            return Ok(false);
        }
        self.store.note_input_of(&entry.key, key, now()).await?;
        Ok(true)
    }

    /// Whether this answer stands, or was given up. One that was begun is looked for on the forge, and noted if it is there. The caller
    /// holds the turn.
    async fn is_answered(&self, entry: &Repository, number: u64, key: &str) -> Result<bool, Trouble> {
        if self.store.knows_input(key).await? {
            return Ok(true);
        }
        if !self.store.knows_input(&begun(key)).await? || !self.stands(entry, number, key).await? {
            return Ok(false);
        }
        self.store.note_input_of(&entry.key, key, now()).await?;
        Ok(true)
    }

    /// Whether an earlier try posted this answer; of two the younger is deleted.
    async fn stands(&self, entry: &Repository, number: u64, key: &str) -> Result<bool, Trouble> {
        // What was cut may still arrive.
        tokio::time::sleep(Duration::from_millis(self.settle_ms)).await;
        let (at, sign) = (self.addresses.at(entry)?, sign(entry, key));
        let mut ours = self.forge.comments(&at, number).await?;
        ours.retain(|it| it.author.id == self.accounts.me.id && mark::is_of(self.mark_key.bytes(), &sign, &it.body));
        ours.sort_by_key(|comment| comment.id);
        for younger in ours.iter().skip(1) {
            self.forge.delete_comment(&at, younger.id).await?;
        }
        Ok(!ours.is_empty())
    }

    /// Whether trying again would change nothing: a text that is refused; a locked thread, a blocked user, a lost right, each once it is
    /// certain, because a forge that is starting says so as well.
    async fn is_final(&self, key: &str, error: &ForgeError) -> bool {
        match error {
            ForgeError::Invalid(_) | ForgeError::TooLarge(_) => true,
            ForgeError::NotFound(_) | ForgeError::Forbidden(_) | ForgeError::Conflict(_) => {
                let answers = self.accounts.forge_answers().await;
                if !answers {
                    self.refused.forget(&key.to_owned());
                }
                answers && self.refused.heard(&key.to_owned())
            }
            ForgeError::Unavailable { .. }
            | ForgeError::Ambiguous(_)
            | ForgeError::Protocol(_)
            | ForgeError::Moved(_) => {
                self.refused.forget(&key.to_owned());
                false
            }
        }
    }
}

/// Key that says that an answer was begun.
fn begun(key: &str) -> String {
    format!("answering:{key}")
}

/// Key that says that the text with this key is being refused.
fn refusing(key: &str) -> String {
    format!("refusing:{key}")
}

/// Key of the one refusal of an account on an issue or pull request.
fn refusal(entry: &Repository, number: u64, who: i64) -> String {
    format!("refused:{}:{number}:{}", entry.key, who)
}

/// What the mark of an answer says.
fn sign(entry: &Repository, key: &str) -> String {
    format!("{}:{key}", entry.key)
}

/// An answer that the forge does not take: the thread itself may be read, so this is no verdict about it.
fn not_now(error: ForgeError) -> Trouble {
    match error {
        ForgeError::NotFound(_) | ForgeError::Forbidden(_) | ForgeError::Conflict(_) => {
            Trouble::later(format!("an answer is not taken: {error}"))
        }
        other => other.into(),
    }
}
