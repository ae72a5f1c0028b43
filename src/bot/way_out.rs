//! The way out of sandboxes as this process sees it: the router reached through the broker, its log kept with the tasks.

use crate::barrier;
use crate::config::Process;
use crate::egress::{Dial, Duplex, Egress, Line, OnEntry, Settings, began, own_addresses, policy};
use crate::sandbox::Sandboxes;
use crate::sandbox::broker::Broker;
use crate::store::Store;
use anyhow::Result;
use async_trait::async_trait;
use domain::TaskId;
use protocol::broker::RouterSpec;
use protocol::router::{Bogons, LogEntry, Net};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Log entries that wait to be stored; more are counted by the router's own ring and come with the next connection.
const WAITING: usize = 4096;
const BATCH: usize = 256;

/// Finds the router again whenever it is gone: makes sure of it, then takes its stdio.
struct Through {
    broker: Arc<dyn Broker>,
    spec: RouterSpec,
}

#[async_trait]
impl Dial for Through {
    async fn dial(&self) -> std::io::Result<Box<dyn Duplex>> {
        let failed = |error: protocol::broker::Problem| std::io::Error::other(error.to_string());
        self.broker.router_ensure(&self.spec).await.map_err(failed)?;
        let stream = self.broker.router_attach().await.map_err(failed)?;
        Ok(Box::new(stream))
    }
}

/// The router's log on its way to the store.
pub struct LogInbox {
    /// With the router's life that numbered them.
    entries: mpsc::Receiver<(String, LogEntry)>,
    /// Where the last stored one is noted: told again after a restart, a line could meet another task in its berth.
    place: PathBuf,
}

/// The last entry that was stored: the router's life and its number.
fn noted(place: &Path) -> Option<(String, u64)> {
    serde_json::from_slice(&std::fs::read(place).ok()?).ok()
}

/// The router that a configuration asks for.
pub fn router_spec(config: &Process) -> RouterSpec {
    let some = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    RouterSpec {
        berths: config.router.berths,
        pool: some(&config.router.pool),
        image: config.router.image.clone(),
        upstream: some(&config.router.upstream),
        private: config.egress.private_ranges.iter().cloned().chain(public(own_addresses())).collect(),
    }
}

/// Addresses of this machine that look like anybody's: the walls refuse them too, whatever the proxy does. (All others are
/// private or special, and come and go with an engine's networks.)
fn public(own: Vec<Net>) -> impl Iterator<Item = String> {
    let special = Bogons::new(&[], &[]);
    own.into_iter().filter(move |net| !special.refuses(net.addr)).map(|net| net.to_string())
}

/// Makes sure of a router and gives the operator's policy to it. Fails when there is none: a bot with a network never starts open.
pub async fn way_out(config: &Process, broker: &Arc<dyn Broker>) -> Result<(Arc<Egress>, LogInbox)> {
    let (entries, inbox) = mpsc::channel(WAITING);
    let on_entry: OnEntry = Arc::new(move |boot, entry| {
        if entries.try_send((boot.to_owned(), entry.clone())).is_err() {
            metrics::counter!("caisson_egress_dropped_total").increment(1);
        }
    });
    let through = Through { broker: broker.clone(), spec: router_spec(config) };
    let first = through.dial().await?;
    let mut policy = policy(&config.egress)?;
    policy.private.extend(own_addresses());
    let place = config.state_dir.join("router-log.json");
    let settings = Settings { policy, dial: Some(Arc::new(through)), on_entry: Some(on_entry), resume: noted(&place) };
    let egress = Egress::new(settings);
    egress.attach(first).await?;
    Ok((egress, LogInbox { entries: inbox, place }))
}

/// Keeps each entry with the task that holds its berth.
pub async fn keep_log(mut inbox: LogInbox, store: Store, sandboxes: Arc<Sandboxes>) {
    let mut batch = Vec::with_capacity(BATCH);
    while inbox.entries.recv_many(&mut batch, BATCH).await > 0 {
        // A store that cannot be read now gets them with the next ones.
        let Ok(live) = store.live_tasks().await else { continue };
        let last = batch.last().map(|(boot, entry)| (boot.clone(), entry.seq));
        for (_, entry) in batch.drain(..) {
            let holder = live.iter().find(|row| sandboxes.berth(row.id) == Some(entry.berth));
            let Some(row) = holder else { continue };
            if let Err(error) = keep(&store, TaskId(row.id), entry).await {
                tracing::warn!(%error, "a line of the router's log was not kept");
            }
        }
        let note = serde_json::to_vec(&last).map_err(std::io::Error::other);
        if let Err(error) = note.and_then(|note| std::fs::write(&inbox.place, note)) {
            tracing::warn!(%error, "where the router's log was read to could not be noted");
        }
    }
}

/// One line with its task, and with the action that was under way when it began.
async fn keep(store: &Store, task: TaskId, entry: LogEntry) -> Result<()> {
    let action = store.action_at(task, began(&entry)).await?;
    // Asked for by the bot itself, before anything of the task ran.
    if action.is_none() && barrier::is_own(&entry.host) {
        return Ok(());
    }
    // Unique within the task, and the same when the router tells it twice.
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

    #[test]
    fn of_this_machines_addresses_the_walls_are_told_the_public_ones() {
        let own = ["10.0.0.5/32", "172.17.0.1/32", "8.8.4.4/32"].map(|text| text.parse().unwrap()).to_vec();
        assert_eq!(public(own).collect::<Vec<_>>(), ["8.8.4.4/32"]);
    }

    #[tokio::test]
    async fn a_line_belongs_to_the_action_during_which_it_began() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).await.unwrap();
        let task = crate::store::tests::acting(&store).await;
        // A line is written at the end of its connection: the second one began before the first action ended.
        for (ts, ms) in [(150, 20), (320, 150), (250, 10), (400, 50)] {
            keep(&store, task, entry(ts, ms)).await.unwrap();
        }
        let lines = store.egress(task).await.unwrap();
        let lines: Vec<Line> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let told: Vec<_> = lines.iter().map(|line| (line.entry.ts, line.task, line.action)).collect();
        let id = task.0;
        assert_eq!(told, [(150, id, Some(1)), (250, id, None), (320, id, Some(1)), (400, id, Some(2))]);
    }

    #[tokio::test]
    async fn what_was_stored_is_not_asked_for_again() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("router-log.json");
        assert_eq!(noted(&place), None);
        let (send, entries) = mpsc::channel(8);
        for seq in [7, 8] {
            send.send(("b1".to_owned(), entry(seq, 0))).await.unwrap();
        }
        drop(send);
        let store = Store::open(dir.path()).await.unwrap();
        let settings = crate::sandbox::Settings::new(dir.path(), "image");
        let broker = Arc::new(crate::sandbox::broker::SocketBroker::new(dir.path().join("none")));
        let repos = crate::git::Repos::new(dir.path());
        let sandboxes = Sandboxes::new(broker, None, repos, settings, 1).unwrap();
        keep_log(LogInbox { entries, place: place.clone() }, store, Arc::new(sandboxes)).await;
        assert_eq!(noted(&place), Some(("b1".to_owned(), 8)));
    }
}
