//! What is kept, and the only module that speaks SQL.
//!
//! One writer, on a thread of its own, owns the one writing connection and commits what has queued up in one transaction (group commit, synchronous FULL);
//! readers have connections of their own. Nobody is handed a transaction: [`Store::append`] is the one message by which a task moves on.
//! It lies in SQLite or in PostgreSQL: one text of SQL for both, what differs in `location.rs`. Tests: `contract` for both, `tests.rs`
//! for what only SQLite's file has.

mod addresses;
mod append;
mod body;
mod changed;
mod charges;
#[cfg(test)]
mod contract;
mod copy;
mod deliveries;
mod grants;
mod inputs;
mod leases;
mod line;
mod live;
mod location;
mod look;
mod outbox;
mod packs;
mod pictures;
mod queue;
mod read;
mod repositories;
mod retention;
mod test_runs;
#[cfg(test)]
pub(crate) mod tests;
mod unread;
mod wakes;
mod writer;

pub use addresses::Address;
pub use append::{Append, Appended, Close, NewTask};
pub use changed::{MOST_SHARED, Shared};
pub use charges::{Cost, CostBy, DAY_MS, day_began, month_began};
pub use copy::{Copied, TABLES};
pub use grants::TakeBack;
pub use leases::{Claim, Claimed, Host};
pub use line::{LineRow, Turn};
pub use live::LiveRow;
pub use location::Location;
pub use outbox::{EffectRow, EffectState};
pub use pictures::MOST_OF_A_TASK;
pub use read::{ActionRow, TaskRow};
pub use repositories::StoredEntry;
pub use retention::{Before, Deleted};
pub use test_runs::{HOUR_MS, NewTestRun, TakenUp, TestRunRow, sandbox_number};
pub use wakes::{Wakes, Word};

use sqlx::AnyPool;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Why the store could not be opened, read, written or copied.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database could not be made or reached, or another process writes into it.
    #[error("the store at {path} cannot be opened: {source}")]
    Open {
        /// SQLite's file, or the PostgreSQL database's address without a password.
        path: String,
        /// What failed, an I/O error of this machine included.
        source: sqlx::Error,
    },
    /// It could not be brought to the newest schema, for example because a newer version made it.
    #[error("the store was made by a newer or damaged version: {0}")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    /// A store that was to be looked at only has the schema of another version.
    #[error(
        "the store has the shape of {} version of caisson ({found}; this one knows {known}): look with that version, or start `caisson serve` of this one first",
        if found < known { "an older" } else { "a newer" }
    )]
    Shape {
        /// Number of the newest migration that the store has.
        found: i64,
        /// Number of the newest migration that this version knows.
        known: i64,
    },
    /// The database reported a full disk; nothing was stored.
    #[error("the disk is full: nothing was stored; free some space, the bot goes on by itself")]
    DiskFull,
    /// Any other error of the database or of the connection to it.
    #[error("the store failed: {0}")]
    Sql(sqlx::Error),
    /// An event or an effect could not be written as JSON, or a stored event not be read.
    #[error("a stored body cannot be read: {0}")]
    Body(#[from] serde_json::Error),
    /// An open effect is none that this version knows.
    #[error("the stored effect {key} cannot be read: {source}")]
    Effect {
        /// The effect's number in the outbox.
        id: i64,
        /// The effect's key, unique within its task.
        key: String,
        /// Why its body could not be read.
        source: serde_json::Error,
    },
    /// The writer panicked, or ended or lost its database before it answered: the write may be stored or not, and is asked for again by
    /// its key.
    #[error("the store broke off while it wrote: {0}")]
    Broken(String),
    /// [`Store::ready`] wrote no row within 10 seconds.
    #[error("the store does not write: other work has waited for it for seconds")]
    Slow,
    /// The target of [`Store::copy`] has rows; nothing was copied.
    #[error(
        "{path} is not empty (there are rows in `{table}`): name an empty database or directory; nothing was changed there"
    )]
    NotEmpty {
        /// The target, as in [`StoreError::Open`].
        path: String,
        /// The first table with rows.
        table: &'static str,
    },
    /// Rows that [`Store::copy`] read back differ from those it wrote; nothing was kept.
    #[error("what was read back of `{table}` is not what was written: nothing was kept")]
    Differs {
        /// The table of those rows.
        table: &'static str,
    },
    /// What was to be copied is not there.
    #[error("there is no store at {path}")]
    NoStore {
        /// Where it was looked for.
        path: String,
    },
    /// The task was never begun, or is deleted.
    #[error("there is no task {0}")]
    NoTask(domain::TaskId),
    /// Another host works for this repository now: nothing was stored.
    #[error("another host works for the repository {repository} now: {address}")]
    Elsewhere {
        /// The repository's key in the configuration.
        repository: String,
        /// That host, as it names itself.
        address: String,
    },
    /// Somebody else wrote this repository's entry meanwhile: nothing was stored.
    #[error("the entry of the repository {repository} was changed meanwhile: repeat the command")]
    Changed {
        /// The repository's key.
        repository: String,
    },
    /// A task of the repository began meanwhile: its entry stays.
    #[error("a task of {repository} has begun meanwhile: repeat the command")]
    Live {
        /// The repository's key.
        repository: String,
    },
    /// A later life of this host, or a copy of its state directory, is at work.
    #[error("another process works with this host's id (host.id in the state directory): is the directory a copy?")]
    Replaced,
    /// A write that nobody takes: the writer has ended, or the store was opened by [`Store::look`].
    #[error("the store is closed, or was opened for looking only")]
    Closed,
}

