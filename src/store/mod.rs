//! The database; no other module uses SQL.
//!
//! One writer on a thread of its own has the one writing connection and commits queued messages in one transaction (group commit,
//! synchronous FULL); readers have other connections. No caller gets a transaction: [`Store::append`] is the only message that changes a
//! task. Stored in SQLite or PostgreSQL with the same SQL; differences are in `location.rs`. Tests: `contract` for both, `tests.rs` for
//! SQLite's file.

mod addresses;
mod append;
mod audit;
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
mod unreadable;
mod upstream_issues;
mod wakes;
mod watched_pulls;
mod writer;

pub use addresses::Address;
pub use append::{Append, Appended, Close, NewTask};
pub use audit::{AuditOutcome, AuditRow, NewAudit, RequestText};
pub use changed::{MOST_SHARED, Shared};
pub use charges::{Cost, CostBy, DAY_MS, day_began, month_began};
pub use copy::{Copied, TABLES};
pub use deliveries::DeliveriesAbout;
pub use grants::TakeBack;
pub use leases::{Claim, ClaimResult, Claimed, Host};
pub use line::{LineRow, Turn};
pub use live::LiveRow;
pub use location::Location;
pub use outbox::{EffectRow, EffectState, UnreadEffect};
pub use pictures::MOST_OF_A_TASK;
pub use read::{ActionRow, TaskRow};
pub use repositories::StoredEntry;
pub use retention::{Before, Deleted};
use test_runs::TestRunStep;
pub use test_runs::{Cause, HOUR_MS, NewTestRun, TakenUp, TestRunRow, sandbox_number};
use unreadable::UnreadableTasks;
pub use unreadable::unless_unreadable;
pub use upstream_issues::UpstreamIssueRow;
pub use wakes::{Wakes, Word};
use watched_pulls::EndOfWatch;
pub use watched_pulls::WatchedPull;

use sqlx::AnyPool;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Why the store could not be opened, read, written or copied.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database could not be made, reached or migrated, or another process writes into it.
    #[error("the store at {path} cannot be opened: {source}")]
    Open {
        /// SQLite's file, or the PostgreSQL database's address without a password.
        path: String,
        /// What failed, an I/O error of this machine included.
        source: sqlx::Error,
    },
    /// Its migrations are not those of this version, for example because a newer version made it.
    #[error("the store was made by a newer or damaged version: {0}")]
    Migrate(#[source] sqlx::migrate::MigrateError),
    /// A store opened for reading has the schema of another version.
    #[error("{}", of_another_version(*found, *known))]
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
    /// A stored event of a newer version than this program reads.
    #[error("a stored body has version {version}, newer than this version of caisson reads ({known})")]
    Newer {
        /// The event's version.
        version: i64,
        /// The newest version that can be read.
        known: i64,
    },
    /// An open effect that this version cannot parse.
    #[error("the stored effect {} cannot be read: {}", .0.key, .0.source)]
    Effect(UnreadEffect),
    /// The writer panicked, ended or lost its database before it answered: the write may or may not be stored, and is repeated with its
    /// key.
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
    /// Rows that [`Store::copy`] read back differ from those it wrote; nothing was stored.
    #[error("what was read back of `{table}` is not what was written: nothing was kept")]
    Differs {
        /// The table of those rows.
        table: &'static str,
    },
    /// There is no store to copy.
    #[error("there is no store at {path}")]
    NoStore {
        /// Its location.
        path: String,
    },
    /// The task does not exist or was deleted.
    #[error("there is no task {0}")]
    NoTask(domain::TaskId),
    /// A task is at work on this issue, which another text began: nothing was stored.
    #[error("task {task} has just begun on issue #{issue}")]
    AtWork {
        /// The task at work.
        task: domain::TaskId,
        /// The issue, or the pull request of a person.
        issue: u64,
    },
    /// Another host works for this repository: nothing was stored.
    #[error("{}", elsewhere(.repository, .address, .silent))]
    Elsewhere {
        /// The repository's key in the configuration.
        repository: String,
        /// Address of that host.
        address: String,
        /// Whether its lease has ended, by this machine's clock.
        silent: bool,
    },
    /// Another process changed this repository's entry meanwhile: nothing was stored.
    #[error("the entry of the repository {repository} was changed meanwhile: repeat the command")]
    Changed {
        /// The repository's key.
        repository: String,
    },
    /// A task of the repository started meanwhile: its entry stays.
    #[error("a task of {repository} has begun meanwhile: repeat the command")]
    Live {
        /// The repository's key.
        repository: String,
    },
    /// A later life of this host, or a process with a copy of its state directory, is running.
    #[error("another process works with this host's id (host.id in the state directory): is the directory a copy?")]
    Replaced,
    /// Writing is impossible: the writer has ended, or the store was opened by [`Store::look`].
    #[error("the store is closed, or was opened for looking only")]
    Closed,
}

