//! Reviews of a person's pull request, and replies to the bot's inline comments there, while a task reads it. They are about the person's work:
//! only their commands, and questions to the bot by its name, are the task's. Tests: `tests/stories/reviews.rs`.

use super::hosts::began;
use super::replies::{InlineComments, Replies};
use super::words;
use crate::config::process::Repository;
use crate::forge::{RepoRef, Review, ReviewComment};
use crate::store::StoreError;
use crate::trouble::Trouble;
use domain::{Access, Task, Verb};

/// The key that is noted once the inline comments of this review are known to hold no command.
pub fn bare_key(review: i64) -> String {
    format!("lines:{review}")
}

/// Whether this review stood on the person's pull request before the task began that reads it.
pub(super) fn is_earlier(review: &Review, task: &Task) -> bool {
    task.persons_pull().is_some() && review.number <= began(task)
}

/// The verb of a text on a person's pull request, or of one by somebody who may not write: its command, else none. `own` are its inline
/// comments. Of somebody who may not write any command of a line counts, to be refused or answered.
pub(super) fn command_alone(verb: Verb, own: &[&ReviewComment], right: Access) -> Verb {
    if !matches!(verb, Verb::Say { .. }) {
        return verb;
    }
    let nothing = Verb::Say { items: Vec::new() };
    if right >= Access::Write {
        return nothing;
    }
    let strongest = words::inline_commands(own).into_iter().rev().max_by_key(|it| it.command.strength);
    strongest.map_or(nothing, |it| it.command.verb)
}

impl InlineComments {
    /// The replies to the bot's own inline comments that give a command or ask the bot by its name, or name it before a command, of those that were written since the task
    /// began. `place` and `again` are those of [`InlineComments::replies`].
    pub(super) async fn replies_with_command(
        &self,
        task: &Task,
        place: (&RepoRef, u64, i64),
        reviews: &[Review],
        again: &[i64],
    ) -> Result<Replies, StoreError> {
        let mine = reviews.iter().filter(|review| review.author.id == self.accounts.me.id);
        let mine: Vec<Review> = mine.cloned().collect();
        let asks = |reply: &ReviewComment| {
            !words::inline_commands(&[reply]).is_empty() || self.accounts.asked_by_name(reply).is_some()
        };
        let mut replies = self.replies(place, &mine, asks, again).await?;
        // Earlier ones are left for when the task has ended.
        replies.found.retain(|reply| reply.id > began(task));
        Ok(replies)
    }

    /// The inline comments of a review on this pull request; nothing is asked for where it is known that they hold no command.
    pub(super) async fn inline_of(
        &self,
        entry: &Repository,
        task: &Task,
        review: &Review,
    ) -> Result<Vec<ReviewComment>, Trouble> {
        let Some(pull) = task.pull.or_else(|| task.persons_pull()).filter(|_| review.comments > 0) else {
            return Ok(Vec::new());
        };
        if task.persons_pull().is_some() && self.store.knows_input(&bare_key(review.id)).await? {
            return Ok(Vec::new());
        }
        Ok(self.forge.review_comments(&self.addresses.at(entry)?, pull, review.id).await?)
    }
}
