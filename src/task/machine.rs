//! Applies inputs to tasks: fold, decide, store, wake the outbox. Each task's state has one owner, and one input is handled at a time.

use super::Leases;
use crate::clock::{Clock, now};
use crate::store::{Append, Appended, Close, LiveRow, NewTask, Store, StoreError};
use crate::thread::Feed;
use domain::{Envelope, Input, Request, State, Step, Task, TaskId, transition};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Notify, mpsc};

/// Result of an input.
#[derive(Debug, Clone, PartialEq)]
pub enum FeedResult {
    /// It was accepted; the task afterwards.
    Taken(Box<Task>),
    /// Its key was used before.
    Known,
}

type Slot = Arc<tokio::sync::Mutex<Option<Task>>>;

/// Applies inputs to tasks; the only code that changes a task's state.
pub struct Machine {
    store: Store,
    epoch: i64,
    /// Id of this process's state directory; empty for a store with one process.
    host: Arc<str>,
    leases: Leases,
    /// Cached folds of tasks; the log is authoritative.
    folds: Mutex<HashMap<TaskId, Slot>>,
    /// Sends the outbox the tasks that changed.
    moved: mpsc::UnboundedSender<TaskId>,
    /// Notified when a task was queued or released its slot.
    line: Arc<Notify>,
    clock: Arc<Clock>,
}

impl Machine {
    /// For the only process of a store. Also returns the receiver for the outbox, with the number of each task that changed. `epoch` is
    /// from [`Store::begin_epoch`].
    pub fn new(store: Store, epoch: i64) -> (Arc<Self>, mpsc::UnboundedReceiver<TaskId>) {
        Self::of(store, epoch, "", Leases::everything())
    }

    /// As [`Machine::new`], for the host with this id, which handles the repositories that it has leases of.
    pub fn of(store: Store, epoch: i64, host: &str, leases: Leases) -> (Arc<Self>, mpsc::UnboundedReceiver<TaskId>) {
        let (moved, inbox) = mpsc::unbounded_channel();
        let (folds, line, clock) = Default::default();
        (Arc::new(Self { store, epoch, host: host.into(), leases, folds, moved, line, clock }), inbox)
    }

    /// The store with tasks, their logs and effects.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The number of this process's life.
    pub fn epoch(&self) -> i64 {
        self.epoch
    }

    /// Id of this process's state directory; empty for a store with one process.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The repositories that this process works for.
    pub fn leases(&self) -> &Leases {
        &self.leases
    }

    /// Whether this process works for a task's repository.
    pub async fn works_for(&self, id: TaskId) -> Result<bool, StoreError> {
        if !self.leases.are_shared() {
            return Ok(true);
        }
        let task = self.look(id).await?;
        Ok(task.request.as_ref().is_none_or(|request| self.leases.holds(&request.repository)))
    }

    /// The live tasks that this process works for.
    pub async fn own_rows(&self) -> Result<Vec<LiveRow>, StoreError> {
        let mut live = self.store.live().await?;
        live.retain(|row| self.leases.holds(&row.repository));
        Ok(live)
    }

    /// This machine's clock relative to the forge's.
    pub fn clock(&self) -> &Arc<Clock> {
        &self.clock
    }

    /// Notified when the queue of tasks may have changed.
    pub fn line(&self) -> Arc<Notify> {
        self.line.clone()
    }

    fn slot(&self, id: TaskId) -> Slot {
        self.folds.lock().unwrap_or_else(PoisonError::into_inner).entry(id).or_default().clone()
    }

    /// The present task.
    pub async fn look(&self, id: TaskId) -> Result<Task, StoreError> {
        let slot = self.slot(id);
        let mut fold = slot.lock().await;
        self.folded(&mut fold, id).await.cloned()
    }