/// PostgreSQL's code for a full disk.
const DISK_FULL: &str = "53100";

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(d)
                if d.message().contains("disk is full") || d.code().as_deref() == Some(DISK_FULL) =>
            {
                StoreError::DiskFull
            }
            _ => StoreError::Sql(error),
        }
    }
}

/// One webhook arrival.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The forge's id of the delivery, from the header `X-Gitea-Delivery`.
    pub uuid: String,
    /// The repository's key in the configuration.
    pub repository: String,
    /// The forge's name of the event, from the header `X-Gitea-Event-Type`.
    pub event_type: String,
    /// The text that it is about (`comment:17`, `issue:5`), by which it is found again as evidence.
    pub about: Option<String>,
    /// The request's body as it came, JSON; empty when a stored one cannot be unpacked.
    pub body: Vec<u8>,
    /// When it arrived, in Unix milliseconds of this machine's clock.
    pub received_at: i64,
}

/// An effect, and the life that began it.
#[derive(Debug, Clone, Copy)]
pub struct Begun {
    /// The effect's number in the outbox, [`EffectRow::id`].
    pub id: i64,
    /// The number of that life.
    pub epoch: i64,
}

/// Connections for reading.
const READERS: u32 = 4;

/// An open store: its one writer, and connections for reading. Clones share both.
#[derive(Clone)]
pub struct Store {
    writer: queue::Writer,
    readers: Arc<RwLock<AnyPool>>,
    location: Location,
    /// The number of the life that was begun here; 0 before.
    life: Arc<AtomicI64>,
}

impl Store {
    /// Opens or makes the store there and brings it to the newest shape. For who holds the state directory's lock;
    /// others take [`Store::look`].
    ///
    /// # Errors
    /// [`StoreError::Open`] when it cannot be reached, or another process writes into that database; [`StoreError::Migrate`] when a
    /// newer version made it.
    pub async fn open(at: impl Into<Location>) -> Result<Self, StoreError> {
        let location = at.into();
        location.make()?;
        let writer = writer::start(location.clone()).await?;
        let readers = location.readers(READERS).await.map_err(|error| location.failed(error))?;
        Ok(Self { writer, readers: Arc::new(RwLock::new(readers)), location, life: Arc::default() })
    }

