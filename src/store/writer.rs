//! The one writer: takes queued messages, writes them in one transaction, and answers once that is on the disk.
//!
//! It survives failures: a message that panics is undone and answered with an error, and a connection that could not begin or end a
//! transaction is replaced (what was open in it was never stored).

use super::queue::{Arrival, Message, Reply, Write, Writer};
use super::{
    Location, StoreError, addresses, append, audit, body, deliveries, grants, inputs, leases, location, outbox, packs,
    pictures, repositories, retention, test_runs, unread, upstream_issues, wakes, watched_pulls,
};
use domain::TaskId;
use futures_util::FutureExt;
use sqlx::any::{Any, AnyArguments};
use sqlx::migrate::MigrateError;
use sqlx::{AnyConnection, AssertSqlSafe, Connection, Executor};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tokio::sync::{mpsc, oneshot};

/// The most messages in one transaction.
const BATCH: usize = 256;

/// Opens and migrates the store on a thread of its own, so that database events are handled at once and not after queued requests.
pub(super) async fn start(location: Location) -> Result<Writer, StoreError> {
    let (queue, mut inbox) = mpsc::channel(1024);
    let (opened, answer) = oneshot::channel();
    let failed = |error| location.failed(sqlx::Error::Io(error));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let thread = std::thread::Builder::new().name("store".to_owned());
    let place = location.clone();
    let thread = thread.spawn(move || {
        let mut line = match runtime.block_on(Line::open(place)) {
            Ok(line) => line,
            Err(error) => return drop(opened.send(Err(error))),
        };
        let _ = opened.send(Ok(()));
        while let Err(panic) = catch_unwind(AssertUnwindSafe(|| runtime.block_on(line.run(&mut inbox)))) {
            broken(&crate::supervise::message(&*panic));
            line.connection = None;
        }
    });
    let thread = thread.map_err(failed)?;
    // A caller that gives up does not wait for the thread, which ends when it has no senders.
    answer.await.map_err(|_| StoreError::Broken("it could not be opened".to_owned()))??;
    Ok(Writer::of(queue, thread))
}

/// Called once the transaction is on the disk or has failed.
type OnCommit = Box<dyn FnOnce(Option<sqlx::Error>) + Send>;

fn broken(error: &dyn std::fmt::Display) {
    tracing::error!(%error, "the store's writer failed; it goes on with a new connection");
    metrics::counter!("caisson_store_failures_total").increment(1);
}

/// The one writing connection; `None` after it failed.
struct Line {
    connection: Option<AnyConnection>,
    location: Location,
}

/// A statement that failed, for lack of disk or of a right, says nothing about the version of what is there.
fn unmigrated(location: &Location, error: MigrateError) -> StoreError {
    match error {
        MigrateError::Execute(source) | MigrateError::ExecuteMigration(source, _) => location.failed(source),
        other => StoreError::Migrate(other),
    }
}

impl Line {
    async fn open(location: Location) -> Result<Self, StoreError> {
        let mut connection = location.writer().await.map_err(|error| location.failed(error))?;
        location.migrations().run(&mut connection).await.map_err(|error| unmigrated(&location, error))?;
        Ok(Self { connection: Some(connection), location })
    }

    /// Runs until all senders are dropped.
    async fn run(&mut self, inbox: &mut mpsc::Receiver<Message>) {
        let mut messages = Vec::with_capacity(BATCH);
        while inbox.recv_many(&mut messages, BATCH).await > 0 {
            let (mut arrived, mut writes, mut emptied) = (Vec::new(), Vec::new(), Vec::new());
            for message in messages.drain(..) {
                match message {
                    Message::Delivery(arrival) => arrived.push(arrival),
                    Message::Write(write) => writes.push(write),
                    Message::EmptyLog(answer) => emptied.push(answer),
                }
            }
            let limit = self.location.answers_within();
            let taken = async { self.take(arrived, writes, emptied).await };
            let taken = match limit {
                Some(limit) => tokio::time::timeout(limit, taken).await.unwrap_or_else(|_| Err(location::late(limit))),
                None => taken.await,
            };
            if let Err(error) = taken {
                broken(&error);
                self.connection = None;
            }
        }
        if let Some(connection) = self.connection.take() {
            let _ = connection.close().await;
        }
    }

    /// Fails when the connection is unusable; the senders were answered, or are by dropping their channel.
    async fn take(
        &mut self,
        arrived: Vec<Arrival>,
        writes: Vec<Write>,
        emptied: Vec<Reply<()>>,
    ) -> Result<(), sqlx::Error> {
        if self.connection.is_none() {
            self.connection = Some(self.location.writer().await?);
        }
        let Some(connection) = &mut self.connection else { return Ok(()) };
        if !(arrived.is_empty() && writes.is_empty()) {
            together(connection, &self.location, arrived, writes).await?;
        }
        for answer in emptied {
            let done = match self.location.after_deletion() {
                Some(sql) => connection.execute(sql).await.map(drop),
                None => Ok(()),
            };
            tell(answer, done.map_err(StoreError::from))(None);
        }
        Ok(())
    }
}