/// `compose/up.sh` knows the store of an older version by these words.
fn of_another_version(found: i64, known: i64) -> String {
    let (version, hint) = match found < known {
        true => ("an older", "look with that version, or start `caisson serve` of this one first"),
        false => ("a newer", "use that version, or a copy of the store from before it"),
    };
    format!("the store has the shape of {version} version of caisson ({found}; this one knows {known}): {hint}")
}

fn elsewhere(repository: &str, address: &str, silent: &bool) -> String {
    match silent {
        true => format!("{address} had the repository {repository} last and is silent: start it, or remove its entry"),
        false => format!("another host works for the repository {repository} now: {address}"),
    }
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

/// One webhook delivery.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The forge's id of the delivery, from the header `X-Gitea-Delivery`.
    pub uuid: String,
    /// The repository's key in the configuration.
    pub repository: String,
    /// The forge's name of the event, from the header `X-Gitea-Event-Type`.
    pub event_type: String,
    /// The text that it is about (`comment:17`, `issue:5`), by which it is found as evidence.
    pub about: Option<String>,
    /// The request's body, JSON as received; empty when a stored one cannot be unpacked.
    pub body: Vec<u8>,
    /// Unix milliseconds of its arrival by this machine's clock.
    pub received_at: i64,
}

/// An effect with the life that began it.
#[derive(Debug, Clone, Copy)]
pub struct Begun {
    /// The effect's number in the outbox, [`EffectRow::id`].
    pub id: i64,
    /// The number of that life.
    pub epoch: i64,
}

/// Connections for reading.
const READERS: u32 = 4;

/// An open store with its one writer and connections for reading; clones share both.
#[derive(Clone)]
pub struct Store {
    writer: queue::Writer,
    readers: Arc<RwLock<AnyPool>>,
    location: Location,
    /// Number of the life that was begun here; 0 before.
    life: Arc<AtomicI64>,
    unreadable: Arc<UnreadableTasks>,
}

impl Store {
    /// Opens or creates the store and migrates it to the newest schema. For the holder of the state directory's lock; others use
    /// [`Store::look`].
    ///
    /// # Errors
    /// [`StoreError::Open`] when it cannot be reached or migrated, or another process writes into that database; [`StoreError::Migrate`]
    /// when a newer version made it.
    pub async fn open(at: impl Into<Location>) -> Result<Self, StoreError> {
        let location = at.into();
        location.make()?;
        let writer = writer::start(location.clone()).await?;
        let readers = location.readers(READERS).await.map_err(|error| location.failed(error))?;
        let (readers, life, unreadable) = (Arc::new(RwLock::new(readers)), Arc::default(), Arc::default());
        Ok(Self { writer, readers, location, life, unreadable })
    }

