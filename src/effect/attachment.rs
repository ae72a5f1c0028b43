//! Files that the bot attaches to what it posts: each once, found again by its name. Tests: `tests/stories/action_log.rs`,
//! `tests/stories/test_runs.rs`.

use crate::forge::{Forge, ForgeError, RepoRef};

/// Where a file hangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum On {
    /// On the issue or pull request of this number.
    Thread(u64),
    /// On the comment of this id.
    Comment(i64),
}

/// Attaches a text, unless a file of this name hangs there. By its name alone: an attachment whose answer was lost may be of an earlier
/// version of the bot, which wrote another text.
pub(super) async fn attach_once(
    forge: &dyn Forge,
    at: &RepoRef,
    on: On,
    (name, text): &(String, String),
) -> Result<(), ForgeError> {
    let there = match on {
        On::Thread(number) => forge.attachments(at, number).await?,
        On::Comment(id) => forge.comment_attachments(at, id).await?,
    };
    if there.iter().any(|file| file.name == *name) {
        return Ok(());
    }
    let bytes = text.clone().into_bytes();
    match on {
        On::Thread(number) => forge.attach(at, number, name, bytes).await,
        On::Comment(id) => forge.attach_to_comment(at, id, name, bytes).await,
    }
}

/// Whether attachments are switched off, or not of this type or size.
pub(super) fn is_refusal(error: &ForgeError) -> bool {
    match error {
        ForgeError::NotFound(_) | ForgeError::Forbidden(_) | ForgeError::Invalid(_) | ForgeError::TooLarge(_) => true,
        ForgeError::Moved(_)
        | ForgeError::Conflict(_)
        | ForgeError::Unavailable { .. }
        | ForgeError::Ambiguous(_)
        | ForgeError::Protocol(_) => false,
    }
}
