//! Brings repositories in step with their upstreams, each once in `upstream.sync_s`, those alone that are this host's.
//!
//! Owns when that is tried again, and what is logged of it. Tests: below, and `tests/stories/upstream.rs`.

use super::entries::with_source;
use super::hosts::host_address;
use super::rewritten::RewrittenIssues;
use crate::config::process::Repository;
use crate::config::{Process, Secret};
use crate::forge::RepositoryAddresses;
use crate::message::plain_lines;
use crate::secret::SealingKey;
use crate::server::EntryWish;
use crate::supervise::caught;
use crate::task::Machine;
use crate::thread::IssueImports;
use crate::upstream::{SourceNow, Synced, Upstreams};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// How often is looked which is due.
const LOOK: Duration = Duration::from_secs(2);
/// Repositories that are compared at the same time.
const AT_ONCE: usize = 4;
/// After each failure the next try is twice as late, so often.
const DOUBLINGS: u32 = 4;

pub struct InStep {
    pub machine: Arc<Machine>,
    pub config: Arc<Process>,
    pub addresses: Arc<RepositoryAddresses>,
    pub upstreams: Arc<Upstreams>,
    pub issues: Arc<RewrittenIssues>,
    /// Opens the upstream's issues here.
    pub imports: Arc<IssueImports>,
    /// Has entries of the store written.
    pub entries: mpsc::Sender<EntryWish>,
    /// Key of the installation, with which entries are sealed.
    pub mark_key: Secret,
    pub stopping: CancellationToken,
}

/// What came of a round: what was brought, and why the upstream's issues were not all looked through; or why nothing was.
type Done = Result<(Option<Synced>, Option<String>), String>;

/// What is known of a repository since this process began.
#[derive(Default)]
struct SyncSchedule {
    due: Option<Instant>,
    failures: u32,
    /// What was logged last, which is not logged again.
    logged: String,
}

impl InStep {
    /// Runs until `stopping`. A comparison that is under way then is left: the next one finds what was brought.
    pub async fn run(self) {
        let every = Duration::from_secs(self.config.upstream.sync_s);
        // At 0 only what somebody asked for is done.
        let look = if every.is_zero() { LOOK } else { LOOK.min(every) };
        let mut known: HashMap<String, SyncSchedule> = HashMap::new();
        let (mut under_way, mut busy) = (FuturesUnordered::new(), HashSet::new());
        loop {
            for entry in in_line(self.config.repositories().to_vec(), &known, |key| self.upstreams.is_asked(key)) {
                let due = known.entry(entry.key.clone()).or_default().due.is_none_or(|at| at <= Instant::now());
                let free = self.machine.leases().holds(&entry.key) && under_way.len() < AT_ONCE;
                if !free || busy.contains(&entry.key) {
                    continue;
                }
                let asked = self.upstreams.take_asked(&entry.key);
                if asked || due && !every.is_zero() {
                    busy.insert(entry.key.clone());
                    under_way.push(self.one(entry));
                }
            }
            tokio::select! {
                Some((key, done)) = under_way.next() => {
                    busy.remove(&key);
                    note(&key, known.entry(key.clone()).or_default(), done, every);
                }
                () = tokio::time::sleep(look) => {}
                () = self.stopping.cancelled() => return,
            }
        }
    }

    async fn one(&self, entry: Arc<Repository>) -> (String, Done) {
        let work = async {
            // Another repository may have taken the name since the last round.
            let at = self.addresses.look(&entry).await.map_err(|error| error.to_string())?;
            let synced = self.upstreams.sync(&entry, at.clone()).await.map_err(|error| error.to_string())?;
            if let Some(found) = &synced
                && let Err(error) = self.issues.tell(&at, &entry.key, found).await
            {
                tracing::warn!(repository = entry.key, %error, "the issue about a rewritten upstream is not up to date");
            }
            if let Some(source) = synced.as_ref().and_then(|synced| synced.source.as_ref())
                && let Err(error) = self.learn(&entry, source).await
            {
                tracing::warn!(repository = entry.key, error, "where its upstream is now is not in its entry yet");
            }
            let brought = self.imports.bring_upstream_issues(&entry).await;
            Ok((synced, brought.err().map(|trouble| trouble.to_string())))
        };
        let done = caught("keeping in step", Box::pin(work)).await;
        (entry.key.clone(), done.unwrap_or_else(|panic| Err(format!("the bot itself failed: {panic}"))))
    }
}

