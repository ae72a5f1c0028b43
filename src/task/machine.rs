//! Feeds inputs to tasks: fold, decide, store, tell the outbox. One owner of each task's state, one input at a time.

use super::Leases;
use crate::clock::{Clock, now};
use crate::store::{Append, Appended, Close, LiveRow, NewTask, Store, StoreError};
use crate::thread::Feed;
use domain::{Envelope, Input, Request, State, Step, Task, TaskId, transition};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Notify, mpsc};

/// What became of an input.
#[derive(Debug, Clone, PartialEq)]
pub enum Fed {
    /// Taken up; the task as it is now.
    Taken(Box<Task>),
    /// Its key had been used before.
    Known,
}

type Slot = Arc<tokio::sync::Mutex<Option<Task>>>;

/// Feeds inputs to tasks; the one place where a task's state moves.
pub struct Machine {
    store: Store,
    epoch: i64,
    /// The id of this process's state directory; empty where the store is one process's alone.
    host: Arc<str>,
    leases: Leases,
    /// Folds of tasks that were looked at in this life; the log stays the truth.
    folds: Mutex<HashMap<TaskId, Slot>>,
    /// Tells the outbox which task has moved.
    moved: mpsc::UnboundedSender<TaskId>,
    /// Rung when a task got in line, or gave its slot back.
    line: Arc<Notify>,
    clock: Arc<Clock>,
}

impl Machine {
    /// Of the only process there is. With it comes what the outbox waits for: the number of each task that moved. `epoch` is from
    /// [`Store::begin_epoch`].
    pub fn new(store: Store, epoch: i64) -> (Arc<Self>, mpsc::UnboundedReceiver<TaskId>) {
        Self::of(store, epoch, "", Leases::everything())
    }

    /// As [`Machine::new`], of the host with this id: it takes inputs to tasks of the repositories that it holds.
    pub fn of(store: Store, epoch: i64, host: &str, leases: Leases) -> (Arc<Self>, mpsc::UnboundedReceiver<TaskId>) {
        let (moved, inbox) = mpsc::unbounded_channel();
        let (folds, line, clock) = Default::default();
        (Arc::new(Self { store, epoch, host: host.into(), leases, folds, moved, line, clock }), inbox)
    }

    /// Where tasks, their logs and effects are kept.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The number of this process's life.
    pub fn epoch(&self) -> i64 {
        self.epoch
    }

    /// The id of this process's state directory; empty where the store is one process's alone.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Which repositories this process works for.
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

    /// Our clock beside the forge's.
    pub fn clock(&self) -> &Arc<Clock> {
        &self.clock
    }

    /// Rings when the line of tasks may have moved.
    pub fn line(&self) -> Arc<Notify> {
        self.line.clone()
    }

    fn slot(&self, id: TaskId) -> Slot {
        self.folds.lock().unwrap_or_else(PoisonError::into_inner).entry(id).or_default().clone()
    }

    /// The task as it is now.
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

