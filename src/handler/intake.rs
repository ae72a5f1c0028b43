//! Stored deliveries become readings; and the bot reads again by itself, so that a lost hook loses nothing.

use super::reader::Reader;
use super::start::first;
use crate::config::process::Repository;
use crate::effect::Trouble;
use crate::forge::event::{Wake, WakeKind};
use crate::forge::gitea::parse::parse_delivery;
use crate::store::Delivery;
use crate::supervise::caught;
use crate::task::now;
use futures_util::{StreamExt, future::join_all, stream};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Deliveries taken in one go.
const BATCH: u32 = 200;
/// The forge's clock and lateness: readings overlap by this much.
const OVERLAP_MS: i64 = 120_000;
const DAY_MS: i64 = 24 * 3600 * 1000;
/// Readings of a round side by side: one that the forge answers slowly holds up few others.
const READINGS: usize = 4;

pub struct Intake {
    reader: Arc<Reader>,
    bell: Arc<Notify>,
    stopping: CancellationToken,
}

impl Intake {
    /// `bell` is rung whenever a delivery was stored.
    pub fn new(reader: Arc<Reader>, bell: Arc<Notify>, stopping: CancellationToken) -> Self {
        Self { reader, bell, stopping }
    }

    /// Takes deliveries until told to stop.
    pub async fn run(&self) {
        while !self.stopping.is_cancelled() {
            match self.take().await {
                Ok(0) => tokio::select! {
                    () = self.bell.notified() => {}
                    () = self.stopping.cancelled() => return,
                },
                Ok(_) => {}
                Err(trouble) => {
                    tracing::warn!(?trouble, "deliveries could not be read");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }

    async fn take(&self) -> Result<usize, Trouble> {
        let open = self.reader.store.open_deliveries(BATCH).await?;
        let mut numbers: BTreeSet<(String, u64)> = BTreeSet::new();
        for delivery in &open {
            if let Some(number) = self.woken(delivery) {
                numbers.insert((delivery.repository.clone(), number));
            }
        }
        for (key, number) in numbers {
            let reader = self.reader.clone();
            tokio::spawn(async move {
                if let Err(trouble) = read(reader.read_soon(&key, number)).await {
                    tracing::warn!(?trouble, key, number, "a reading failed; the next round reads it again");
                }
            });
        }
        let count = open.len();
        self.reader.store.delivered(open.into_iter().map(|d| d.uuid).collect(), now()).await?;
        Ok(count)
    }

    /// Which number a delivery is about.
    fn woken(&self, delivery: &Delivery) -> Option<u64> {
        let entry = self.reader.config.repository(&delivery.repository)?;
        let wake = match parse_delivery(&delivery.event_type, &delivery.body) {
            Ok(wake) => wake,
            Err(error) => {
                tracing::warn!(%error, uuid = delivery.uuid, "a delivery cannot be read");
                return None;
            }
        };
        about(&wake, entry.id, self.reader.me)
    }

    /// Reads everything again every `every`, at once at the start.
    pub async fn reconcile(&self, every: Duration) {
        while !self.stopping.is_cancelled() {
            if let Err(trouble) = self.round().await {
                tracing::warn!(?trouble, "a round of reading failed");
            }
            tokio::select! {
                () = tokio::time::sleep(every) => {}
                () = self.stopping.cancelled() => return,
            }
        }
    }

    async fn round(&self) -> Result<(), Trouble> {
        let clock = self.reader.forge.clock().await?;
        self.reader.machine.clock().hear(clock);
        let mut numbers: BTreeSet<(String, u64)> = self.reader.unread_before().await?.into_iter().collect();
        for row in self.reader.store.live_tasks().await? {
            numbers.insert((row.repository, row.issue as u64));
        }
        let repositories = &self.reader.config.repositories;
        let found = join_all(repositories.iter().map(|entry| self.look_around(entry, clock))).await;
        let mut seen = Vec::new();
        for (entry, found) in repositories.iter().zip(found) {
            match found {
                Ok(found) => {
                    numbers.extend(found.into_iter().map(|number| (entry.key.clone(), number)));
                    seen.push(&entry.key);
                }
                Err(trouble) => tracing::warn!(?trouble, key = entry.key, "a repository could not be read"),
            }
        }
        let due = numbers.into_iter().filter(|what| !self.reader.unread.rests(what));
        let read = |(key, number): (String, u64)| async move {
            let done = read(self.reader.read(&key, number)).await;
            if let Err(trouble) = &done {
                tracing::warn!(?trouble, key, number, "a reading failed; the next rounds read it again");
                // One that panicked could not remember it itself.
                let noted = self.reader.note(&key, number, &done).await;
                noted.unwrap_or_else(|trouble| tracing::error!(?trouble, key, number, "it may be read late"));
            }
        };
        stream::iter(due).for_each_concurrent(READINGS, read).await;
        // What failed is remembered by itself.
        for key in seen {
            self.reader.store.set_watermark(key, clock).await?;
        }
        self.reader.machine.forget_ended();
        Ok(())
    }

    /// Numbers of a repository that changed since the last round. `clock` is the forge's.
    async fn look_around(&self, entry: &Repository, clock: i64) -> Result<BTreeSet<u64>, Trouble> {
        let (at, store) = (self.reader.find(entry).await?, &self.reader.store);
        let first = first(&entry.key);
        if store.watermark(&first).await?.is_some_and(|at| at > clock) {
            store.set_watermark(&first, clock).await?;
        }
        let since = since(store.watermark(&entry.key).await?, clock);
        let (issues, comments) =
            tokio::try_join!(self.reader.forge.issues_since(&at, since), self.reader.forge.comments_since(&at, since))?;
        let numbers = issues.iter().map(|issue| issue.number).chain(comments.iter().map(|comment| comment.issue));
        Ok(numbers.collect())
    }
}

/// From when on a round reads, by the forge's clock. A mark that lies ahead of it was made before that clock was set back: how far
/// is not known, so a day is read again.
fn since(mark: Option<i64>, clock: i64) -> i64 {
    let from = match mark {
        Some(mark) if mark > clock + OVERLAP_MS => clock - DAY_MS,
        Some(mark) => mark.min(clock),
        None => clock,
    };
    from - OVERLAP_MS
}

/// A reading that panics fails alone.
async fn read(reading: impl Future<Output = Result<(), Trouble>>) -> Result<(), Trouble> {
    let broken = |panic| Err(Trouble::later(format!("the bot itself failed while it read this: {panic}")));
    caught("reading", Box::pin(reading)).await.unwrap_or_else(broken)
}

/// The number to read again. What does not fit its repository wakes nothing, nor what the bot `me` did itself: a task makes a dozen
/// deliveries for each checkpoint, and the forge would have to answer a reading of each while it takes the next push.
fn about(wake: &Wake, repository: i64, me: i64) -> Option<u64> {
    let echo = wake.by == Some(me);
    if echo || wake.kind == WakeKind::Ignored || wake.repo_id != repository { None } else { wake.number }
}

#[cfg(test)]
mod tests {
    use super::{DAY_MS, OVERLAP_MS, Wake, WakeKind, about, since};

    #[test]
    fn a_round_reads_from_the_last_one_on_whatever_became_of_the_clock() {
        let (hour, now) = (3_600_000, 1_800_000_000_000);
        assert_eq!(since(None, now), now - OVERLAP_MS);
        assert_eq!(since(Some(now - 30_000), now), now - 30_000 - OVERLAP_MS);
        for ahead in [hour, 365 * DAY_MS] {
            assert_eq!(since(Some(now - ahead), now), now - ahead - OVERLAP_MS, "set forward: all of it");
            assert_eq!(since(Some(now + ahead), now), now - DAY_MS - OVERLAP_MS, "set back");
        }
    }

    #[test]
    fn what_others_did_in_this_repository_is_read_again() {
        let wake = |kind, by| Wake { repo_id: 2, number: Some(5), kind, by };
        assert_eq!(about(&wake(WakeKind::Comment, Some(7)), 2, 4), Some(5));
        assert_eq!(about(&wake(WakeKind::Comment, None), 2, 4), Some(5), "nobody named");
        assert_eq!(about(&wake(WakeKind::Comment, Some(4)), 2, 4), None, "its own");
        assert_eq!(about(&wake(WakeKind::Comment, Some(7)), 3, 4), None, "another repository");
        assert_eq!(about(&wake(WakeKind::Ignored, Some(7)), 2, 4), None);
    }
}
