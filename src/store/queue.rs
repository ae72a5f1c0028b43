//! What the store's writer is asked, and the handle by which it is asked.

use super::{
    Address, Append, Appended, Before, Claim, Claimed, Deleted, Delivery, NewTask, NewTestRun, StoreError, StoredEntry,
    TakeBack, TakenUp, deliveries, test_runs,
};
use domain::TaskId;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

pub(super) type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// How a database is asked for its time, and the shape that this version knows.
pub(super) struct Database {
    pub clock: &'static str,
    pub known: i64,
}

pub(super) enum Write {
    /// Writes a row as it is.
    Try {
        answer: Reply<()>,
    },
    Epoch {
        now: i64,
        answer: Reply<i64>,
    },
    Delivered {
        uuids: Vec<String>,
        now: i64,
        answer: Reply<()>,
    },
    Append {
        append: Box<Append>,
        answer: Reply<Appended>,
    },
    Create {
        new: Box<NewTask>,
        answer: Reply<Option<TaskId>>,
    },
    Input {
        key: String,
        /// Whose text it is, and the life that takes it up; none: nobody else can.
        by: Option<(String, i64)>,
        now: i64,
        answer: Reply<bool>,
    },
    EffectStarted {
        id: i64,
        epoch: i64,
        answer: Reply<bool>,
    },
    EffectLater {
        id: i64,
        epoch: i64,
        not_before: i64,
        trouble: String,
        aside: bool,
        answer: Reply<()>,
    },
    HoldCharge {
        effect: i64,
        epoch: i64,
        answer: Reply<()>,
    },
    Post {
        task: TaskId,
        key: String,
        forge_id: i64,
        answer: Reply<()>,
    },
    Watermark {
        repository: String,
        at: i64,
        answer: Reply<()>,
    },
    Egress {
        task: TaskId,
        lines: Vec<(i64, i64, String)>,
        answer: Reply<()>,
    },
    TakeBack {
        wish: TakeBack,
        epoch: i64,
        answer: Reply<Option<Vec<Vec<String>>>>,
    },
    DeleteTask {
        task: TaskId,
        answer: Reply<Deleted>,
    },
    Prune {
        before: Before,
        answer: Reply<bool>,
    },
    Unread {
        repository: String,
        number: u64,
        now: Option<i64>,
        answer: Reply<()>,
    },
    Address {
        seen: Address,
        answer: Reply<()>,
    },
    Claim {
        claim: Claim,
        database: Database,
        answer: Reply<Vec<Claimed>>,
    },
    Release {
        host: String,
        epoch: i64,
        repositories: Vec<String>,
        goes: bool,
        clock: &'static str,
        answer: Reply<()>,
    },
    Pack {
        task: TaskId,
        commit: String,
        epoch: i64,
        body: Vec<u8>,
        answer: Reply<()>,
    },
    Picture {
        task: TaskId,
        digest: String,
        epoch: i64,
        body: Vec<u8>,
        answer: Reply<bool>,
    },
    NewTestRun {
        new: Box<NewTestRun>,
        epoch: i64,
        answer: Reply<TakenUp>,
    },
    TestRun {
        id: i64,
        step: test_runs::Step,
        epoch: i64,
        answer: Reply<()>,
    },
    Entry {
        entry: Box<StoredEntry>,
        answer: Reply<()>,
    },
    Marks {
        fingerprint: String,
        anew: bool,
        answer: Reply<String>,
    },
}

pub(super) type Arrival = (deliveries::Packed, Reply<bool>);

pub(super) enum Message {
    Delivery(Arrival),
    Write(Write),
    /// Makes what was deleted unreadable: SQLite's write-ahead log is brought into the file and left empty.
    EmptyLog(Reply<()>),
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
    /// One whose messages are taken from the other end by this thread.
    pub fn of(queue: mpsc::Sender<Message>, thread: std::thread::JoinHandle<()>) -> Self {
        Self { queue, _thread: Arc::new(Thread(Some(thread))) }
    }

    /// One to whom nobody listens: every write is [`StoreError::Closed`].
    pub fn nobody() -> Self {
        Self { queue: mpsc::channel(1).0, _thread: Arc::new(Thread(None)) }
    }

    pub async fn ask<T>(&self, write: impl FnOnce(Reply<T>) -> Write) -> Result<T, StoreError> {
        self.send(|answer| Message::Write(write(answer))).await
    }

    pub async fn deliver(&self, delivery: Delivery) -> Result<bool, StoreError> {
        let delivery = deliveries::Packed::new(delivery);
        self.send(|answer| Message::Delivery((delivery, answer))).await
    }

    pub async fn empty_log(&self) -> Result<(), StoreError> {
        self.send(Message::EmptyLog).await
    }

    async fn send<T>(&self, message: impl FnOnce(Reply<T>) -> Message) -> Result<T, StoreError> {
        let (answer, reply) = oneshot::channel();
        self.queue.send(message(answer)).await.map_err(|_| StoreError::Closed)?;
        reply.await.map_err(|_| StoreError::Broken("whether this was stored is not known".to_owned()))?
    }
}
