//! Egress of sandboxes in this process: the router, reached through the broker, and its log, stored with the tasks.

use crate::barrier;
use crate::bot::log_sums::TaskLines;
use crate::config::Process;
use crate::egress::{Dial, Duplex, Egress, Line, OnEntry, OnLife, Settings, began, policy};
use crate::sandbox::broker::Broker;
use crate::sandbox::{SandboxEgress, write_whole};
use crate::store::Store;
use anyhow::Result;
use async_trait::async_trait;
use domain::TaskId;
use protocol::broker::RouterSpec;
use protocol::router::LogEntry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;

/// The most log entries that wait to be stored; further ones are lost, which is stored.
const WAITING: usize = 4096;
/// Room beside them for lives of the router that began.
const LIVES: usize = 64;
const BATCH: usize = 256;
/// The most tasks of which it is remembered how much was stored; beyond that, all begin anew.
const REMEMBERED: usize = 256;
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

/// An entry of the router's log, and the router's life that numbered it.
type NumberedEntry = (String, LogEntry);
/// A position in the router's log: its life, and the number of an entry of it.
type Position = (String, u64);

/// What waits to be stored.
enum LogItem {
    Entry(NumberedEntry),
    Life(NewLife),
}

/// Another life of the router than before.
struct NewLife {
    boot: String,
    /// The subnets that may have been open when the one before ended; none = not known.
    cut: Option<BTreeSet<u32>>,
    /// When it answered, Unix milliseconds.
    at: i64,
}

/// Log entries of the router to be stored.
pub struct LogInbox {
    items: mpsc::Receiver<LogItem>,
    /// The newest entry for which there was no room, until it is stored that it was lost.
    dropped: Arc<Mutex<Option<NumberedEntry>>>,
    /// What was stored of each task.
    kept: HashMap<i64, TaskLines>,
    /// The last entry that is stored, or stored as lost.
    read: Option<Position>,
    /// File with that position, because an entry repeated after a restart could be attributed to another task in its subnet.
    place: PathBuf,
}

/// What is new of the router's log for one task.
#[derive(Default)]
struct NewEntries {
    entries: Vec<LogEntry>,
    /// How many were lost that may have been the task's, and the number of the newest of them.
    lost: Option<(u64, u64)>,
}

impl LogInbox {
    /// An inbox that goes on where the file `place` says, and what puts entries and lives into it.
    fn open(place: PathBuf) -> (OnEntry, OnLife, LogInbox) {
        let (sender, items) = mpsc::channel(WAITING + LIVES);
        let dropped = Arc::new(Mutex::new(None));
        let (kept, read) = (HashMap::new(), noted(&place));
        let inbox = LogInbox { items, dropped: dropped.clone(), kept, read, place };
        let lives = sender.clone();
        let on_life: OnLife = Arc::new(move |boot, cut| {
            let life = NewLife { boot: boot.to_owned(), cut: cut.cloned(), at: crate::clock::now() };
            if lives.try_send(LogItem::Life(life)).is_err() {
                tracing::error!(boot, "too many routers were replaced to store with their tasks what that lost");
            }
        });
        let on_entry: OnEntry = Arc::new(move |boot, entry| {
            let numbered = || (boot.to_owned(), entry.clone());
            let room = sender.capacity() > LIVES;
            if !room || sender.try_send(LogItem::Entry(numbered())).is_err() {
                metrics::counter!("caisson_egress_dropped_total").increment(1);
                *dropped.lock().unwrap_or_else(PoisonError::into_inner) = Some(numbered());
            }
        });
        (on_entry, on_life, inbox)
    }

