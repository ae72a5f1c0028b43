//! Approvals of what a task has delivered: where the one before was withdrawn, a new one is taken up while the pull request stays open. Who:
//! as for every approval. Effect: the task's log has it, and `caisson fetch` reads it. Tests: `tests/stories/approved_again.rs`.

use super::decisions::decision_key;
use super::{Feed, Threads};
use crate::config::process::Repository;
use crate::trouble::Trouble;
use domain::{Input, Task, Verb};

impl Threads {
    /// Feeds the approvals on the pull request of a delivered task that were not taken up yet. One that is closed or merged takes none, nor
    /// does a thread of which a part is hidden.
    pub async fn approvals_after(&self, entry: &Repository, task: &Task, feed: &dyn Feed) -> Result<(), Trouble> {
        let at = self.place(entry)?;
        let thread = self.thread(entry, &at, task, &[]).await?;
        self.was_at(entry, &at, feed).await?;
        let open = thread.pull.as_ref().is_some_and(|pull| pull.open && !pull.merged);
        if !open || !thread.hidden.is_empty() {
            return Ok(());
        }
        let found = self.decisions(entry, task, &thread, None).await?;
        for decision in found.decisions.into_iter().map(|it| it.decision) {
            if matches!(decision.verb, Verb::Approve { .. }) && decision.thread == task.pull {
                let key = decision_key(&decision.source);
                feed.feed(task.id, &key, Input::Decided { decision: Box::new(decision) }).await?;
            }
        }
        found.failed.map_or(Ok(()), Err)
    }
}