/// One transaction for all of them.
async fn together(
    connection: &mut AnyConnection,
    location: &Location,
    arrived: Vec<Arrival>,
    writes: Vec<Write>,
) -> Result<(), sqlx::Error> {
    connection.execute(location.begin()).await?;
    if let Some(sql) = location.patient().filter(|_| writes.iter().any(Write::is_large)) {
        connection.execute(sql).await?;
    }
    let commit = if location.is_shared() { wakes::commit(&arrived, &writes) } else { "COMMIT" };
    let mut told: Vec<OnCommit> = Vec::with_capacity(arrived.len() + writes.len());
    let mut whole = arrivals(connection, arrived, &mut told).await;
    for write in writes {
        // After a savepoint that could not be ended there may be no transaction, so further messages would be stored separately.
        if !whole {
            break;
        }
        let (tell, ended) = one(connection, write).await;
        whole = ended;
        told.push(tell);
    }
    let ended = if whole { connection.execute(commit).await.map(drop) } else { undone(connection).await };
    let text = ended.as_ref().err().map(ToString::to_string);
    for tell in told {
        tell(text.clone().map(sqlx::Error::Protocol));
    }
    ended
}

/// Deliveries between two savepoints for all, because only the database can fail. False as in [`one`].
async fn arrivals(connection: &mut AnyConnection, arrived: Vec<Arrival>, told: &mut Vec<OnCommit>) -> bool {
    if arrived.is_empty() {
        return true;
    }
    let stored = async {
        connection.execute("SAVEPOINT arrivals").await?;
        let mut fresh = Vec::with_capacity(arrived.len());
        for (delivery, _) in &arrived {
            fresh.push(deliveries::store(connection, delivery).await?);
        }
        Ok::<_, StoreError>(fresh)
    };
    let stored = stored.await;
    let end = if stored.is_ok() { "RELEASE arrivals" } else { "ROLLBACK TO arrivals; RELEASE arrivals" };
    let whole = connection.execute(end).await.is_ok();
    for (at, (_, answer)) in arrived.into_iter().enumerate() {
        told.push(tell(answer, stored.as_ref().map(|fresh| fresh[at]).map_err(same)));
    }
    whole
}

/// The error, copied for each waiting sender.
fn same(error: &StoreError) -> StoreError {
    match error {
        StoreError::DiskFull => StoreError::DiskFull,
        other => StoreError::Sql(sqlx::Error::Protocol(other.to_string())),
    }
}

/// Rolls back, because PostgreSQL accepts the COMMIT of a failed transaction silently and stores nothing.
async fn undone(connection: &mut AnyConnection) -> Result<(), sqlx::Error> {
    let _ = connection.execute("ROLLBACK").await;
    Err(sqlx::Error::Protocol("the transaction failed: nothing of it was stored".to_owned()))
}

fn tell<T: Send + 'static>(answer: Reply<T>, result: Result<T, StoreError>) -> OnCommit {
    Box::new(move |failed| {
        let result = match failed {
            Some(error) if error.to_string().contains("disk is full") => Err(StoreError::DiskFull),
            // The message's own error says more than the transaction's.
            Some(error) => Err(result.err().unwrap_or(StoreError::Sql(error))),
            None => result,
        };
        // The sender may have gone; what was stored stays stored.
        let _ = answer.send(result);
    })
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> StoreError {
    let text = crate::supervise::message(panic);
    tracing::error!(panic = text, "what was to be stored made the store panic");
    metrics::counter!("caisson_store_failures_total").increment(1);
    StoreError::Broken(text)
}

/// Changes nothing, and fails where nothing can be written.
const TRY: &str = "UPDATE epochs SET started_at = started_at WHERE epoch = (SELECT MAX(epoch) FROM epochs)";

