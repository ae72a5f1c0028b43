//! The one writer: takes what has queued up, answers when it is on the disk. Deliveries are one statement, which is its own
//! transaction; everything else that waits is done in one transaction together.
//!
//! It outlives whatever fails: a message that panics is answered with an error and undone, a connection that could not begin or end a
//! transaction is replaced by a new one (what was open in it was never stored).

use super::queue::{Answer, Message, Write, Writer};
use super::{StoreError, append, deliveries, grants, inputs, retention};
use domain::TaskId;
use futures_util::FutureExt;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{Connection, Executor};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tokio::sync::mpsc;

/// Messages taken into one transaction at most.
const BATCH: usize = 256;

/// On a thread of its own: what the database's thread wakes then runs at once, and not behind every request that came meanwhile.
pub(super) fn start(connection: SqliteConnection, options: SqliteConnectOptions) -> std::io::Result<Writer> {
    let (queue, mut inbox) = mpsc::channel(1024);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let thread = std::thread::Builder::new().name("store".to_owned());
    let thread = thread.spawn(move || {
        let mut line = Line { connection: Some(connection), options };
        while let Err(panic) = catch_unwind(AssertUnwindSafe(|| runtime.block_on(line.run(&mut inbox)))) {
            broken(&crate::supervise::message(&*panic));
            line.connection = None;
        }
    })?;
    Ok(Writer::of(queue, thread))
}

/// Told to the asker once the transaction is on the disk, or has failed.
type Told = Box<dyn FnOnce(Option<sqlx::Error>) + Send>;

fn broken(error: &dyn std::fmt::Display) {
    tracing::error!(%error, "the store's writer failed; it goes on with a new connection");
    metrics::counter!("caisson_store_failures_total").increment(1);
}

/// What came in one go.
#[derive(Default)]
struct Batch {
    arrived: Vec<deliveries::Packed>,
    /// One for each arrival.
    keepers: Vec<Answer<bool>>,
    writes: Vec<Write>,
    emptied: Vec<Answer<()>>,
}

/// The one writing connection. `None` after it failed.
struct Line {
    connection: Option<SqliteConnection>,
    options: SqliteConnectOptions,
}

impl Line {
    /// Until nobody is left who could ask.
    async fn run(&mut self, inbox: &mut mpsc::Receiver<Message>) {
        let mut messages = Vec::with_capacity(BATCH);
        while inbox.recv_many(&mut messages, BATCH).await > 0 {
            let mut batch = Batch::default();
            for message in messages.drain(..) {
                match message {
                    Message::Write(write) => batch.writes.push(write),
                    Message::EmptyLog(answer) => batch.emptied.push(answer),
                    Message::Delivery(delivery, answer) => {
                        batch.arrived.push(delivery);
                        batch.keepers.push(answer);
                    }
                }
            }
            if let Err(error) = self.take(batch).await {
                broken(&error);
                self.connection = None;
            }
        }
        if let Some(connection) = self.connection.take() {
            let _ = connection.close().await;
        }
    }

    /// Fails when the connection is of no use any more. Whoever asked has been told by then, or is told by its answer's end.
    async fn take(&mut self, batch: Batch) -> Result<(), sqlx::Error> {
        if self.connection.is_none() {
            self.connection = Some(SqliteConnection::connect_with(&self.options).await?);
        }
        let Some(connection) = &mut self.connection else { return Ok(()) };
        // The forge waits for these, and not for long.
        let fresh = deliveries::store(connection, &batch.arrived).await;
        let stored = fresh.iter().all(Result::is_ok);
        for (answer, fresh) in batch.keepers.into_iter().zip(fresh) {
            tell(answer, fresh)(None);
        }
        if !batch.writes.is_empty() {
            together(connection, batch.writes).await?;
        }
        for answer in batch.emptied {
            let emptied = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").await;
            tell(answer, emptied.map(drop).map_err(StoreError::from))(None);
        }
        if stored { Ok(()) } else { Err(sqlx::Error::Protocol("deliveries could not be stored".to_owned())) }
    }
}

/// One transaction for all of them.
async fn together(connection: &mut SqliteConnection, writes: Vec<Write>) -> Result<(), sqlx::Error> {
    connection.execute("BEGIN IMMEDIATE").await?;
    let mut told: Vec<Told> = Vec::with_capacity(writes.len());
    for write in writes {
        told.push(one(connection, write).await);
    }
    let ended = connection.execute("COMMIT").await;
    let text = ended.as_ref().err().map(ToString::to_string);
    for tell in told {
        tell(text.clone().map(sqlx::Error::Protocol));
    }
    ended.map(drop)
}

fn tell<T: Send + 'static>(answer: Answer<T>, result: Result<T, StoreError>) -> Told {
    Box::new(move |failed| {
        let result = match failed {
            Some(error) if error.to_string().contains("disk is full") => Err(StoreError::DiskFull),
            Some(error) => Err(StoreError::Sql(error)),
            None => result,
        };
        // The asker may have gone away; what was stored stays stored.
        let _ = answer.send(result);
    })
}

