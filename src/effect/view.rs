//! Collects what a review shows beyond the task's log: addresses for people, what the router logged, and what the model is.

use super::repository::{Repositories, Repository};
use super::review::Talk;
use crate::checkpoint::gather::{ViewContext, gather, start};
use crate::checkpoint::overlap;
use crate::checkpoint::reached::reached;
use crate::checkpoint::view::{BaseMoved, CheckpointView};
use crate::forge::gitea::pages::comparison;
use crate::thread::{Feed, withdrawn_key};
use crate::trouble::Trouble;
use domain::{CiCheck, Commit, Event, Input, Task};
use std::collections::BTreeSet;
use std::time::Duration;

/// How long a review waits to be told how far the base branch has moved, and which remarks were taken back; and for the router's log.
const PATIENCE: Duration = Duration::from_secs(5);

impl Talk {
    /// Everything that the review of checkpoint `n` says; `last` is true for the final one.
    pub(super) async fn view(&self, task: &Task, n: u32, last: bool) -> Result<CheckpointView, Trouble> {
        let log = self.store.log(task.id).await?;
        let (times, log): (Vec<i64>, Vec<Event>) = log.into_iter().unzip();
        let since = start(&log, n).checked_sub(1).and_then(|at| times.get(at)).copied().unwrap_or(0);
        let note = self.config.egress.upload_note_kib.saturating_mul(1024);
        // A line that is stored later would be in no review: it is older than this checkpoint.
        let late = u64::from(!self.egress.log_is_stored(task.id.0, PATIENCE).await);
        let reached = reached(&self.store.egress_since(task.id, since).await?, since, note);
        let repository = task.request.as_ref().map(|request| request.repository.as_str()).unwrap_or_default();
        let around = ViewContext {
            compare_url: self.compare_url(task),
            commits_url: self.pages(task).map(|pages| format!("{pages}/commit/")),
            blocked: reached.blocked,
            uploads: reached.uploads,
            lost_entries: reached.lost_entries.max(late),
            overlaps: overlap::gather(&self.store.shared_files(task.id).await?),
            base_moved: self.base_moved(task).await,
            scripted: self.models.of(task).each().iter().any(|it| it.model.scripted()),
            last,
            ci: self.ci_so_far(task, last).await,
            approvals: if task.kind.reads_only() { 1 } else { self.config.approvals_of(repository) },
        };
        Ok(gather(task, &log, n, around))
    }

    /// Records open remarks that their authors took back. Only looked for while some are open; an error does not delay the review.
    pub(super) async fn look_for_withdrawn(
        &self,
        task: &Task,
        repository: &Repository,
        feed: &dyn Feed,
    ) -> Result<(), Trouble> {
        let end = tokio::time::Instant::now() + PATIENCE;
        let remarks = self.threads.reader.withdrawn(&repository.at, task, end).await;
        if !remarks.is_empty() {
            let key = withdrawn_key(task.id, &remarks);
            feed.feed(task.id, &key, Input::RemarksWithdrawn { remarks }).await?;
        }
        Ok(())
    }

    /// What came to the base branch since the task began. An error does not delay the review.
    async fn base_moved(&self, task: &Task) -> Option<BaseMoved> {
        let trouble = match tokio::time::timeout(PATIENCE, self.since_base(task)).await {
            Ok(Ok(moved)) => return moved,
            Ok(Err(trouble)) => trouble.to_string(),
            Err(_) => "the forge takes too long".to_owned(),
        };
        tracing::warn!(task = task.id.0, trouble, "whether the base branch moved is not known");
        None
    }

    /// What the forge's CI says so far of a checkpoint that is not the last; what cannot be found out keeps no review back.
    async fn ci_so_far(&self, task: &Task, last: bool) -> Vec<CiCheck> {
        if last || task.ci.is_some() {
            return Vec::new();
        }
        match tokio::time::timeout(PATIENCE, self.ci.known(task)).await {
            Ok(Ok(known)) => known,
            Ok(Err(trouble)) => {
                tracing::warn!(task = task.id.0, %trouble, "what the forge's CI says is not known");
                Vec::new()
            }
            Err(_) => Vec::new(),
        }
    }

    async fn since_base(&self, task: &Task) -> Result<Option<BaseMoved>, Trouble> {
        let (Some(base), Some(head), Some(request)) =
            (&task.base, task.captured.as_ref().or(task.head.as_ref()), &task.request)
        else {
            return Ok(None);
        };
        let repository = self.repositories.of(task)?;
        let now = self.forge.branch(&repository.at, &request.base_branch).await?;
        let Some(now) = now.and_then(|commit| Commit::parse(&commit).ok()).filter(|now| now != base) else {
            return Ok(None);
        };
        let Repositories { repos, auth, .. } = &*self.repositories;
        let key = &repository.key;
        if !repos.has(key, &now).await? {
            repos.fetch(key, &repository.url, Some(auth)).await?;
        }
        let paths = async |from: &Commit, to: &Commit| -> Result<BTreeSet<Vec<u8>>, Trouble> {
            Ok(repos.changes(key, from, to).await?.into_iter().map(|change| change.path).collect())
        };
        let rewritten = !repos.is_ancestor(key, base, &now).await?;
        let (theirs, ours) = (paths(base, &now).await?, paths(base, head).await?);
        let files = theirs.intersection(&ours).map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        let commits = repos.commits_between(key, base, &now).await?;
        let (base, at) = (base.short().to_owned(), now.short().to_owned());
        Ok(Some(BaseMoved { base, at, commits, files, rewritten }))
    }

    fn compare_url(&self, task: &Task) -> Option<String> {
        let request = task.request.as_ref()?;
        comparison(&self.pages(task)?, &request.base_branch, &request.branch)
    }

    /// The address of the repository's pages for people, without a slash at its end.
    pub(super) fn pages(&self, task: &Task) -> Option<String> {
        let repository = self.repositories.of(task).ok()?;
        let base = self.config.people_url()?;
        Some(format!("{}/{}", base.as_str().trim_end_matches('/'), repository.at))
    }
}
