//! Reads the issues and pull requests that stored deliveries are about, and polls, so that a lost hook loses nothing. A delivery is handled
//! once what it is about has been read: one that a crash cut short is read again after the restart.

use super::reader::Reader;
use super::waiting::Waiting;
use crate::clock::now;
use crate::config::process::Repository;
use crate::forge::event::{Wake, WakeKind};
use crate::forge::gitea::parse::parse_delivery;
use crate::forge::{ForgeError, RepoRef};
use crate::store::{DAY_MS, Delivery, StoreError};
use crate::supervise::caught;
use crate::thread::first;
use crate::trouble::Trouble;
use futures_util::{StreamExt, stream};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

/// Deliveries taken from the store at once.
const BATCH: usize = 200;
/// Deliveries taken up and not handled, at most.
const MOST: usize = 2_000;
/// Readings overlap by this much, because the forge lists changes late and its clock may move.
const OVERLAP_MS: i64 = 120_000;
/// An idle repository's address is looked up once in so many rounds.
const LOOKED_UP_EVERY: u32 = 10;
/// Repositories that a round looks at at once: each takes two connections to the forge, and a process often has only 1,024 descriptors.
const LOOKS: usize = 32;
/// Concurrent readings of a round, so that one that the forge answers slowly delays few others.
const READINGS: usize = 4;
/// Concurrent readings that deliveries ask for; at most two of one thread.
const WOKEN: usize = 16;

/// A repository's key, and the number of an issue or pull request.
type Thread = (String, u64);

/// Deliveries that were taken up and are not handled yet, by their UUIDs; at most [`MOST`].
#[derive(Default)]
struct Underway {
    all: HashSet<String>,
    /// Deliveries by thread whose reading has not begun, so that it will see what they are about.
    waiting: HashMap<Thread, Vec<String>>,
}

/// What a round found in a repository.
struct Changed {
    /// Numbers of issues and pull requests that changed.
    numbers: BTreeSet<u64>,
    /// Where they were listed.
    at: RepoRef,
    /// Whether that address was looked up in this round.
    looked_up: bool,
    /// Whether changes were listed at all; if not, the next round lists them from the same time on.
    listed: bool,
}

/// Takes up stored deliveries and reads what they are about.
pub struct Intake {
    reader: Arc<Reader>,
    underway: Mutex<Underway>,
    woken: Semaphore,
    bell: Arc<Notify>,
    /// Notified when a round is to begin at once.
    round: Notify,
    waiting: Waiting,
    /// Where the last round listed each repository, by its key.
    listed_at: Mutex<HashMap<String, RepoRef>>,
    stopping: CancellationToken,
}

impl Intake {
    /// `bell` is notified whenever a delivery was stored.
    pub fn new(reader: Arc<Reader>, bell: Arc<Notify>, stopping: CancellationToken) -> Self {
        let waiting = Waiting::new(reader.config.forge.waiting_s, reader.machine.clock().time());
        let (underway, woken, round) = (Mutex::default(), Semaphore::new(WOKEN), Notify::new());
        Self { reader, underway, woken, bell, round, waiting, listed_at: Mutex::default(), stopping }
    }

    /// Looks for new deliveries, which another process may have stored.
    pub fn ring(&self) {
        self.bell.notify_one();
    }

    /// Reads what changed at once, because this process has begun to work for a repository.
    pub fn read_all(&self) {
        self.ring();
        self.round.notify_one();
    }

