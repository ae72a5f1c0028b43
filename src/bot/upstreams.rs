//! Brings repositories in step with their upstreams, each once in `upstream.sync_s`, those alone that are this host's.
//!
//! Owns when that is tried again, and what is logged of it. Tests: `tests/stories/upstream.rs`.

use super::rewritten::RewrittenIssues;
use crate::config::Process;
use crate::config::process::Repository;
use crate::forge::RepositoryAddresses;
use crate::message::plain_lines;
use crate::supervise::caught;
use crate::task::Machine;
use crate::upstream::{Synced, Upstreams};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
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
    pub stopping: CancellationToken,
}

/// What is known of a repository since this process began.
#[derive(Default)]
struct Known {
    due: Option<Instant>,
    failures: u32,
    /// What was logged last, which is not logged again.
    logged: String,
}

impl InStep {
    /// Runs until `stopping`. A comparison that is under way then is left: the next one finds what was brought.
    pub async fn run(self) {
        let every = Duration::from_secs(self.config.upstream.sync_s);
        if every.is_zero() {
            return self.stopping.cancelled().await;
        }
        let mut known: HashMap<String, Known> = HashMap::new();
        let (mut under_way, mut busy) = (FuturesUnordered::new(), HashSet::new());
        loop {
            for entry in self.config.repositories().iter().filter(|entry| !entry.upstream.is_empty()) {
                let due = known.entry(entry.key.clone()).or_default().due.is_none_or(|at| at <= Instant::now());
                let ours = self.machine.leases().holds(&entry.key);
                if due && ours && under_way.len() < AT_ONCE && busy.insert(entry.key.clone()) {
                    under_way.push(self.one(entry.clone()));
                }
            }
            tokio::select! {
                Some((key, done)) = under_way.next() => {
                    busy.remove(&key);
                    note(&key, known.entry(key.clone()).or_default(), done, every);
                }
                () = tokio::time::sleep(LOOK.min(every)) => {}
                () = self.stopping.cancelled() => return,
            }
        }
    }

    async fn one(&self, entry: Arc<Repository>) -> (String, Result<Option<Synced>, String>) {
        let work = async {
            // Another repository may have taken the name since the last round.
            let at = self.addresses.look(&entry).await.map_err(|error| error.to_string())?;
            let synced = self.upstreams.sync(&entry, at.clone()).await.map_err(|error| error.to_string())?;
            if let Some(found) = &synced
                && let Err(error) = self.issues.tell(&at, &entry.key, found).await
            {
                tracing::warn!(repository = entry.key, %error, "the issue about a rewritten upstream is not up to date");
            }
            Ok(synced)
        };
        let done = caught("keeping in step", Box::pin(work)).await;
        (entry.key.clone(), done.unwrap_or_else(|panic| Err(format!("the bot itself failed: {panic}"))))
    }
}

/// Says what came of it, and when it is tried again.
fn note(key: &str, known: &mut Known, done: Result<Option<Synced>, String>, every: Duration) {
    let told = match &done {
        Ok(Some(synced)) => plain_lines(synced).join("; "),
        Ok(None) => String::new(),
        Err(why) => why.clone(),
    };
    known.failures = if done.is_err() { known.failures + 1 } else { 0 };
    known.due = Some(Instant::now() + every * (1_u32 << known.failures.min(DOUBLINGS)));
    if told == known.logged {
        return;
    }
    match &done {
        Ok(Some(synced)) if synced.is_stuck() => {
            tracing::warn!(repository = key, "{told}; `caisson repo status {key}` says more");
        }
        Ok(Some(synced)) if synced.brought() => tracing::info!(repository = key, "{told}"),
        Ok(_) => tracing::debug!(repository = key, "{told}"),
        Err(_) => tracing::warn!(repository = key, "not brought in step with its upstream: {told}"),
    }
    known.logged = told;
}