    /// Takes an input to a task. `close` names the effect whose result it is.
    ///
    /// # Errors
    /// [`StoreError::NoTask`] when there is none of this number.
    pub async fn feed(&self, id: TaskId, key: &str, input: Input, close: Option<Close>) -> Result<Fed, StoreError> {
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
            // The answer may be lost and not the work, or who asks goes away: then what stands in the store is read again and gone on with.
            let read = fold.take();
            let unsure = Unsure { machine: self, slot: &slot, id, over: false };
            let appended = self.store.append(append).await.inspect_err(|error| self.note_loss(error))?;
            match appended {
                Appended::Conflict => unsure.over(),
                Appended::Duplicate => {
                    unsure.over();
                    *fold = read;
                    // Taken up by a try whose answer was lost, perhaps: then nobody was woken for it.
                    self.nudge(id);
                    return Ok(Fed::Known);
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
                    return Ok(Fed::Taken(Box::new(after)));
                }
            }
        }
    }

    /// Begins a task and takes up `more` of the same text, all in one transaction; none when the input that asks for it was taken up
    /// before.
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
        // Begun by a try whose answer was lost, perhaps: then nobody was woken for it.
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

    /// What the store refuses because another host is at work there is nothing of this process's any more.
    pub(super) fn note_loss(&self, error: &StoreError) {
        if let StoreError::Elsewhere { repository, address } = error {
            tracing::warn!(repository, other = address, "another host works for a repository");
            self.leases.lose(repository);
        }
    }

    /// Forgets what other hosts may have moved on meanwhile: the folds of a repository's tasks, of which `open` have something to do.
    pub fn forget_repository(&self, repository: &str, open: &HashSet<TaskId>) {
        let of_another = |task: &Task| task.request.as_ref().is_some_and(|request| request.repository != repository);
        let mut folds = self.folds.lock().unwrap_or_else(PoisonError::into_inner);
        folds.retain(|id, slot| match slot.try_lock() {
            Ok(fold) => fold.as_ref().is_none_or(of_another),
            // One that is being used goes too, if it is one of these: whoever has it finds that the log has moved on.
            Err(_) => !open.contains(id),
        });
    }

    pub(super) fn forget(&self, id: TaskId) {
        self.folds.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    /// Forgets folds of tasks that are not at work, so that memory follows those that are: of one that waits or has ended the log is read
    /// when something comes for it.
    pub fn forget_idle(&self) {
        let mut folds = self.folds.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever has one from this map goes on with it, and nobody else begins another beside.
        let held = |slot: &Slot| Arc::strong_count(slot) > 1;
        let busy =
            |slot: &Slot| slot.try_lock().map_or(true, |fold| fold.as_ref().is_some_and(|task| task.state.busy()));
        folds.retain(|_, slot| held(slot) || busy(slot));
        folds.shrink_to_fit();
    }
}

/// Whether an input was stored is not known while it lives: when it is dropped, and whatever was asked of the store is over, the task is read
/// again and its queues look.
struct Unsure<'a> {
    machine: &'a Machine,
    slot: &'a Slot,
    id: TaskId,
    over: bool,
}

impl Unsure<'_> {
    fn over(mut self) {
        self.over = true;
    }
}

impl Drop for Unsure<'_> {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let (store, moved) = (self.machine.store.clone(), self.machine.moved.clone());
        let (slot, id) = (self.slot.clone(), self.id);
        tokio::spawn(async move {
            // Behind the input in the writer's line.
            let _ = store.written().await;
            *slot.lock().await = None;
            // The outbox is gone only when the process ends; the rows stay for the next life.
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
            Fed::Taken(task) => Ok(Some(*task)),
            Fed::Known => Ok(None),
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

    /// As where the answer to a COMMIT was lost on its way: the log moved on, and this process was told that it did not.
    #[tokio::test]
    async fn a_log_that_moved_on_unseen_is_read_again_and_what_it_wants_is_begun() {
        let dir = tempfile::tempdir().expect("dir");
        let (store, id) = stored(dir.path()).await;
        let (machine, mut moved) = Machine::new(store.clone(), 1);
        assert_eq!(machine.look(id).await.expect("read").state.name(), "queued");
        let (other, _moved) = Machine::new(store, 1);
        other.feed(id, "place:1", Input::SlotFree, None).await.expect("stored");
        assert!(moved.try_recv().is_err(), "nobody was told");
        assert_eq!(machine.feed(id, "place:1", Input::SlotFree, None).await.expect("read"), Fed::Known);
        assert_eq!(moved.try_recv().ok(), Some(id), "its queues look at the store");
        assert_eq!(machine.look(id).await.expect("read").state.name(), "preparing");
    }

    /// As where the client of an order goes away while the store is slow.
    #[tokio::test]
    async fn who_asks_and_goes_away_leaves_no_task_that_is_not_what_the_store_says() {
        let dir = tempfile::tempdir().expect("dir");
        let (store, id) = stored(dir.path()).await;
        let (machine, mut moved) = Machine::new(store.clone(), 1);
        machine.look(id).await.expect("read");
        {
            let mut asked = std::pin::pin!(machine.feed(id, "place:1", Input::SlotFree, None));
            assert!(futures_util::poll!(asked.as_mut()).is_pending(), "it waits for the store");
        }
        // As a reader would that comes in between.
        machine.look(id).await.expect("read");
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