/// Does one message between savepoints: a failing one takes nothing else with it.
async fn one(connection: &mut SqliteConnection, write: Write) -> Told {
    macro_rules! within {
        ($answer:expr, $work:expr) => {{
            let work = async {
                connection.execute("SAVEPOINT one").await?;
                $work
            };
            let result = AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|panic| {
                let text = crate::supervise::message(&*panic);
                tracing::error!(panic = text, "what was to be stored made the store panic");
                metrics::counter!("caisson_store_failures_total").increment(1);
                Err(StoreError::Broken(text))
            });
            let end = if result.is_ok() { "RELEASE one" } else { "ROLLBACK TO one; RELEASE one" };
            let ended = connection.execute(end).await.map(|_| ()).map_err(StoreError::from);
            tell($answer, result.and_then(|value| ended.map(|()| value)))
        }};
    }
    match write {
        Write::Try { answer } => {
            let sql = "UPDATE epochs SET started_at = started_at WHERE epoch = (SELECT MAX(epoch) FROM epochs)";
            within!(answer, run_sql(sqlx::query(sql), connection).await)
        }
        Write::Epoch { now, answer } => within!(answer, epoch(connection, now).await),
        Write::Delivered { uuids, now, answer } => within!(answer, deliveries::handled(connection, &uuids, now).await),
        Write::Append { append, answer } => within!(answer, append::append(connection, &append).await),
        Write::Create { new, answer } => within!(answer, append::create(connection, &new).await),
        Write::Input { key, now, answer } => within!(answer, inputs::input(connection, &key, None, now).await),
        Write::EffectStarted { id, epoch, answer } => {
            within!(answer, super::outbox::started(connection, id, epoch).await)
        }
        Write::EffectLater { id, not_before, trouble, aside, answer } => {
            within!(answer, super::outbox::later(connection, id, not_before, &trouble, aside).await)
        }
        Write::HoldCharge { effect, answer } => {
            let sql = "UPDATE effects SET held = TRUE WHERE id = $1";
            within!(answer, run_sql(sqlx::query(sql).bind(effect), connection).await)
        }
        Write::Post { task, key, forge_id, answer } => {
            let sql = "INSERT INTO posts (task, key, forge_id) VALUES ($1, $2, $3) \
                       ON CONFLICT (task, key) DO UPDATE SET forge_id = excluded.forge_id";
            within!(answer, run_sql(sqlx::query(sql).bind(task.0).bind(key).bind(forge_id), connection).await)
        }
        Write::Watermark { repository, at, answer } => {
            let sql = "INSERT INTO watermarks (repository, at) VALUES ($1, $2) \
                       ON CONFLICT (repository) DO UPDATE SET at = excluded.at";
            within!(answer, run_sql(sqlx::query(sql).bind(repository).bind(at), connection).await)
        }
        Write::Egress { task, lines, answer } => within!(answer, egress(connection, task, &lines).await),
        Write::TakeBack { wish, answer } => within!(answer, grants::take_back(connection, &wish).await),
        Write::DeleteTask { task, answer } => within!(answer, retention::delete_task(connection, task).await),
        Write::Prune { before, answer } => within!(answer, retention::prune(connection, &before).await),
        Write::Unread { repository, number, now, answer } => {
            within!(answer, super::unread::note(connection, &repository, number, now).await)
        }
        Write::Address { seen, answer } => within!(answer, super::addresses::keep(connection, &seen).await),
    }
}

type Query<'q> = sqlx::query::Query<'q, sqlx::Sqlite, sqlx::sqlite::SqliteArguments>;

async fn run_sql(query: Query<'_>, connection: &mut SqliteConnection) -> Result<(), StoreError> {
    query.execute(connection).await?;
    Ok(())
}

async fn epoch(connection: &mut SqliteConnection, now: i64) -> Result<i64, StoreError> {
    let sql = "INSERT INTO epochs (started_at) VALUES ($1) RETURNING epoch";
    let epoch = sqlx::query_scalar(sql).bind(now).fetch_one(&mut *connection).await?;
    // Numbers count up without the rows of earlier lives.
    sqlx::query("DELETE FROM epochs WHERE epoch < $1").bind(epoch).execute(connection).await?;
    Ok(epoch)
}

async fn egress(
    connection: &mut SqliteConnection,
    task: TaskId,
    lines: &[(i64, i64, String)],
) -> Result<(), StoreError> {
    let sql = "INSERT INTO egress (task, seq, at, body) VALUES ($1, $2, $3, $4) ON CONFLICT (task, seq) DO NOTHING";
    for (seq, at, body) in lines {
        sqlx::query(sql).bind(task.0).bind(seq).bind(at).bind(body).execute(&mut *connection).await?;
    }
    Ok(())
}
