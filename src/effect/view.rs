//! What stands outside a task's log and belongs into its review: addresses for people, blocked hosts, what the model is.

use super::{Performer, Trouble};
use crate::checkpoint::gather::{Around, gather, start};
use crate::checkpoint::view::{BlockedLine, CheckpointView};
use domain::{Event, Task};
use protocol::router::{LogEntry, Verdict};
use std::collections::BTreeMap;

impl Performer {
    /// Everything the review of checkpoint `n` says; `last` marks the final one.
    pub(super) async fn view(&self, task: &Task, n: u32, last: bool) -> Result<CheckpointView, Trouble> {
        let log = self.store.log(task.id).await?;
        let (times, log): (Vec<i64>, Vec<Event>) = log.into_iter().unzip();
        let since = start(&log, n).checked_sub(1).and_then(|at| times.get(at)).copied().unwrap_or(0);
        let around = Around {
            compare_url: self.compare_url(task),
            log_url: None,
            blocked: self.blocked(task, since).await?,
            priced: self.model.price() != crate::llm::Price::default(),
            scripted: self.model.scripted(),
            last,
        };
        Ok(gather(task, &log, n, around))
    }

    /// Hosts the router refused this task since then, with counts, from the log kept with it.
    async fn blocked(&self, task: &Task, since: i64) -> Result<Vec<BlockedLine>, Trouble> {
        let mut counts: BTreeMap<(String, u16), u64> = BTreeMap::new();
        for line in self.store.egress(task.id).await? {
            let Ok(entry) = serde_json::from_str::<LogEntry>(&line) else { continue };
            if entry.ts > since && entry.verdict == Verdict::Denied && !entry.host.is_empty() {
                *counts.entry((entry.host, entry.port)).or_default() += entry.count.max(1);
            }
        }
        Ok(counts.into_iter().map(|((host, port), count)| BlockedLine { host, port, count }).collect())
    }

    fn compare_url(&self, task: &Task) -> Option<String> {
        let request = task.request.as_ref()?;
        let repository = self.repository(task).ok()?;
        let base = self.config.people_url()?;
        let base = base.as_str().trim_end_matches('/');
        Some(format!("{base}/{}/compare/{}...{}", repository.at, request.base_branch, request.branch))
    }
}
