//! Egress of sandboxes in this process: the router, reached through the broker, and its log, stored with the tasks.

use crate::barrier;
use crate::config::Process;
use crate::egress::{Dial, Duplex, Egress, Line, OnEntry, Settings, began, policy};
use crate::sandbox::SandboxEgress;
use crate::sandbox::broker::Broker;
use crate::store::Store;
use anyhow::Result;
use async_trait::async_trait;
use domain::TaskId;
use protocol::broker::RouterSpec;
use protocol::router::LogEntry;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// The most log entries that wait to be stored; further ones are dropped and counted.
const WAITING: usize = 4096;
const BATCH: usize = 256;
/// Time until a store that failed is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// Connects to the router whenever it is gone: ensures it, then attaches.
struct ThroughBroker {
    broker: Arc<dyn Broker>,
    spec: RouterSpec,
}

#[async_trait]
impl Dial for ThroughBroker {
    async fn dial(&self) -> std::io::Result<Box<dyn Duplex>> {
        let failed = |error: protocol::broker::Problem| std::io::Error::other(error.to_string());
        self.broker.router_ensure(&self.spec).await.map_err(failed)?;
        let stream = self.broker.router_attach().await.map_err(failed)?;
        Ok(Box::new(stream))
    }
}

/// Log entries of the router to be stored.
pub struct LogInbox {
    /// Taken from the channel and not stored yet.
    batch: VecDeque<(String, LogEntry)>,
    /// Entries with the router's life that numbered them.
    entries: mpsc::Receiver<(String, LogEntry)>,
    /// File with the last stored entry, because an entry repeated after a restart could be attributed to another task in its subnet.
    place: PathBuf,
}

impl LogInbox {
    /// The entries received so far, for callers that store none.
    pub fn drain(&mut self) -> Vec<LogEntry> {
        std::iter::from_fn(|| self.entries.try_recv().ok()).map(|(_, entry)| entry).collect()
    }
}

/// The last stored entry: the router's life and its number.
fn noted(place: &Path) -> Option<(String, u64)> {
    serde_json::from_slice(&std::fs::read(place).ok()?).ok()
}

/// The router that a configuration asks for.
pub fn router_spec(config: &Process) -> RouterSpec {
    let some = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    RouterSpec {
        subnets: config.router.subnets,
        pool: some(&config.router.pool),
        image: config.router.image.clone(),
        upstream: some(&config.router.upstream),
        private: config.egress.private_ranges.clone(),
    }
}

/// Ensures a router and sets the operator's policy. Fails without one, so that a bot with a network never starts without control.
pub async fn way_out(config: &Process, broker: &Arc<dyn Broker>) -> Result<(Arc<Egress>, LogInbox)> {
    let (entries, inbox) = mpsc::channel(WAITING);
    let on_entry: OnEntry = Arc::new(move |boot, entry| {
        if entries.try_send((boot.to_owned(), entry.clone())).is_err() {
            metrics::counter!("caisson_egress_dropped_total").increment(1);
        }
    });
    let through = ThroughBroker { broker: broker.clone(), spec: router_spec(config) };
    let first = through.dial().await?;
    let mut policy = policy(&config.egress)?;
    // Addresses of the machine that sandboxes run on, because a public one among them must be refused by name as well.
    let host = broker.host(&config.router.image).await.map_err(anyhow::Error::new)?;
    policy.private.extend(host.own());
    let place = config.state_dir.join("router-log.json");
    let settings = Settings { policy, dial: Some(Arc::new(through)), on_entry: Some(on_entry), resume: noted(&place) };
    let egress = Egress::new(settings);
    egress.attach(first).await?;
    Ok((egress, LogInbox { batch: VecDeque::new(), entries: inbox, place }))
}

/// Stores each entry with the task that had its subnet when it was written.
pub async fn keep_log(inbox: &mut LogInbox, store: &Store, egress: &SandboxEgress) {
    loop {
        let mut last = None;
        while let Some((boot, entry)) = inbox.batch.pop_front() {
            last = Some((boot.clone(), entry.seq));
            // One of the barrier's own subnets, or an entry before any allocation.
            let Some(task) = egress.held_by(&boot, &entry) else { continue };
            while let Err(error) = keep(store, TaskId(task), entry.clone()).await {
                tracing::warn!(%error, task, "a line of the router's log is not kept yet; tried again");
                tokio::time::sleep(AGAIN).await;
            }
        }
        let note = last.map(|last| serde_json::to_vec(&last).map_err(std::io::Error::other));
        if let Some(Err(error)) = note.map(|note| note.and_then(|note| std::fs::write(&inbox.place, note))) {
            tracing::warn!(%error, "where the router's log was read to could not be noted");
        }
        let mut more = Vec::with_capacity(BATCH);
        if inbox.entries.recv_many(&mut more, BATCH).await == 0 {
            return;
        }
        inbox.batch.extend(more);
    }
}

