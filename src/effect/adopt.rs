//! Taking over a repository from another host. Tests: `tests/stories/several.rs`.

use super::lifecycle::Lifecycle;
use crate::trouble::Trouble;
use domain::TaskId;

impl Lifecycle {
    /// Prepares this host for a repository that another host worked for: removes sandboxes of ended tasks and those older than their task's
    /// log, and brings the others to what is allowed now.
    ///
    /// # Errors
    /// When store, engine or router is unavailable: nothing may be done for the repository before this succeeds.
    pub async fn adopt(&self, repository: &str, host: &str) -> Result<(), Trouble> {
        for id in self.sandboxes.of_tasks.tasks() {
            let row = self.store.task_row(TaskId(id)).await?;
            if row.is_some_and(|row| row.repository == repository && !row.live)
                && let Err(error) = self.sandboxes.of_tasks.remove(id).await
            {
                // No live task needs it, so this does not fail the whole.
                tracing::warn!(%error, task = id, "the sandbox of a task that has ended could not be removed");
            }
        }
        for row in self.store.live_tasks().await?.iter().filter(|row| row.repository == repository) {
            self.repositories.known_commits.forget(TaskId(row.id));
            if !row.owner.is_empty() && row.owner != host {
                tracing::info!(task = row.id, "goes on here: another host had it");
                self.sandboxes.of_tasks.moved_here(row.id).await?;
            }
            if self.sandboxes.of_tasks.tasks().contains(&row.id)
                && self.egress.reach_task(TaskId(row.id)).await.is_err()
            {
                self.egress.cut_off(TaskId(row.id)).await?;
            }
        }
        Ok(())
    }
}
