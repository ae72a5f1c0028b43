//! The one writer: takes what has queued up, answers when it is on the disk. Deliveries are one statement, which is its own
//! transaction; everything else that waits is done in one transaction together.

use super::{Append, Appended, Delivery, NewTask, StoreError, TakeBack, append, deliveries, grants};
use domain::TaskId;
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, Executor};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Messages taken into one transaction at most.
const BATCH: usize = 256;

type Answer<T> = oneshot::Sender<Result<T, StoreError>>;

pub(super) enum Write {
    Epoch { now: i64, answer: Answer<i64> },
    Delivered { uuids: Vec<String>, now: i64, answer: Answer<()> },
    Append { append: Box<Append>, answer: Answer<Appended> },
    Create { new: Box<NewTask>, answer: Answer<Option<TaskId>> },
    Input { key: String, now: i64, answer: Answer<bool> },
    EffectStarted { id: i64, epoch: i64, answer: Answer<bool> },
    EffectLater { id: i64, not_before: i64, trouble: String, answer: Answer<()> },
    Post { task: TaskId, key: String, forge_id: i64, answer: Answer<()> },
    Watermark { repository: String, at: i64, answer: Answer<()> },
    Egress { task: TaskId, lines: Vec<(i64, i64, String)>, answer: Answer<()> },
    TakeBack { wish: TakeBack, answer: Answer<Option<Vec<Vec<String>>>> },
    Prune { before: i64, answer: Answer<u64> },
}

enum Message {
    /// Those that have queued up are stored by one statement.
    Delivery(deliveries::Packed, Answer<bool>),
    Write(Write),
}

#[derive(Clone)]
pub(super) struct Writer {
    queue: mpsc::Sender<Message>,
    // After the queue: whoever drops the last one waits until what had queued up is stored.
    _thread: Arc<Thread>,
}

struct Thread(Option<std::thread::JoinHandle<()>>);

impl Drop for Thread {
    fn drop(&mut self) {
        if self.0.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the store's writer ended in a panic");
        }
    }
}

impl Writer {
    /// On a thread of its own: what the database's thread wakes then runs at once, and not behind every request that came meanwhile.
    pub fn start(connection: SqliteConnection) -> std::io::Result<Self> {
        let (queue, inbox) = mpsc::channel(1024);
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        let thread = std::thread::Builder::new().name("store".to_owned());
        let thread = thread.spawn(move || runtime.block_on(run(connection, inbox)))?;
        Ok(Self { queue, _thread: Arc::new(Thread(Some(thread))) })
    }

    /// One to whom nobody listens: every write is [`StoreError::Closed`].
    pub fn nobody() -> Self {
        Self { queue: mpsc::channel(1).0, _thread: Arc::new(Thread(None)) }
    }

    pub async fn ask<T>(&self, write: impl FnOnce(Answer<T>) -> Write) -> Result<T, StoreError> {
        self.send(|answer| Message::Write(write(answer))).await
    }

    pub async fn deliver(&self, delivery: Delivery) -> Result<bool, StoreError> {
        let packed = deliveries::Packed::new(delivery);
        self.send(|answer| Message::Delivery(packed, answer)).await
    }

    async fn send<T>(&self, message: impl FnOnce(Answer<T>) -> Message) -> Result<T, StoreError> {
        let (answer, reply) = oneshot::channel();
        self.queue.send(message(answer)).await.map_err(|_| StoreError::Closed)?;
        reply.await.map_err(|_| StoreError::Closed)?
    }
}

/// Told to the asker once the transaction is on the disk, or has failed.
type Told = Box<dyn FnOnce(Option<sqlx::Error>) + Send>;

async fn run(mut connection: SqliteConnection, mut inbox: mpsc::Receiver<Message>) {
    let mut batch = Vec::with_capacity(BATCH);
    while inbox.recv_many(&mut batch, BATCH).await > 0 {
        let (mut arrived, mut answers, mut writes) = (Vec::new(), Vec::new(), Vec::new());
        for message in batch.drain(..) {
            match message {
                Message::Write(write) => writes.push(write),
                Message::Delivery(delivery, answer) => {
                    arrived.push(delivery);
                    answers.push(answer);
                }
            }
        }
        // The forge waits for these, and not for long.
        let fresh = deliveries::store(&mut connection, &arrived).await;
        for (answer, fresh) in answers.into_iter().zip(fresh) {
            tell(answer, fresh)(None);
        }
        if !writes.is_empty() && !together(&mut connection, writes).await {
            // What came next would join a transaction that nobody will ever commit, and be told that it is stored.
            tracing::error!("the store stops: a transaction could neither be stored nor taken back");
            break;
        }
    }
    let _ = connection.close().await;
}

/// One transaction for all of them. False when it is still open.
async fn together(connection: &mut SqliteConnection, writes: Vec<Write>) -> bool {
    let (mut told, mut ended): (Vec<Told>, bool) = (Vec::with_capacity(writes.len()), true);
    if let Err(error) = connection.execute("BEGIN IMMEDIATE").await {
        tracing::error!(%error, "the store refuses to begin a transaction");
        return true;
    }
    for write in writes {
        told.push(one(connection, write).await);
    }
    let failed = connection.execute("COMMIT").await.err();
    if let Some(error) = &failed {
        tracing::error!(%error, "a transaction was not stored");
        // A failed COMMIT may leave the transaction open.
        ended = match connection.execute("ROLLBACK").await {
            Ok(_) => true,
            Err(error) => error.to_string().contains("no transaction is active"),
        };
    }
    let text = failed.map(|e| e.to_string());
    for tell in told {
        tell(text.clone().map(sqlx::Error::Protocol));
    }
    ended
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
            let result = async {
                connection.execute("SAVEPOINT one").await?;
                $work
            }
            .await;
            let end = if result.is_ok() { "RELEASE one" } else { "ROLLBACK TO one; RELEASE one" };
            let ended = connection.execute(end).await.map(|_| ()).map_err(StoreError::from);
            tell($answer, result.and_then(|value| ended.map(|()| value)))
        }};
    }
    match write {
        Write::Epoch { now, answer } => within!(answer, epoch(connection, now).await),
        Write::Delivered { uuids, now, answer } => within!(answer, deliveries::handled(connection, &uuids, now).await),
        Write::Append { append, answer } => within!(answer, append::append(connection, &append).await),
        Write::Create { new, answer } => within!(answer, append::create(connection, &new).await),
        Write::Input { key, now, answer } => within!(answer, append::input(connection, &key, None, now).await),
        Write::EffectStarted { id, epoch, answer } => {
            within!(answer, super::outbox::started(connection, id, epoch).await)
        }
        Write::EffectLater { id, not_before, trouble, answer } => {
            within!(answer, super::outbox::later(connection, id, not_before, &trouble).await)
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
        Write::Prune { before, answer } => within!(answer, deliveries::prune(connection, before).await),
    }
}

type Query<'q> = sqlx::query::Query<'q, sqlx::Sqlite, sqlx::sqlite::SqliteArguments>;

async fn run_sql(query: Query<'_>, connection: &mut SqliteConnection) -> Result<(), StoreError> {
    query.execute(connection).await?;
    Ok(())
}

async fn epoch(connection: &mut SqliteConnection, now: i64) -> Result<i64, StoreError> {
    let sql = "INSERT INTO epochs (started_at) VALUES ($1) RETURNING epoch";
    Ok(sqlx::query_scalar(sql).bind(now).fetch_one(connection).await?)
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