    async fn folded<'a>(&self, fold: &'a mut Option<Task>, id: TaskId) -> Result<&'a mut Task, StoreError> {
        if fold.is_none() {
            *fold = Some(self.store.task(id).await?);
        }
        fold.as_mut().ok_or(StoreError::Closed)
    }

    /// Applies an input to a task. `close` names the effect whose result it is.
    ///
    /// # Errors
    /// [`StoreError::NoTask`] when it does not exist.
    pub async fn feed(
        &self,
        id: TaskId,
        key: &str,
        input: Input,
        close: Option<Close>,
    ) -> Result<FeedResult, StoreError> {
        let slot = self.slot(id);
        let mut fold = slot.lock().await;
        loop {
            let task = self.folded(&mut fold, id).await?;
            let now = now();
            let envelope = Envelope { key: key.to_owned(), now, input: input.clone() };
            let before = task.state.clone();
            let (after, step) = transition(task, &envelope);
            let wants = !step.effects.is_empty();
            let append = Append {
                task: after.clone(),
                expected_seq: task.seq,
                input_key: key.to_owned(),
                now,
                step,
                close,
                epoch: self.epoch,
                host: self.host.clone(),
            };
            // The answer may be lost although the write succeeded, or the caller may go away: then the task is read from the store again.
            let read = fold.take();
            let unsure = ForgetUnlessDone { machine: self, slot: &slot, id, over: false };
            let appended = self.store.append(append).await.inspect_err(|error| self.note_loss(error))?;
            match appended {
                Appended::Conflict => unsure.over(),
                Appended::Duplicate => {
                    unsure.over();
                    *fold = read;
                    // Perhaps accepted by a try whose answer was lost, so that the outbox was not woken.
                    self.nudge(id);
                    return Ok(FeedResult::Known);
                }
                Appended::Done => {
                    tracing::debug!(task = id.0, key, state = after.state.name(), "taken up");
                    let lined_up = before != State::Queued && after.state == State::Queued;
                    if lined_up || (before.busy() && !after.state.busy()) {
                        self.line.notify_one();
                    }
                    *fold = Some(after.clone());
                    unsure.over();
                    if wants || close.is_some() {
                        self.nudge(id);
                    }
                    return Ok(FeedResult::Taken(Box::new(after)));
                }
            }
        }
    }

    /// Creates a task and applies `more` inputs of the same text, in one transaction; none when the first input was accepted before.
    pub async fn create(&self, key: &str, request: Request, more: Vec<Input>) -> Result<Option<TaskId>, StoreError> {
        let now = now();
        let mut task = Task::new(TaskId(0));
        let mut step = Step::default();
        for input in std::iter::once(Input::Requested { request: Box::new(request) }).chain(more) {
            let (after, next) = transition(&task, &Envelope { key: key.to_owned(), now, input });
            task = after;
            step.events.extend(next.events);
            step.effects.extend(next.effects);
        }
        let new = NewTask { task, input_key: key.to_owned(), now, step, epoch: self.epoch, host: self.host.clone() };
        let place = new.task.request.as_ref().map(|it| (it.repository.clone(), it.issue));
        let id = self.store.create(new).await.inspect_err(|error| self.note_loss(error))?;
        // Perhaps created by a try whose answer was lost, so that the outbox was not woken.
        let known = match (id, place) {
            (None, Some((repository, issue))) => self.store.live_task_of(&repository, issue).await?.map(|row| row.id),
            _ => None,
        };
        if let Some(id) = id.or(known.map(TaskId)) {
            let _ = self.moved.send(id);
            self.line.notify_one();
        }
        Ok(id)
    }

    /// Wakes the outbox for a task without an input.
    pub fn nudge(&self, id: TaskId) {
        let _ = self.moved.send(id);
    }

    /// Drops the lease of a repository for which the store says that another host works.
    pub(super) fn note_loss(&self, error: &StoreError) {
        if let StoreError::Elsewhere { repository, address, .. } = error {
            tracing::warn!(repository, other = address, "another host works for a repository");
            self.leases.lose(repository);
        }
    }

    /// Drops cached folds of a repository's tasks that other hosts may have changed, of which `open` have open effects.
    pub fn forget_repository(&self, repository: &str, open: &HashSet<TaskId>) {
        let of_another = |task: &Task| task.request.as_ref().is_some_and(|request| request.repository != repository);
        let mut folds = self.folds.lock().unwrap_or_else(PoisonError::into_inner);
        folds.retain(|id, slot| match slot.try_lock() {
            Ok(fold) => fold.as_ref().is_none_or(of_another),
            // A fold in use is dropped too; its user finds that the log has changed.
            Err(_) => !open.contains(id),
        });
    }

    pub(super) fn forget(&self, id: TaskId) {
        self.folds.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    /// Drops folds of idle tasks to bound memory; their logs are read again when an input comes.
    pub fn forget_idle(&self) {
        let mut folds = self.folds.lock().unwrap_or_else(PoisonError::into_inner);
        // A fold in use stays in the map, so that no second one is created.
        let held = |slot: &Slot| Arc::strong_count(slot) > 1;
        let busy =
            |slot: &Slot| slot.try_lock().map_or(true, |fold| fold.as_ref().is_some_and(|task| task.state.busy()));
        folds.retain(|_, slot| held(slot) || busy(slot));
        folds.shrink_to_fit();
    }
}

/// Exists while it is unknown whether an input was stored; when dropped, the task is read again after the store has finished, and its
/// queues are woken.
struct ForgetUnlessDone<'a> {
    machine: &'a Machine,
    slot: &'a Slot,
    id: TaskId,
    over: bool,
}

impl ForgetUnlessDone<'_> {
    fn over(mut self) {
        self.over = true;
    }
}

impl Drop for ForgetUnlessDone<'_> {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let (store, moved) = (self.machine.store.clone(), self.machine.moved.clone());
        let (slot, id) = (self.slot.clone(), self.id);
        tokio::spawn(async move {
            // Queued after the input at the writer.
            let _ = store.written().await;
            *slot.lock().await = None;
            // The outbox is gone only when the process ends; the next life reads the rows.
            let _ = moved.send(id);
        });
    }
}