/// Handles one message between savepoints, so that a failure affects no other. False = even its savepoint could not be ended.
async fn one(db: &mut AnyConnection, write: Write) -> (OnCommit, bool) {
    macro_rules! within {
        ($answer:expr, $work:expr) => {{
            let work = async {
                db.execute("SAVEPOINT one").await?;
                $work
            };
            let result = AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|panic| Err(panicked(&*panic)));
            let end = if result.is_ok() { "RELEASE one" } else { "ROLLBACK TO one; RELEASE one" };
            let ended = db.execute(end).await;
            let whole = ended.is_ok();
            (tell($answer, result.and_then(|value| ended.map(|_| value).map_err(StoreError::from))), whole)
        }};
    }
    match write {
        Write::Try { answer } => within!(answer, run_sql(sqlx::query(TRY), db).await),
        Write::Epoch { now, answer } => within!(answer, epoch(db, now).await),
        Write::Delivered { uuids, now, answer } => within!(answer, deliveries::handled(db, &uuids, now).await),
        Write::Append { append, answer } => within!(answer, append::append(db, &append).await),
        Write::Create { new, answer } => within!(answer, append::create(db, &new).await),
        Write::Input { key, by, now, answer } => within!(answer, inputs::noted(db, &key, by, now).await),
        Write::EffectStarted { id, epoch, answer } => within!(answer, outbox::started(db, id, epoch).await),
        Write::EffectLater { id, epoch, not_before, trouble, aside, answer } => {
            within!(answer, outbox::later(db, (id, epoch), not_before, &trouble, aside).await)
        }
        Write::HoldCharge { effect, epoch, answer } => within!(answer, outbox::hold_charge(db, effect, epoch).await),
        Write::Post { task, key, forge_id, answer } => within!(answer, post(db, task, &key, forge_id).await),
        Write::Watermark { name, by, at, answer } => within!(answer, watermark(db, &name, by, at).await),
        Write::Egress { task, lines, answer } => within!(answer, egress(db, task, &lines).await),
        Write::TakeBack { wish, epoch, answer } => within!(answer, grants::take_back(db, &wish, epoch).await),
        Write::DeleteTask { task, answer } => within!(answer, retention::delete_task(db, task).await),
        Write::Prune { before, answer } => within!(answer, retention::prune(db, &before).await),
        Write::Unread { repository, number, now, answer } => {
            within!(answer, unread::note(db, &repository, number, now).await)
        }
        Write::Address { seen, answer } => within!(answer, addresses::keep(db, &seen).await),
        Write::Claim { claim, database, answer } => within!(answer, leases::claim(db, &claim, &database).await),
        Write::Release { host, epoch, repositories, goes, clock, answer } => {
            within!(answer, leases::release(db, (&host, epoch), &repositories, (goes, clock)).await)
        }
        Write::Pack { task, commit, epoch, body, answer } => {
            within!(answer, packs::keep(db, (task, epoch), &commit, body).await)
        }
        Write::Picture { task, digest, epoch, body, answer } => {
            within!(answer, pictures::keep(db, (task, epoch), &digest, body).await)
        }
        Write::ForgetArtifacts { task, epoch, answer } => within!(answer, pictures::forget(db, (task, epoch)).await),
        Write::NewTestRun { new, by, answer } => within!(answer, test_runs::take_up(db, &new, by).await),
        Write::Unwatch { end, by, answer } => within!(answer, watched_pulls::end(db, &end, by).await),
        Write::UpstreamIssue { repository, row, by, answer } => {
            within!(answer, upstream_issues::keep(db, &repository, row, by).await)
        }
        Write::Audit { new, by, answer } => within!(answer, audit::keep(db, &new, by).await),
        Write::TestRun { id, step, by, answer } => within!(answer, test_runs::go_on(db, id, &step, by).await),
        Write::Forget { repository, by, answer } => within!(answer, repositories::forget(db, &repository, by).await),
        Write::Entry { entry, answer } => within!(answer, repositories::put(db, &entry).await),
        Write::Marks { fingerprint, anew, answer } => within!(answer, packs::marks(db, &fingerprint, anew).await),
    }
}

type Query<'q> = sqlx::query::Query<'q, Any, AnyArguments>;

async fn run_sql(query: Query<'_>, connection: &mut AnyConnection) -> Result<(), StoreError> {
    query.execute(connection).await?;
    Ok(())
}

async fn epoch(connection: &mut AnyConnection, now: i64) -> Result<i64, StoreError> {
    let sql = "INSERT INTO epochs (started_at) VALUES ($1) RETURNING epoch";
    let epoch = sqlx::query_scalar(sql).bind(now).fetch_one(&mut *connection).await?;
    // Numbers keep counting up without the rows of earlier lives.
    sqlx::query("DELETE FROM epochs WHERE epoch < $1").bind(epoch).execute(connection).await?;
    Ok(epoch)
}

async fn post(connection: &mut AnyConnection, task: TaskId, key: &str, forge_id: i64) -> Result<(), StoreError> {
    let sql = "INSERT INTO posts (task, key, forge_id) VALUES ($1, $2, $3) \
               ON CONFLICT (task, key) DO UPDATE SET forge_id = excluded.forge_id";
    run_sql(sqlx::query(sql).bind(task.0).bind(key).bind(forge_id), connection).await
}

async fn watermark(
    connection: &mut AnyConnection,
    name: &str,
    by: Option<(String, i64)>,
    at: i64,
) -> Result<(), StoreError> {
    if let Some((repository, epoch)) = by {
        leases::fence(connection, &repository, epoch).await?;
    }
    repositories::set_watermark(connection, name, at).await
}

async fn egress(connection: &mut AnyConnection, task: TaskId, lines: &[(i64, i64, String)]) -> Result<(), StoreError> {
    for some in lines.chunks(body::ROWS) {
        let values = body::placeholders(some.len(), 4);
        let sql = format!(
            "INSERT INTO egress (task, seq, at, body) VALUES {values} \
             ON CONFLICT (task, seq) DO UPDATE SET at = excluded.at, body = excluded.body"
        );
        let mut query = sqlx::query::<Any>(AssertSqlSafe(sql)).persistent(false);
        for (seq, at, body) in some {
            query = query.bind(task.0).bind(seq).bind(at).bind(body::storable(body));
        }
        query.execute(&mut *connection).await?;
    }
    Ok(())
}