    fn readers(&self) -> AnyPool {
        self.readers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A query by its readers. If a server does not answer in time the pool is replaced, because the pool itself would wait for the lost
    /// connection for ever.
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

    /// Begins a life of the process and gives its number.
    pub async fn begin_epoch(&self, now: i64) -> Result<i64, StoreError> {
        let epoch = self.writer.ask(|answer| queue::Write::Epoch { now, answer }).await?;
        self.life.store(epoch, Ordering::Relaxed);
        Ok(epoch)
    }

    fn life(&self) -> i64 {
        self.life.load(Ordering::Relaxed)
    }

    /// Stores a delivery; false when its uuid was stored before. Returns once it is on the disk.
    pub async fn deliver(&self, delivery: Delivery) -> Result<bool, StoreError> {
        self.writer.deliver(delivery).await
    }

    /// Marks deliveries as handled.
    pub async fn delivered(&self, uuids: Vec<String>, now: i64) -> Result<(), StoreError> {
        self.writer.ask(|answer| queue::Write::Delivered { uuids, now, answer }).await
    }

    /// Appends a step to a task: input key, events, effects and projections in one transaction.
    ///
    /// # Errors
    /// [`StoreError::NoTask`] when it does not exist or was deleted; [`StoreError::Elsewhere`] when another host works for its repository;
    /// after any error nothing was stored, except as [`StoreError::Broken`] says.
    pub async fn append(&self, append: Append) -> Result<Appended, StoreError> {
        self.writer.ask(|answer| queue::Write::Append { append: Box::new(append), answer }).await
    }

    /// Creates a task from its first step; none when the input key was used before.
    ///
    /// # Errors
    /// [`StoreError::AtWork`] while another task is at work on the same issue; [`StoreError::Elsewhere`] when another host works for its
    /// repository.
    pub async fn create(&self, new: NewTask) -> Result<Option<domain::TaskId>, StoreError> {
        self.writer.ask(|answer| queue::Write::Create { new: Box::new(new), answer }).await
    }

    /// Accepts an input without a task (a command that was only answered); false when it was accepted before.
    pub async fn note_input(&self, key: &str, now: i64) -> Result<bool, StoreError> {
        let key = key.to_owned();
        self.writer.ask(|answer| queue::Write::Input { key, by: None, now, answer }).await
    }

    /// As [`Store::note_input`], for a text of this repository.
    ///
    /// # Errors
    /// [`StoreError::Elsewhere`] when another host works for it.
    pub async fn note_input_of(&self, repository: &str, key: &str, now: i64) -> Result<bool, StoreError> {
        let (key, by) = (key.to_owned(), Some((repository.to_owned(), self.life())));
        self.writer.ask(|answer| queue::Write::Input { key, by, now, answer }).await
    }

    /// Marks an effect as begun by this life; false when it is no longer open.
    ///
    /// # Errors
    /// [`StoreError::Elsewhere`] when another host works for its repository.
    pub async fn effect_started(&self, id: i64, epoch: i64) -> Result<bool, StoreError> {
        self.writer.ask(|answer| queue::Write::EffectStarted { id, epoch, answer }).await
    }

    /// Makes an effect pending again after something it needs was unavailable.
    pub async fn effect_later(&self, begun: Begun, not_before: i64, trouble: &str) -> Result<(), StoreError> {
        self.put_back(begun, not_before, trouble, false).await
    }

    /// As [`Store::effect_later`], and lets everything else of its queue run before it.
    pub async fn effect_aside(&self, begun: Begun, not_before: i64, trouble: &str) -> Result<(), StoreError> {
        self.put_back(begun, not_before, trouble, true).await
    }

    async fn put_back(&self, begun: Begun, not_before: i64, trouble: &str, aside: bool) -> Result<(), StoreError> {
        let (Begun { id, epoch }, trouble) = (begun, trouble.to_owned());
        self.writer.ask(|answer| queue::Write::EffectLater { id, epoch, not_before, trouble, aside, answer }).await
    }

    /// Stores the forge's id of the comment or review posted by the effect with this key, replacing an earlier one.
    pub async fn remember_post(&self, task: domain::TaskId, key: &str, forge_id: i64) -> Result<(), StoreError> {
        let key = key.to_owned();
        self.writer.ask(|answer| queue::Write::Post { task, key, forge_id, answer }).await
    }

    /// Stores a time of the forge's clock in Unix milliseconds: for a repository's key, how far it was read; for `looked-up:<key>`, how
    /// far at an address that was looked up; for `first:<key>`, when it was first read. For `stop:<key>#<issue>` it is no time but the forge's
    /// number of a text, for `former-tasks:<key>` the number of a task, and for `test-waits:…` a time of ours. At 0 it is forgotten.
    pub async fn set_watermark(&self, repository: &str, at: i64) -> Result<(), StoreError> {
        let name = repository.to_owned();
        self.writer.ask(|answer| queue::Write::Watermark { name, by: None, at, answer }).await
    }

    /// As [`Store::set_watermark`], of what this life read in a repository.
    ///
    /// # Errors
    /// [`StoreError::Elsewhere`] when another host works for it: what this one read may not have counted.
    pub async fn set_watermark_of(&self, repository: &str, name: &str, at: i64) -> Result<(), StoreError> {
        let (name, by) = (name.to_owned(), Some((repository.to_owned(), self.life())));
        self.writer.ask(|answer| queue::Write::Watermark { name, by, at, answer }).await
    }

    /// Stores lines of the router's log for their task, each with its key and time (Unix milliseconds); one of a stored key replaces that.
    pub async fn keep_egress(&self, task: domain::TaskId, lines: Vec<(i64, i64, String)>) -> Result<(), StoreError> {
        self.writer.ask(|answer| queue::Write::Egress { task, lines, answer }).await
    }
}
