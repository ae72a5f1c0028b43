//! Approvals of what a task has delivered: where the one before was withdrawn, a new one is taken up while the pull request stays open. Who:
//! as for every approval. Effect: the task's log has it, and `caisson fetch` reads it. Tests: `tests/stories/approved_again.rs`.

use super::Feed;
use super::follow::Follower;
use super::keys::decision_key;
use super::read::Part;
use crate::config::process::Repository;
use crate::trouble::Trouble;
use domain::{Input, Task, Verb};

impl Follower {
    /// Feeds the approvals on the pull request of a delivered task that were not taken up yet. One that is closed or merged takes none.
    ///
    /// # Errors
    /// Also where the forge does not show the pull request's thread: its approvals wait for the next reading.
    pub async fn approvals_after(&self, entry: &Repository, task: &Task, feed: &dyn Feed) -> Result<(), Trouble> {
        let at = self.addresses.at(entry)?;
        let mut thread = self.reader.thread(entry, &at, task, &[]).await?;
        self.moves.was_at(entry, &at, feed).await?;
        if let Some(part) = thread.hidden.iter().find(|part| matches!(part.what, Part::Pull(_))) {
            return Err(Trouble::later(format!("{} cannot be read: {}", part.what, part.error)));
        }
        // What is said on the issue is not about what was delivered, and holds up no approval.
        thread.comments.retain(|comment| Some(comment.issue) == task.pull);
        thread.issue = None;
        if !thread.pull.as_ref().is_some_and(|pull| pull.open && !pull.merged) {
            return Ok(());
        }
        let found = self.decisions.decisions(entry, task, &thread, None).await?;
        for decision in found.decisions.into_iter().map(|it| it.decision) {
            if matches!(decision.verb, Verb::Approve { .. }) {
                let key = decision_key(&decision.source);
                feed.feed(task.id, &key, Input::Decided { decision: Box::new(decision) }).await?;
            }
        }
        found.failed.map_or(Ok(()), Err)
    }
}