    /// Takes up deliveries until the process stops.
    pub async fn run(self: &Arc<Self>) {
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

    fn underway(&self) -> MutexGuard<'_, Underway> {
        self.underway.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes up stored deliveries and returns their number.
    async fn take(self: &Arc<Self>) -> Result<usize, Trouble> {
        let known: Vec<String> = self.underway().all.iter().cloned().collect();
        let limit = BATCH.min(MOST.saturating_sub(known.len()));
        let (limit, store) = (u32::try_from(limit).unwrap_or(u32::MAX), &self.reader.store);
        let open = match self.reader.machine.leases().all() {
            None => store.open_deliveries(limit, &known).await?,
            Some(own) => store.open_deliveries_of(&own, limit, &known).await?,
        };
        let (count, mut about_nothing) = (open.len(), Vec::new());
        for delivery in open {
            match self.number_of(&delivery) {
                Some(number) => self.wait_for((delivery.repository, number), delivery.uuid),
                None => about_nothing.push(delivery.uuid),
            }
        }
        self.handled(about_nothing).await?;
        Ok(count)
    }

    /// Adds a delivery to the thread's reading that has not begun, or starts another reading.
    fn wait_for(self: &Arc<Self>, thread: Thread, uuid: String) {
        let mut underway = self.underway();
        underway.all.insert(uuid.clone());
        let waits = underway.waiting.entry(thread.clone()).or_default();
        waits.push(uuid);
        if waits.len() == 1 {
            let this = self.clone();
            tokio::spawn(async move { this.read_for(thread).await });
        }
    }

    async fn read_for(&self, thread: Thread) {
        let _one = self.woken.acquire().await;
        let term = self.reader.machine.leases().term(&thread.0);
        let begun = || self.underway().waiting.remove(&thread).unwrap_or_default();
        let mut taken = None;
        let seen = self.read(&thread, || taken = Some(begun())).await;
        // If the reading never began, its deliveries are taken out here: otherwise later ones would wait for it for ever.
        let uuids = taken.unwrap_or_else(begun);
        let done = match seen {
            // Another host works for the repository now and reads it.
            Ok(()) if term.is_none() || self.reader.machine.leases().term(&thread.0) != term => Ok(()),
            Ok(()) => self.handled(uuids.clone()).await,
            Err(trouble) => Err(trouble),
        };
        if let Err(trouble) = done {
            tracing::warn!(?trouble, key = thread.0, number = thread.1, "deliveries stay open; they are read again");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        self.underway().all.retain(|uuid| !uuids.contains(uuid));
        self.bell.notify_one();
    }

    async fn handled(&self, uuids: Vec<String>) -> Result<(), Trouble> {
        if uuids.is_empty() {
            return Ok(());
        }
        Ok(self.reader.store.delivered(uuids, now()).await?)
    }

    /// Reads a thread. A failure or panic affects this thread alone, and is remembered so that it is read again. Errors: when not even that
    /// could be stored.
    async fn read(&self, (key, number): &Thread, begins: impl FnOnce() + Send) -> Result<(), Trouble> {
        let broken = |panic| Err(Trouble::later(format!("the bot itself failed while it read this: {panic}")));
        let reading = self.reader.read(key, *number, begins);
        let done = caught("reading", Box::pin(reading)).await.unwrap_or_else(broken);
        if let Err(trouble) = &done {
            tracing::warn!(?trouble, key, number, "a reading failed; the next rounds read it again");
            // After a panic the reader did not remember it itself.
            self.reader.note(key, *number, &done).await?;
        }
        Ok(())
    }

    /// The issue or pull request that a delivery is about.
    fn number_of(&self, delivery: &Delivery) -> Option<u64> {
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

    /// Reads every `every`, and at once at the start: what changed, tasks at work, and waiting tasks whose time has come.
    pub async fn reconcile(&self, every: Duration) {
        while !self.stopping.is_cancelled() {
            if let Err(trouble) = self.round().await {
                tracing::warn!(?trouble, "a round of reading failed");
            }
            tokio::select! {
                () = tokio::time::sleep(every) => {}
                () = self.round.notified() => {}
                () = self.stopping.cancelled() => return,
            }
        }
    }

    /// Reads once: what changed, tasks at work, and waiting tasks whose time has come.
    ///
    /// # Errors
    /// When nothing was read, because forge or store do not answer.
    pub async fn round(&self) -> Result<(), Trouble> {
        let clock = self.reader.forge.clock().await?;
        self.reader.machine.clock().hear(clock);
        let mut numbers: BTreeSet<Thread> = self.reader.unread_before().await?.into_iter().collect();
        // A waiting task is read when the forge lists its thread as changed, or its time has come.
        let due = self.waiting.due(self.reader.machine.clock().time());
        let mut busy_at: HashSet<String> = numbers.iter().map(|(key, _)| key.clone()).collect();
        for row in self.reader.store.live().await? {
            let (busy, thread) = (row.busy(), (row.repository, row.issue as u64));
            if busy {
                busy_at.insert(thread.0.clone());
            }
            if busy || due.names(&thread) {
                numbers.insert(thread);
            }
        }
        let leases = self.reader.machine.leases();
        numbers.retain(|(key, _)| leases.holds(key));
        let known = self.reader.config.repositories();
        let repositories: Vec<&Arc<Repository>> = known.iter().filter(|entry| leases.holds(&entry.key)).collect();
        self.reader.see_triggers(&repositories, clock).await?;
        self.reader.look_for_own(&repositories, clock).await?;
        let terms: Vec<Option<u64>> = repositories.iter().map(|entry| leases.term(&entry.key)).collect();
        let looks = repositories.iter().map(|entry| self.look_around(entry, clock, busy_at.contains(&entry.key)));
        let found = few_at_once(looks.collect()).await;
        let mut seen = Vec::new();
        for ((entry, term), found) in repositories.into_iter().zip(terms).zip(found) {
            match found {
                Ok(found) => {
                    numbers.extend(found.numbers.iter().map(|number| (entry.key.clone(), *number)));
                    seen.push((&entry.key, term, found));
                }
                Err(trouble) => tracing::warn!(?trouble, key = entry.key, "a repository could not be read"),
            }
        }
        let named = numbers.into_iter().filter(|what| !self.reader.unread.rests(what));
        let read = |thread: Thread| async move {
            let read = self.read(&thread, || ()).await;
            read.unwrap_or_else(|trouble| tracing::error!(?trouble, ?thread, "it may be read late"));
        };
        stream::iter(named).for_each_concurrent(READINGS, read).await;
        self.waiting.read(due);
        // Failures are remembered separately; a repository whose lease was lost meanwhile is read by its new holder.
        for (key, _, found) in seen.into_iter().filter(|(key, term, _)| term.is_some() && leases.term(key) == *term) {
            match self.was_read(key, &found, clock).await {
                // Lost since: the new holder reads again from the old mark.
                Err(StoreError::Elsewhere { .. }) => continue,
                marked => marked?,
            }
            self.listed_at().insert(key.clone(), found.at);
        }
        self.reader.machine.forget_idle();
        Ok(())
    }

    /// Stores up to when a repository was read.
    async fn was_read(&self, key: &str, found: &Changed, clock: i64) -> Result<(), StoreError> {
        if found.listed {
            self.reader.store.set_watermark_of(key, key, clock).await?;
        }
        match found.looked_up {
            true => self.reader.store.set_watermark_of(key, &looked_up(key), clock).await,
            false => Ok(()),
        }
    }

    /// What changed in a repository since the last round. `clock` is the forge's. Where no task is `busy`, its address is looked up more
    /// rarely, and before anything counts that is read there; such a round lists nothing if it finds the address that the last one listed.
    async fn look_around(&self, entry: &Repository, clock: i64, busy: bool) -> Result<Changed, Trouble> {
        let poll = Duration::from_secs(self.reader.config.forge.poll_s);
        let within = poll * LOOKED_UP_EVERY;
        let (store, recent) = (&self.reader.store, self.reader.addresses.recent(entry, within));
        // Readings look it up as well, which says nothing of the time between two rounds.
        let mark = store.watermark(&looked_up(&entry.key)).await?;
        let fresh = mark.is_some_and(|mark| (mark..mark + within.as_millis() as i64).contains(&clock));
        let (at, looked_up) = match recent.filter(|_| !busy && fresh) {
            Some(at) => (at, false),
            None => (self.reader.find(entry).await?, true),
        };
        let first = first(&entry.key);
        if store.watermark(&first).await?.is_some_and(|at| at > clock) {
            store.set_watermark(&first, clock).await?;
        }
        if looked_up && !busy && self.was_just_listed(entry, &at, clock, poll).await? {
            return Ok(Changed { numbers: BTreeSet::new(), at, looked_up, listed: false });
        }
        let numbers = match self.changed_at(&at, self.since(entry, &at, clock).await?).await {
            Err(error @ (ForgeError::Moved(_) | ForgeError::NotFound(_))) => {
                let now = self.reader.find(entry).await?;
                if now == at {
                    return Err(error.into());
                }
                let numbers = self.changed_at(&now, self.since(entry, &now, clock).await?).await?;
                return Ok(Changed { numbers, at: now, looked_up: true, listed: true });
            }
            found => found?,
        };
        Ok(Changed { numbers, at, looked_up, listed: true })
    }

    /// Whether the round before listed the repository's changes at this address. Where rounds take longer than they should, it did not:
    /// each of them would look the address up, and none would list.
    async fn was_just_listed(
        &self,
        entry: &Repository,
        at: &RepoRef,
        clock: i64,
        poll: Duration,
    ) -> Result<bool, Trouble> {
        let mark = self.reader.store.watermark(&entry.key).await?;
        let recent = mark.is_some_and(|mark| (mark..mark + 2 * poll.as_millis() as i64).contains(&clock));
        Ok(recent && self.listed_at().get(&entry.key) == Some(at))
    }

    /// The time from which a round reads a repository at this address. If the last round read it at another one, that may have been another
    /// repository's since its address was looked up, so it is read from there on.
    async fn since(&self, entry: &Repository, at: &RepoRef, clock: i64) -> Result<i64, Trouble> {
        let store = &self.reader.store;
        let mark = store.watermark(&entry.key).await?;
        let same = self.listed_at().get(&entry.key) == Some(at);
        let certain = if same { None } else { store.watermark(&looked_up(&entry.key)).await? };
        Ok(since(certain.filter(|certain| mark.is_some_and(|mark| *certain < mark)).or(mark), clock))
    }

    fn listed_at(&self) -> MutexGuard<'_, HashMap<String, RepoRef>> {
        self.listed_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn changed_at(&self, at: &RepoRef, since: i64) -> Result<BTreeSet<u64>, ForgeError> {
        let forge = &self.reader.forge;
        let (issues, comments) = tokio::try_join!(forge.issues_since(at, since), forge.comments_since(at, since))?;
        let numbers = issues.iter().map(|issue| issue.number).chain(comments.iter().map(|comment| comment.issue));
        Ok(numbers.collect())
    }
}

/// What comes of each, in their order. One that takes long holds up no other for its place in it.
async fn few_at_once<F: Future>(looks: Vec<F>) -> Vec<F::Output> {
    let looks: Vec<_> = looks.into_iter().enumerate().map(|(n, look)| async move { (n, look.await) }).collect();
    let mut found: Vec<_> = stream::iter(looks).buffer_unordered(LOOKS).collect().await;
    found.sort_by_key(|(n, _)| *n);
    found.into_iter().map(|(_, found)| found).collect()
}

/// Name of the watermark of the last round that looked up the address which it read at.
fn looked_up(key: &str) -> String {
    format!("looked-up:{key}")
}

/// The time from which a round reads, by the forge's clock. If the watermark lies ahead, that clock was set back by an unknown amount, so a
/// day is read again.
fn since(mark: Option<i64>, clock: i64) -> i64 {
    let from = match mark {
        Some(mark) if mark > clock + OVERLAP_MS => clock - DAY_MS,
        Some(mark) => mark.min(clock),
        None => clock,
    };
    from - OVERLAP_MS
}

/// The number to read again. None for another repository, and for what the bot (`me`) did itself: a task causes a dozen deliveries at each
/// checkpoint, and the forge would answer a reading for each while it takes the next push.
fn about(wake: &Wake, repository: i64, me: i64) -> Option<u64> {
    let echo = wake.by == Some(me);
    if echo || wake.kind == WakeKind::Ignored || wake.repo_id != repository { None } else { wake.number }
}

#[cfg(test)]
mod tests {
    use super::{DAY_MS, LOOKS, OVERLAP_MS, Wake, WakeKind, about, few_at_once, since};
    use std::cell::Cell;

    #[tokio::test]
    async fn a_round_looks_at_few_of_many_repositories_at_once() {
        let (underway, most) = (Cell::new(0), Cell::new(0));
        let look = |n: usize| {
            let (underway, most) = (&underway, &most);
            async move {
                underway.set(underway.get() + 1);
                most.set(most.get().max(underway.get()));
                // The earlier ones take longer.
                for _ in n..200 {
                    tokio::task::yield_now().await;
                }
                underway.set(underway.get() - 1);
                n
            }
        };
        let found = few_at_once((0..200).map(look).collect()).await;
        assert_eq!((found, most.get()), ((0..200).collect::<Vec<_>>(), LOOKS));
    }

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
