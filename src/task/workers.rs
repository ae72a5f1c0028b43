//! Which queues have a worker, and how a task's work is called off.

use domain::{Queue, TaskId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

struct Worker {
    /// Rung when the queue may have got more to do, or sooner.
    bell: Arc<Notify>,
    calloff: CancellationToken,
}

/// Workers by task and queue. A queue has at most one, so its effects stay in order.
#[derive(Default)]
pub(super) struct Workers {
    workers: Mutex<HashMap<(TaskId, Queue), Worker>>,
}

impl Workers {
    /// Rings the queue's worker, or says that one must be started (then it is registered).
    pub fn ring(&self, task: TaskId, queue: Queue) -> Option<(Arc<Notify>, CancellationToken)> {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(worker) = workers.get(&(task, queue)) {
            worker.bell.notify_one();
            return None;
        }
        let (bell, calloff) = (Arc::new(Notify::new()), CancellationToken::new());
        workers.insert((task, queue), Worker { bell: bell.clone(), calloff: calloff.clone() });
        Some((bell, calloff))
    }

    pub fn leave(&self, task: TaskId, queue: Queue) {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).remove(&(task, queue));
    }

    /// Calls off what the task's work queue is doing: the task has ended.
    pub fn call_off(&self, task: TaskId) {
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(worker) = workers.get(&(task, Queue::Work)) {
            worker.calloff.cancel();
            worker.bell.notify_one();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}
