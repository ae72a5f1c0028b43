//! Stored deliveries become readings; and the bot reads again by itself, so that a lost hook loses nothing.

use super::reader::Reader;
use crate::effect::Trouble;
use crate::forge::RepoRef;
use crate::forge::event::{Wake, WakeKind};
use crate::forge::gitea::parse::parse_delivery;
use crate::store::Delivery;
use crate::supervise::caught;
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
            if let Err(trouble) = read(self.reader.read(&key, number)).await {
                tracing::warn!(?trouble, key, number, "a reading failed; the next round reads it again");
                whole = false;
            }
        }
        for (key, at) in marks.into_iter().filter(|_| whole) {
            self.reader.store.set_watermark(&key, at).await?;
        }
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
    use super::{Wake, WakeKind, about};

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