/// Stores one entry with its task, and the action that was under way when it began.
async fn keep(store: &Store, task: TaskId, entry: LogEntry) -> Result<()> {
    let action = store.action_at(task, began(&entry)).await?;
    // Caused by the bot itself, before the task ran anything.
    if action.is_none() && barrier::is_own(&entry.host) {
        return Ok(());
    }
    // Unique within the task, and the same if the router repeats it.
    let (seq, ts) = ((entry.ts << 12) | (entry.seq & 0xFFF) as i64, entry.ts);
    let body = serde_json::to_string(&Line { task: task.0, action, entry })?;
    Ok(store.keep_egress(task, vec![(seq, ts, body)]).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(ts: i64, ms: u64) -> LogEntry {
        let entry = serde_json::json!({
            "seq": ts, "ts": ts, "berth": 0, "verdict": "denied", "host": "a.test", "port": 443,
            "up": 0, "down": 0, "ms": ms, "reason": "", "count": 1
        });
        serde_json::from_value(entry).unwrap()
    }

    #[tokio::test]
    async fn a_line_belongs_to_the_action_during_which_it_began() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).await.unwrap();
        let task = crate::store::tests::acting(&store).await;
        // Entries are written at the end of a connection: the second one began before the first action ended.
        for (ts, ms) in [(150, 20), (320, 150), (250, 10), (400, 50)] {
            keep(&store, task, entry(ts, ms)).await.unwrap();
        }
        let lines = store.egress(task).await.unwrap();
        let lines: Vec<Line> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let drain: Vec<_> = lines.iter().map(|line| (line.entry.ts, line.task, line.action)).collect();
        let id = task.0;
        assert_eq!(drain, [(150, id, Some(1)), (250, id, None), (320, id, Some(1)), (400, id, Some(2))]);
    }

    /// Stores these entries as if from a router, with the state directory's allocations.
    async fn stored(dir: &Path, store: &Store, lines: impl IntoIterator<Item = (&str, LogEntry)>) -> PathBuf {
        let place = dir.join("router-log.json");
        let (send, entries) = mpsc::channel(64);
        for (boot, entry) in lines {
            send.send((boot.to_owned(), entry)).await.unwrap();
        }
        drop(send);
        let settings = crate::sandbox::Settings::new(dir, "image");
        let broker = Arc::new(crate::sandbox::broker::SocketBroker::new(dir.join("none")));
        let repos = crate::git::Repos::new(dir);
        let sandboxes = crate::sandbox::Sandboxes::new(broker, None, repos, settings, 1).unwrap();
        let mut inbox = LogInbox { batch: VecDeque::new(), entries, place: place.clone() };
        keep_log(&mut inbox, store, &sandboxes.egress).await;
        place
    }

    #[tokio::test]
    async fn what_was_stored_is_not_asked_for_again() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(noted(&dir.path().join("router-log.json")), None);
        let store = Store::open(dir.path()).await.unwrap();
        let place = stored(dir.path(), &store, [("b1", entry(7, 0)), ("b1", entry(8, 0))]).await;
        assert_eq!(noted(&place), Some(("b1".to_owned(), 8)));
    }

    #[tokio::test]
    async fn a_line_that_comes_after_its_sandbox_is_gone_is_kept_with_its_task_and_not_with_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).await.unwrap();
        let leases = r#"[{"berth":0,"task":1,"after":["b1",2],"at":0},{"berth":0,"task":2,"after":["b1",7],"at":0}]"#;
        std::fs::write(dir.path().join("berths.json"), leases).unwrap();
        let lines = [2, 3, 7, 8, 9].map(|seq| ("b1", entry(seq, 0)));
        // Twice, as after a life that was interrupted before it recorded them.
        for _ in 0..2 {
            stored(dir.path(), &store, lines.clone()).await;
        }
        for (task, expected) in [(1, vec![3, 7]), (2, vec![8, 9])] {
            let lines = store.egress(TaskId(task)).await.unwrap();
            let drain: Vec<Line> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(
                drain.iter().map(|line| (line.task, line.entry.seq)).collect::<Vec<_>>(),
                expected.iter().map(|seq| (task, *seq)).collect::<Vec<_>>()
            );
        }
    }
}