impl InStep {
    /// Has the store's entry say where its upstream is now. The next comparison tries again what failed.
    async fn learn(&self, entry: &Repository, source: &SourceNow) -> Result<(), String> {
        if !entry.from_store || source.entry(entry).is_none() {
            return Ok(());
        }
        let (key, by) = (SealingKey::of(&self.mark_key), host_address(&self.config));
        let wanted = with_source(self.machine.store(), &key, (entry, by.as_str()), source).await?;
        let Some(wanted) = wanted else { return Ok(()) };
        let (answer, kept) = oneshot::channel();
        let ending = || "the bot is about to end".to_owned();
        self.entries.send(EntryWish { entry: wanted, answer }).await.map_err(|_| ending())?;
        kept.await.map_err(|_| ending())?.map_err(|(_, why)| why)?;
        tracing::info!(
            repository = entry.key,
            name = source.name,
            id = source.id,
            "its entry says what its upstream is"
        );
        Ok(())
    }
}

/// Those with an upstream in the order in which they are compared: first what somebody asked for, then what has been due for longest. Otherwise the
/// last of many would never be compared where the first ones are due again before them.
fn in_line(
    mut entries: Vec<Arc<Repository>>,
    known: &HashMap<String, SyncSchedule>,
    asked: impl Fn(&str) -> bool,
) -> Vec<Arc<Repository>> {
    entries.retain(|entry| !entry.upstream.is_empty());
    entries.sort_by_cached_key(|entry| (!asked(&entry.key), known.get(&entry.key).and_then(|it| it.due)));
    entries
}

/// Says what came of it, and when it is tried again.
fn note(key: &str, known: &mut SyncSchedule, done: Done, every: Duration) {
    let told = match &done {
        Ok((synced, trouble)) => {
            let lines = synced.as_ref().map(plain_lines).unwrap_or_default();
            let trouble = trouble.iter().map(|why| format!("the upstream's issues are looked at again later: {why}"));
            lines.into_iter().chain(trouble).collect::<Vec<_>>().join("; ")
        }
        Err(why) => why.clone(),
    };
    // Trouble with its issues does not make its commits come later.
    known.failures = if done.is_err() { known.failures + 1 } else { 0 };
    known.due = Some(Instant::now() + every * (1_u32 << known.failures.min(DOUBLINGS)));
    if told == known.logged {
        return;
    }
    match &done {
        Ok((_, Some(_))) => tracing::warn!(repository = key, "{told}"),
        Ok((Some(synced), None)) if synced.is_stuck() => {
            tracing::warn!(repository = key, "{told}; `caisson repo status {key}` says more");
        }
        Ok((Some(synced), None)) if synced.brought() => tracing::info!(repository = key, "{told}"),
        Ok((_, None)) => tracing::debug!(repository = key, "{told}"),
        Err(_) => tracing::warn!(repository = key, "not brought in step with its upstream: {told}"),
    }
    known.logged = told;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_asked_for_comes_first_and_then_what_has_been_due_for_longest() {
        let entry = |key: &str, upstream: &str| {
            Arc::new(Repository { key: key.into(), upstream: upstream.into(), ..Repository::default() })
        };
        let mut entries = ["a", "b", "c", "d"].map(|key| entry(key, "https://git.example/lab/shop.git")).to_vec();
        entries.push(entry("e", ""));
        let now = Instant::now();
        let due = |key: &str, s: u64| {
            (key.to_owned(), SyncSchedule { due: Some(now + Duration::from_secs(s)), ..SyncSchedule::default() })
        };
        let known = HashMap::from([due("a", 2), due("b", 1), due("d", 3)]);
        let line = |asked: &str| -> Vec<String> {
            let line = in_line(entries.clone(), &known, |key| key == asked);
            line.iter().map(|entry| entry.key.clone()).collect()
        };
        assert_eq!(line(""), ["c", "b", "a", "d"], "one that was never compared has waited since the start");
        assert_eq!(line("d"), ["d", "c", "b", "a"]);
    }
}
