//! Whether something on a pull request may approve again what its task has delivered; what it says is read by `thread`.

use super::reader::Reader;
use super::start::Text;
use crate::config::process::Repository;
use crate::forge::Issue;
use crate::thread::decision_key;
use crate::trouble::Trouble;
use domain::{End, Source, TaskId, Verb};

impl Reader {
    /// Takes up approvals of delivered work, before the texts of its pull request are answered as where no task is at work.
    pub(super) async fn approved_again(
        &self,
        entry: &Repository,
        issue: &Issue,
        texts: &[Text],
    ) -> Result<(), Trouble> {
        if !issue.is_pull || !issue.open || !self.may_approve(texts).await? {
            return Ok(());
        }
        let Some(row) = self.store.newest_task_of(&entry.key, issue.number).await? else { return Ok(()) };
        let task = self.machine.look(TaskId(row.id)).await?;
        if task.pull != Some(issue.number) || task.end() != Some(&End::Delivered) || !task.is_finished() {
            return Ok(());
        }
        self.threads.follower.approvals_after(entry, &task, self.machine.as_ref()).await
    }

    /// Whether a person's review, or an `/approve`, was not taken up yet.
    async fn may_approve(&self, texts: &[Text]) -> Result<bool, Trouble> {
        for text in texts.iter().filter(|text| self.threads.accounts.counts(&text.author)) {
            let may = matches!(text.source, Source::Review(_)) || matches!(text.verb, Verb::Approve { .. });
            if may && !self.store.knows_input(&decision_key(&text.source)).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