    /// Sorts entries by the tasks that had their subnets when they were written. What is missing between them is lost, for every task
    /// that may have had some of it. Also gives the last entry that is accounted for then.
    fn sort(&self, batch: Vec<LogItem>, egress: &SandboxEgress) -> (BTreeMap<i64, NewEntries>, Option<Position>) {
        let (mut new, mut read) = (BTreeMap::new(), self.read.clone());
        for item in batch {
            let (boot, entry) = match item {
                LogItem::Entry(entry) => entry,
                LogItem::Life(life) => {
                    self.begin(&mut new, &mut read, life, egress);
                    continue;
                }
            };
            if read.as_ref().is_some_and(|(life, seq)| *life == boot && *seq >= entry.seq) {
                continue;
            }
            missing(&mut new, egress, read.as_ref(), (&boot, entry.seq), entry.ts);
            read = Some((boot.clone(), entry.seq));
            // Otherwise one of the barrier's own subnets, or an entry before any allocation.
            if let Some(task) = egress.held_by(&boot, &entry) {
                new.entry(task).or_default().entries.push(entry);
            }
        }
        let mut dropped = self.dropped.lock().unwrap_or_else(PoisonError::into_inner);
        // While some wait, the next one shows the gap.
        if self.items.is_empty()
            && let Some((boot, entry)) = dropped.take()
        {
            missing(&mut new, egress, read.as_ref(), (&boot, entry.seq.saturating_add(1)), entry.ts);
            if read.as_ref().is_none_or(|(life, seq)| *life == boot && *seq < entry.seq) {
                read = Some((boot, entry.seq));
            }
        }
        (new, read)
    }

    /// Goes on with another life of the router. What the one before had not sent is lost, for every task that may have had some of it; how
    /// much is not known, and counted as one.
    fn begin(
        &self,
        new: &mut BTreeMap<i64, NewEntries>,
        read: &mut Option<Position>,
        life: NewLife,
        egress: &SandboxEgress,
    ) {
        if read.as_ref().is_some_and(|(boot, _)| *boot == life.boot) {
            return;
        }
        if let Some(before) = read.as_ref() {
            let mut dropped = self.dropped.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((boot, entry)) = dropped.take_if(|(boot, _)| *boot == before.0) {
                missing(new, egress, Some(before), (&boot, entry.seq.saturating_add(1)), entry.ts);
            }
            for task in egress.held_at_end(&before.0, life.cut.as_ref(), life.at) {
                let (all, _) = new.entry(task).or_default().lost.get_or_insert((0, 0));
                *all += 1;
            }
        }
        *read = Some((life.boot, 0));
    }

    /// The entries received so far, for callers that store none.
    pub fn drain(&mut self) -> Vec<LogEntry> {
        let entry = |item: LogItem| match item {
            LogItem::Entry((_, entry)) => Some(entry),
            LogItem::Life(_) => None,
        };
        std::iter::from_fn(|| self.items.try_recv().ok()).filter_map(entry).collect()
    }
}

/// Adds what is missing after the entry `read` and before the one of this life and number, for the tasks that had a subnet then.
fn missing(
    new: &mut BTreeMap<i64, NewEntries>,
    egress: &SandboxEgress,
    read: Option<&Position>,
    (boot, next): (&str, u64),
    ts: i64,
) {
    let last = read.filter(|(life, _)| life == boot).map_or(0, |(_, seq)| *seq);
    let count = next.saturating_sub(last).saturating_sub(1);
    if count == 0 {
        return;
    }
    for task in egress.held_between(boot, &(last + 1..=next - 1), ts) {
        let (all, newest) = new.entry(task).or_default().lost.get_or_insert((0, 0));
        *all += count;
        *newest = next - 1;
    }
}

/// The last stored entry.
fn noted(place: &Path) -> Option<Position> {
    serde_json::from_slice(&std::fs::read(place).ok()?).ok()
}

/// Notes it, whole or not at all: after an empty note, as a full disk or a kill would leave, the router's log would be stored and counted again.
fn note(place: &Path, read: Option<&Position>) -> Result<()> {
    Ok(write_whole(place, &serde_json::to_vec(&read)?)?)
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
    let through = ThroughBroker { broker: broker.clone(), spec: router_spec(config) };
    let first = through.dial().await?;
    let mut policy = policy(&config.egress)?;
    // Addresses of the machine that sandboxes run on, because a public one among them must be refused by name as well.
    let host = broker.host(&config.router.image).await.map_err(anyhow::Error::new)?;
    policy.private.extend(host.own());
    let (on_entry, on_life, inbox) = LogInbox::open(config.state_dir.join("router-log.json"));
    let (on_entry, on_life, resume) = (Some(on_entry), Some(on_life), inbox.read.clone());
    let settings = Settings { policy, dial: Some(Arc::new(through)), on_entry, on_life, resume };
    let egress = Egress::new(settings);
    egress.attach(first).await?;
    Ok((egress, inbox))
}

