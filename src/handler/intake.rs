//! Stored deliveries become readings; and the bot reads again by itself, so that a lost hook loses nothing.

use super::reader::Reader;
use crate::effect::Trouble;
use crate::forge::RepoRef;
use crate::forge::event::WakeKind;
use crate::forge::gitea::parse::parse_delivery;
use crate::store::Delivery;
use crate::task::now;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Deliveries taken in one go.
const BATCH: u32 = 200;
/// The forge's clock and lateness: readings overlap by this much.
const OVERLAP_MS: i64 = 120_000;
/// Handled deliveries are kept this long.
const KEEP_MS: i64 = 7 * 24 * 3600 * 1000;

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
                if let Err(trouble) = reader.read(&key, number).await {
                    tracing::warn!(?trouble, key, number, "a reading failed; the next round reads it again");
                }
            });
        }
        let count = open.len();
        self.reader.store.delivered(open.into_iter().map(|d| d.uuid).collect(), now()).await?;
        Ok(count)
    }

    /// Which number a delivery is about. What does not fit its repository wakes nothing.
    fn woken(&self, delivery: &Delivery) -> Option<u64> {
        let entry = self.reader.config.repository(&delivery.repository)?;
        let wake = match parse_delivery(&delivery.event_type, &delivery.body) {
            Ok(wake) => wake,
            Err(error) => {
                tracing::warn!(%error, uuid = delivery.uuid, "a delivery cannot be read");
                return None;
            }
        };
        if wake.kind == WakeKind::Ignored || wake.repo_id != entry.id {
            return None;
        }
        wake.number
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
        let mut numbers: BTreeSet<(String, u64)> = BTreeSet::new();
        for row in self.reader.store.live_tasks().await? {
            numbers.insert((row.repository, row.issue as u64));
        }
        let mut marks = Vec::new();
        for entry in &self.reader.config.repositories {
            let at = RepoRef::new(&entry.owner, &entry.name);
            let began = now();
            let since = self.reader.store.watermark(&entry.key).await?.unwrap_or(began) - OVERLAP_MS;
            match self.changed(&at, since).await {
                Ok(found) => {
                    numbers.extend(found.into_iter().map(|number| (entry.key.clone(), number)));
                    marks.push((entry.key.clone(), began));
                }
                Err(trouble) => tracing::warn!(?trouble, key = entry.key, "a repository could not be read"),
            }
        }
        let mut whole = true;
        for (key, number) in numbers {
            if let Err(trouble) = self.reader.read(&key, number).await {
                tracing::warn!(?trouble, key, number, "a reading failed; the next round reads it again");
                whole = false;
            }
        }
        for (key, at) in marks.into_iter().filter(|_| whole) {
            self.reader.store.set_watermark(&key, at).await?;
        }
        self.reader.store.prune(now() - KEEP_MS).await?;
        self.reader.machine.forget_ended();
        Ok(())
    }

    async fn changed(&self, at: &RepoRef, since: i64) -> Result<BTreeSet<u64>, Trouble> {
        let (issues, comments) =
            tokio::try_join!(self.reader.forge.issues_since(at, since), self.reader.forge.comments_since(at, since))?;
        let numbers = issues.iter().map(|issue| issue.number).chain(comments.iter().map(|comment| comment.issue));
        Ok(numbers.collect())
    }
}