#[async_trait::async_trait]
impl Feed for Machine {
    async fn look(&self, id: TaskId) -> Result<Task, StoreError> {
        Machine::look(self, id).await
    }

    async fn feed(&self, id: TaskId, key: &str, input: Input) -> Result<Option<Task>, StoreError> {
        match Machine::feed(self, id, key, input, None).await? {
            FeedResult::Taken(task) => Ok(Some(*task)),
            FeedResult::Known => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::created;

    async fn stored(dir: &std::path::Path) -> (Store, TaskId) {
        let store = Store::open(dir).await.expect("open");
        let id = created(&store, "opened:3").await.id;
        (store, id)
    }

    /// As if the answer to a COMMIT was lost: the log changed, and this process was told that it did not.
    #[tokio::test]
    async fn a_log_that_moved_on_unseen_is_read_again_and_what_it_wants_is_begun() {
        let dir = tempfile::tempdir().expect("dir");
        let (store, id) = stored(dir.path()).await;
        let (machine, mut moved) = Machine::new(store.clone(), 1);
        assert_eq!(machine.look(id).await.expect("read").state.name(), "queued");
        let (other, _moved) = Machine::new(store, 1);
        other.feed(id, "place:1", Input::SlotFree, None).await.expect("stored");
        assert!(moved.try_recv().is_err(), "nobody was told");
        assert_eq!(machine.feed(id, "place:1", Input::SlotFree, None).await.expect("read"), FeedResult::Known);
        assert_eq!(moved.try_recv().ok(), Some(id), "its queues look at the store");
        assert_eq!(machine.look(id).await.expect("read").state.name(), "preparing");
    }

    /// As if the client of an order disconnects while the store is slow.
    #[tokio::test]
    async fn who_asks_and_goes_away_leaves_no_task_that_is_not_what_the_store_says() {
        let dir = tempfile::tempdir().expect("dir");
        let (store, id) = stored(dir.path()).await;
        let (machine, mut moved) = Machine::new(store.clone(), 1);
        machine.look(id).await.expect("read");
        // Held by somebody else, so that the answer cannot come at once.
        let url = format!("sqlite://{}", dir.path().join("caisson.db").display());
        let by_hand = sqlx::SqlitePool::connect(&url).await.expect("open");
        let mut holder = by_hand.acquire().await.expect("a connection");
        sqlx::query("BEGIN IMMEDIATE").execute(&mut *holder).await.expect("held");
        {
            let mut asked = std::pin::pin!(machine.feed(id, "place:1", Input::SlotFree, None));
            assert!(futures_util::poll!(asked.as_mut()).is_pending(), "it waits for the store");
        }
        // As a concurrent reader would.
        machine.look(id).await.expect("read");
        sqlx::query("COMMIT").execute(&mut *holder).await.expect("left");
        assert_eq!(moved.recv().await, Some(id), "its queues look at the store once it is stored");
        assert_eq!(machine.look(id).await.expect("read").state.name(), "preparing");
    }

    #[tokio::test]
    async fn a_task_that_was_begun_unseen_is_woken_when_it_is_asked_for_again() {
        let dir = tempfile::tempdir().expect("dir");
        let (store, id) = stored(dir.path()).await;
        let (machine, mut moved) = Machine::new(store, 1);
        let request = machine.look(id).await.expect("read").request.expect("asked");
        assert_eq!(machine.create("opened:3", request, Vec::new()).await.expect("known"), None);
        assert_eq!(moved.try_recv().ok(), Some(id));
    }

    #[tokio::test]
    async fn an_input_that_could_not_be_stored_leaves_nothing_remembered() {
        let dir = tempfile::tempdir().expect("dir");
        let (store, id) = stored(dir.path()).await;
        let (machine, mut moved) = Machine::new(store.clone(), 1);
        machine.look(id).await.expect("read");
        let url = format!("sqlite://{}", dir.path().join("caisson.db").display());
        let by_hand = sqlx::SqlitePool::connect(&url).await.expect("open");
        let trap = "CREATE TRIGGER trap BEFORE INSERT ON task_events BEGIN SELECT RAISE(ROLLBACK, 'trap'); END";
        sqlx::query(trap).execute(&by_hand).await.expect("laid");
        assert!(machine.feed(id, "place:1", Input::SlotFree, None).await.is_err());
        assert_eq!(moved.recv().await, Some(id), "it may have been stored all the same");
        sqlx::query("DROP TRIGGER trap").execute(&by_hand).await.expect("taken up");
        let (other, _moved) = Machine::new(store, 1);
        other.feed(id, "place:1", Input::SlotFree, None).await.expect("stored");
        assert_eq!(
            machine.look(id).await.expect("read").state.name(),
            "preparing",
            "the store is asked, not the memory"
        );
    }
}
