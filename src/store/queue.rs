//! Messages to the store's writer, and the handle for sending them.

use super::{
    Address, Append, Appended, Before, Claim, ClaimResult, Deleted, Delivery, EndOfWatch, NewAudit, NewTask,
    NewTestRun, StoreError, StoredEntry, TakeBack, TakenUp, TestRunStep, UpstreamIssueRow, deliveries,
};
use domain::TaskId;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

pub(super) type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// The most bytes of a value that count as few, for a link of 1.7 Mbit/s.
const LARGE: usize = 1 << 20;

/// SQL for the database's time, and the newest migration that this version knows.
pub(super) struct Database {
    pub clock: &'static str,
    pub known: i64,
}

pub(super) enum Write {
    /// Writes a row, to test that writing works.
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
        /// Repository of the text and the life that accepts it; none for a store that is not shared.
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
        name: String,
        by: Option<(String, i64)>,
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
        answer: Reply<Vec<String>>,
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
        answer: Reply<ClaimResult>,
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
    ForgetArtifacts {
        task: TaskId,
        epoch: i64,
        answer: Reply<()>,
    },
    NewTestRun {
        new: Box<NewTestRun>,
        /// The number of the life that writes.
        by: i64,
        answer: Reply<TakenUp>,
    },
    Unwatch {
        end: EndOfWatch,
        /// As above.
        by: i64,
        answer: Reply<()>,
    },
    UpstreamIssue {
        repository: String,
        row: UpstreamIssueRow,
        /// As above.
        by: i64,
        answer: Reply<()>,
    },
    Audit {
        new: Box<NewAudit>,
        /// As above.
        by: i64,
        answer: Reply<()>,
    },
    TestRun {
        id: i64,
        step: TestRunStep,
        /// As above.
        by: i64,
        answer: Reply<()>,
    },
    Entry {
        entry: Box<StoredEntry>,
        answer: Reply<()>,
    },
    Forget {
        repository: String,
        /// The life that forgets it.
        by: i64,
        answer: Reply<()>,
    },
    Marks {
        fingerprint: String,
        anew: bool,
        answer: Reply<String>,
    },
}

impl Write {
    /// Whether it holds a value that may take a server's usual patience to arrive there. No pack does: meanwhile no host keeps its leases, and
    /// a task goes on without it.
    pub fn is_large(&self) -> bool {
        matches!(self, Self::Picture { body, .. } if body.len() > LARGE)
    }
}

pub(super) type Arrival = (deliveries::Packed, Reply<bool>);

pub(super) enum Message {
    Delivery(Arrival),
    Write(Write),
    /// Makes deleted data unreadable: SQLite's write-ahead log is checkpointed and truncated.
    EmptyLog(Reply<()>),
}

#[derive(Clone)]
pub(super) struct Writer {
    queue: mpsc::Sender<Message>,
    // Declared after the queue, so that dropping the last handle waits until all queued messages are stored.
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
    /// A handle whose messages this thread receives.
    pub fn of(queue: mpsc::Sender<Message>, thread: std::thread::JoinHandle<()>) -> Self {
        Self { queue, _thread: Arc::new(Thread(Some(thread))) }
    }

    /// A handle without a receiver: every write is [`StoreError::Closed`].
    pub fn nobody() -> Self {
        Self { queue: mpsc::channel(1).0, _thread: Arc::new(Thread(None)) }
    }

    /// As [`Writer::ask`], in two steps: this one queues the message, and what it returns waits for the answer.
    pub async fn begin<T>(
        &self,
        write: impl FnOnce(Reply<T>) -> Write,
    ) -> Result<impl Future<Output = Result<T, StoreError>>, StoreError> {
        self.queued(|answer| Message::Write(write(answer))).await
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
        self.queued(message).await?.await
    }

    async fn queued<T>(
        &self,
        message: impl FnOnce(Reply<T>) -> Message,
    ) -> Result<impl Future<Output = Result<T, StoreError>>, StoreError> {
        let (answer, reply) = oneshot::channel();
        self.queue.send(message(answer)).await.map_err(|_| StoreError::Closed)?;
        let unknown = || StoreError::Broken("whether this was stored is not known".to_owned());
        Ok(async move { reply.await.unwrap_or_else(|_| Err(unknown())) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_file_has_longer_and_a_pack_has_not() {
        let body = |bytes: usize| vec![7; bytes];
        let file = |bytes| {
            let (task, digest, answer) = (TaskId(1), "a".to_owned(), oneshot::channel().0);
            Write::Picture { task, digest, epoch: 1, body: body(bytes), answer }
        };
        assert_eq!([LARGE, LARGE + 1].map(|bytes| file(bytes).is_large()), [false, true]);
        let (task, commit, answer) = (TaskId(1), "a".to_owned(), oneshot::channel().0);
        assert!(!Write::Pack { task, commit, epoch: 1, body: body(LARGE + 1), answer }.is_large());
    }
}