    fn readers(&self) -> AnyPool {
        self.readers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A question of its readers. A server that is gone without a word would never answer: then others are asked from now on (the pool
    /// itself waits without end for what becomes of a connection).
    async fn read<T, E: Into<StoreError>>(
        &self,
        question: impl Future<Output = Result<T, E>>,
    ) -> Result<T, StoreError> {
        let Some(limit) = self.location.answers_within() else { return question.await.map_err(Into::into) };
        if let Ok(answer) = tokio::time::timeout(limit, question).await {
            return answer.map_err(Into::into);
        }
        let others = self.location.other_readers(READERS)?;
        *self.readers.write().unwrap_or_else(PoisonError::into_inner) = others;
        Err(StoreError::Sql(location::late(limit)))
    }

    /// Begins a process life: the number that marks what it starts.
    pub async fn begin_epoch(&self, now: i64) -> Result<i64, StoreError> {
        let epoch = self.writer.ask(|answer| queue::Write::Epoch { now, answer }).await?;
        self.life.store(epoch, Ordering::Relaxed);
        Ok(epoch)
    }

    fn life(&self) -> i64 {
        self.life.load(Ordering::Relaxed)
    }

    /// Stores an arrival; false when this uuid was stored before. Returns only once it is on the disk.
    pub async fn deliver(&self, delivery: Delivery) -> Result<bool, StoreError> {
        self.writer.deliver(delivery).await
    }

    /// Marks arrivals as taken care of.
    pub async fn delivered(&self, uuids: Vec<String>, now: i64) -> Result<(), StoreError> {
        self.writer.ask(|answer| queue::Write::Delivered { uuids, now, answer }).await
    }

    /// Moves a task on: input key, events, effects and projections in one transaction.
    ///
    /// # Errors
    /// [`StoreError::NoTask`] when it was never begun or is deleted; [`StoreError::Elsewhere`] when another host works for its
    /// repository; whatever else says that nothing was stored.
    pub async fn append(&self, append: Append) -> Result<Appended, StoreError> {
        self.writer.ask(|answer| queue::Write::Append { append: Box::new(append), answer }).await
    }

    /// Makes a task from its first step; none when the input key was used before.
    pub async fn create(&self, new: NewTask) -> Result<Option<domain::TaskId>, StoreError> {
        self.writer.ask(|answer| queue::Write::Create { new: Box::new(new), answer }).await
    }

    /// Marks an input as taken up without a task (a command that was only answered); false when it was before.
    pub async fn note_input(&self, key: &str, now: i64) -> Result<bool, StoreError> {
        let key = key.to_owned();
        self.writer.ask(|answer| queue::Write::Input { key, by: None, now, answer }).await
    }

    /// As [`Store::note_input`], of a text of this repository.
    ///
    /// # Errors
    /// [`StoreError::Elsewhere`] when another host works for it.
    pub async fn note_input_of(&self, repository: &str, key: &str, now: i64) -> Result<bool, StoreError> {
        let (key, by) = (key.to_owned(), Some((repository.to_owned(), self.life())));
        self.writer.ask(|answer| queue::Write::Input { key, by, now, answer }).await
    }

    /// Marks an effect as begun in this epoch; false when it is not open any more.
    ///
    /// # Errors
    /// [`StoreError::Elsewhere`] when another host works for its repository.
    pub async fn effect_started(&self, id: i64, epoch: i64) -> Result<bool, StoreError> {
        self.writer.ask(|answer| queue::Write::EffectStarted { id, epoch, answer }).await
    }

    /// Puts an effect back in line after something it needs was down.
    pub async fn effect_later(&self, begun: Begun, not_before: i64, trouble: &str) -> Result<(), StoreError> {
        self.put_back(begun, not_before, trouble, false).await
    }

    /// As [`Store::effect_later`], and everything else of its queue goes before it from now on.
    pub async fn effect_aside(&self, begun: Begun, not_before: i64, trouble: &str) -> Result<(), StoreError> {
        self.put_back(begun, not_before, trouble, true).await
    }

    async fn put_back(&self, begun: Begun, not_before: i64, trouble: &str, aside: bool) -> Result<(), StoreError> {
        let (Begun { id, epoch }, trouble) = (begun, trouble.to_owned());
        self.writer.ask(|answer| queue::Write::EffectLater { id, epoch, not_before, trouble, aside, answer }).await
    }

    /// Keeps the forge's id of the comment or review that the effect of this key posted, in place of an earlier one.
    pub async fn remember_post(&self, task: domain::TaskId, key: &str, forge_id: i64) -> Result<(), StoreError> {
        let key = key.to_owned();
        self.writer.ask(|answer| queue::Write::Post { task, key, forge_id, answer }).await
    }

    /// Keeps a mark in Unix milliseconds of the forge's clock: for a repository's key, how far it has been read; for
    /// `first:<key>`, when it was read first.
    pub async fn set_watermark(&self, repository: &str, at: i64) -> Result<(), StoreError> {
        let repository = repository.to_owned();
        self.writer.ask(|answer| queue::Write::Watermark { repository, at, answer }).await
    }

    /// Keeps lines of the router's log with their task.
    pub async fn keep_egress(&self, task: domain::TaskId, lines: Vec<(i64, i64, String)>) -> Result<(), StoreError> {
        self.writer.ask(|answer| queue::Write::Egress { task, lines, answer }).await
    }
}