/// Stores each entry with the task that had its subnet when it was written, and with each task how many were lost.
pub async fn keep_log(inbox: &mut LogInbox, store: &Store, egress: &SandboxEgress) {
    let mut batch = Vec::new();
    egress.log_stored(inbox.read.clone().unwrap_or_default());
    while inbox.items.recv_many(&mut batch, BATCH).await > 0 {
        let (new, read) = inbox.sort(std::mem::take(&mut batch), egress);
        if inbox.kept.len() > REMEMBERED {
            inbox.kept.clear();
        }
        for (task, new) in new {
            let kept = inbox.kept.entry(task).or_default();
            while let Err(error) = keep(store, kept, TaskId(task), &new).await {
                tracing::warn!(%error, task, "lines of the router's log are not kept yet; tried again");
                tokio::time::sleep(AGAIN).await;
            }
        }
        inbox.read = read;
        egress.log_stored(inbox.read.clone().unwrap_or_default());
        if let Err(error) = note(&inbox.place, inbox.read.as_ref()) {
            tracing::warn!(%error, "where the router's log was read to could not be noted");
        }
    }
}

/// Stores what is new for a task, each entry with the action that was under way when it began.
async fn keep(store: &Store, kept: &mut TaskLines, task: TaskId, new: &NewEntries) -> Result<()> {
    let mut lines = Vec::with_capacity(new.entries.len());
    for entry in &new.entries {
        let action = store.action_at(task, began(entry)).await?;
        // Otherwise caused by the bot itself, before the task ran anything.
        if action.is_some() || !barrier::is_own(&entry.host) {
            lines.push(Line { task: task.0, action, lost: false, entry: entry.clone() });
        }
    }
    // At the present time, so that the next review shows it however late it was noticed.
    lines.extend(new.lost.map(|(count, newest)| Line::lost(task.0, newest, count, crate::clock::now())));
    if lines.is_empty() {
        return Ok(());
    }
    let since = store.newest_checkpoint_at(task).await?.unwrap_or(0);
    let mut next = kept.clone();
    let rows = next.add(since, lines);
    let rows = rows.iter().map(|(key, line)| Ok((*key, line.entry.ts, serde_json::to_string(line)?)));
    store.keep_egress(task, rows.collect::<Result<_>>()?).await?;
    *kept = next;
    Ok(())
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

    #[test]
    fn a_position_that_cannot_be_written_leaves_the_one_before() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("router-log.json");
        let position = |n| ("life".to_owned(), n);
        note(&place, Some(&position(7))).unwrap();
        note(&place, Some(&position(8))).unwrap();
        std::fs::create_dir(dir.path().join("router-log.new")).unwrap();
        assert!(note(&place, Some(&position(9))).is_err());
        assert_eq!(noted(&place), Some(position(8)));
    }

    #[tokio::test]
    async fn a_line_belongs_to_the_action_during_which_it_began() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).await.unwrap();
        let task = crate::store::tests::acting(&store).await;
        // Entries are written at the end of a connection: the second one began before the first action ended.
        for (ts, ms) in [(150, 20), (320, 150), (250, 10), (400, 50)] {
            let new = NewEntries { entries: vec![entry(ts, ms)], lost: None };
            keep(&store, &mut TaskLines::default(), task, &new).await.unwrap();
        }
        let lines = store.egress(task).await.unwrap();
        let lines: Vec<Line> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let drain: Vec<_> = lines.iter().map(|line| (line.entry.ts, line.task, line.action)).collect();
        let id = task.0;
        assert_eq!(drain, [(150, id, Some(1)), (250, id, None), (320, id, Some(1)), (400, id, Some(2))]);
    }

    /// Stores these entries as if from a router, with the state directory's allocations.
    async fn stored(dir: &Path, store: &Store, lines: impl IntoIterator<Item = (&str, LogEntry)>) -> PathBuf {
        received(dir, store, |on_entry, _| lines.into_iter().for_each(|(boot, entry)| on_entry(boot, &entry))).await
    }

    /// Stores what a router's client is made to report.
    async fn received(dir: &Path, store: &Store, report: impl FnOnce(OnEntry, OnLife)) -> PathBuf {
        let place = dir.join("router-log.json");
        let (on_entry, on_life, mut inbox) = LogInbox::open(place.clone());
        report(on_entry, on_life);
        let settings = crate::sandbox::Settings::new(dir, "image");
        let broker = Arc::new(crate::sandbox::broker::SocketBroker::new(dir.join("none")));
        let repos = crate::git::Repos::new(dir);
        let sandboxes = crate::sandbox::Sandboxes::new(broker, None, repos, settings, 1).unwrap();
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
        // Twice, as after a life that was interrupted before it recorded them.
        for _ in 0..2 {
            let place = stored(dir.path(), &store, (1..10).map(|seq| ("b1", entry(seq, 0)))).await;
            std::fs::remove_file(place).unwrap();
        }
        for (task, expected) in [(1, vec![3, 4, 5, 6, 7]), (2, vec![8, 9])] {
            let lines = store.egress(TaskId(task)).await.unwrap();
            let drain: Vec<Line> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(
                drain.iter().map(|line| (line.task, line.entry.seq)).collect::<Vec<_>>(),
                expected.iter().map(|seq| (task, *seq)).collect::<Vec<_>>()
            );
        }
    }

    /// The entries that a task was told are lost, each with the number of the newest of them.
    async fn lost(store: &Store, task: i64) -> Vec<(u64, u64)> {
        let lines = store.egress(TaskId(task)).await.unwrap();
        let lines = lines.iter().map(|line| serde_json::from_str::<Line>(line).unwrap());
        let lost = lines.filter(|line| line.lost).map(|line| (line.entry.count, line.entry.seq));
        lost.collect::<BTreeSet<_>>().into_iter().collect()
    }

    #[tokio::test]
    async fn what_the_router_no_longer_had_is_stored_as_lost_with_whoever_had_a_subnet() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).await.unwrap();
        let leases = r#"[{"berth":0,"task":1,"after":["b1",2],"at":0},{"berth":1,"task":2,"after":["b1",7],"at":0}]"#;
        std::fs::write(dir.path().join("berths.json"), leases).unwrap();
        // 6 is missing; then 9 to 11, of which the second task may have had some too.
        let numbers = [1, 2, 3, 4, 5, 7, 8, 12];
        let place = stored(dir.path(), &store, numbers.map(|seq| ("b1", entry(seq, 0)))).await;
        assert_eq!((lost(&store, 1).await, lost(&store, 2).await), (vec![(4, 11)], vec![(3, 11)]));
        // Another process goes on after it, and another life of the router counts from 1.
        stored(dir.path(), &store, [("b1", entry(13, 0)), ("b2", entry(3, 0))]).await;
        assert_eq!(lost(&store, 2).await, [(2, 2), (3, 11)]);
        assert_eq!(noted(&place), Some(("b2".to_owned(), 3)));
    }

    #[tokio::test]
    async fn what_a_router_had_not_sent_when_it_was_replaced_is_stored_as_lost_with_whoever_had_an_open_subnet() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).await.unwrap();
        let leases = r#"[{"berth":0,"task":1,"after":["b1",2],"at":0},{"berth":1,"task":2,"after":["b1",7],"at":0}]"#;
        std::fs::write(dir.path().join("berths.json"), leases).unwrap();
        let place = received(dir.path(), &store, |on_entry, on_life| {
            on_life("b1", None);
            (1..=8).for_each(|seq| on_entry("b1", &entry(seq, 0)));
            // Nothing comes after it.
            on_life("b2", Some(&BTreeSet::from([1])));
        })
        .await;
        assert_eq!((lost(&store, 1).await, lost(&store, 2).await), (vec![], vec![(1, 0)]));
        assert_eq!(noted(&place), Some(("b2".to_owned(), 0)));
        // Where that is not known, all tasks whose sandboxes were not stopped; here none has one.
        received(dir.path(), &store, |_, on_life| on_life("b3", None)).await;
        assert_eq!((lost(&store, 1).await, noted(&place)), (vec![], Some(("b3".to_owned(), 0))));
    }

    #[tokio::test]
    async fn what_found_no_room_is_stored_as_lost_although_nothing_comes_after_it() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).await.unwrap();
        std::fs::write(dir.path().join("berths.json"), r#"[{"berth":9,"task":1,"after":["b1",0],"at":0}]"#).unwrap();
        let all = WAITING as i64 + 4;
        let place = stored(dir.path(), &store, (1..=all).map(|seq| ("b1", entry(seq, 0)))).await;
        assert_eq!(lost(&store, 1).await, [(4, all as u64)]);
        assert_eq!(noted(&place), Some(("b1".to_owned(), all as u64)));
    }
}
