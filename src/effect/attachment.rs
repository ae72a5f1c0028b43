//! Files that the bot attaches to what it posts: each once, found again by its name. Tests: `tests/stories/action_log.rs`,
//! `tests/stories/artifacts.rs`, `tests/stories/test_runs.rs`.

use crate::forge::{Forge, ForgeError, RepoRef};
use crate::trouble::Trouble;

/// Tries after which a refusal of the forge is final; the ones before may have failed for other reasons.
const CERTAIN: i64 = 2;

/// Where a file hangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum On {
    /// On the issue or pull request of this number.
    Thread(u64),
    /// On the comment of this id.
    Comment(i64),
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attached {
    /// A file of its name hangs there.
    Hangs,
    /// The forge takes no such file.
    Refused,
}

/// Attaches a file of this name and content, unless one of this name hangs there. By its name alone: an attachment whose answer was lost may
/// be of an earlier version of the bot, which wrote other content.
pub(super) async fn attach_once(
    forge: &dyn Forge,
    at: &RepoRef,
    on: On,
    (name, bytes): (&str, &[u8]),
) -> Result<(), ForgeError> {
    if hangs(forge, at, on, name).await? {
        return Ok(());
    }
    match on {
        On::Thread(number) => forge.attach(at, number, name, bytes.to_vec()).await,
        On::Comment(id) => forge.attach_to_comment(at, id, name, bytes.to_vec()).await,
    }
}

/// Whether a file of this name hangs there.
pub(super) async fn hangs(forge: &dyn Forge, at: &RepoRef, on: On, name: &str) -> Result<bool, ForgeError> {
    let there = match on {
        On::Thread(number) => forge.attachments(at, number).await?,
        On::Comment(id) => forge.comment_attachments(at, id).await?,
    };
    Ok(there.iter().any(|file| file.name == name))
}

/// As [`attach_once`], where a refusal counts once the same one came twice in a try after some (`tries`: those before this one).
///
/// # Errors
/// Everything that may pass, a refusal that is not certain yet among it.
pub(super) async fn attach_or_refused(
    forge: &dyn Forge,
    at: &RepoRef,
    on: On,
    file: (&str, &[u8]),
    tries: i64,
) -> Result<Attached, Trouble> {
    let Err(refusal) = attach_once(forge, at, on, file).await else { return Ok(Attached::Hangs) };
    if !is_refusal(&refusal) {
        return Err(refusal.into());
    }
    if tries >= CERTAIN {
        match attach_once(forge, at, on, file).await {
            Ok(()) => return Ok(Attached::Hangs),
            Err(again) if std::mem::discriminant(&again) == std::mem::discriminant(&refusal) => {
                return Ok(Attached::Refused);
            }
            Err(_) => {}
        }
    }
    Err(Trouble::later(format!("{} cannot be attached: {refusal}", file.0)))
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
