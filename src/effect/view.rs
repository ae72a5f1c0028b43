//! Collects what a review shows beyond the task's log: addresses for people, what the router logged, and what the model is.

use super::review::Talk;
use crate::checkpoint::gather::{Around, gather, start};
use crate::checkpoint::overlap;
use crate::checkpoint::reached::reached;
use crate::checkpoint::view::CheckpointView;
use crate::trouble::Trouble;
use domain::{Event, Task};

impl Talk {
    /// Everything that the review of checkpoint `n` says; `last` is true for the final one.
    pub(super) async fn view(&self, task: &Task, n: u32, last: bool) -> Result<CheckpointView, Trouble> {
        let log = self.store.log(task.id).await?;
        let (times, log): (Vec<i64>, Vec<Event>) = log.into_iter().unzip();
        let since = start(&log, n).checked_sub(1).and_then(|at| times.get(at)).copied().unwrap_or(0);
        let note = self.config.egress.upload_note_kib.saturating_mul(1024);
        let reached = reached(&self.store.egress(task.id).await?, since, note);
        let repository = task.request.as_ref().map(|request| request.repository.as_str()).unwrap_or_default();
        let around = Around {
            compare_url: self.compare_url(task),
            blocked: reached.blocked,
            uploads: reached.uploads,
            overlaps: overlap::gather(&self.store.shared_files(task.id).await?),
            priced: self.speakers.of(task).each().iter().any(|it| it.model.price() != crate::llm::Price::default()),
            scripted: self.speakers.of(task).each().iter().any(|it| it.model.scripted()),
            last,
            approvals: if task.kind.reads_only() { 1 } else { self.config.approvals_of(repository) },
        };
        Ok(gather(task, &log, n, around))
    }

    fn compare_url(&self, task: &Task) -> Option<String> {
        let request = task.request.as_ref()?;
        let repository = self.repositories.of(task).ok()?;
        let base = self.config.people_url()?;
        let base = base.as_str().trim_end_matches('/');
        Some(format!("{base}/{}/compare/{}...{}", repository.at, request.base_branch, request.branch))
    }
}
