//! The workers of queues, and cancelling a task's work.

use domain::{Queue, TaskId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

struct Worker {
    /// Notified when the queue may have an effect to do, or one earlier.
    bell: Arc<Notify>,
    calloff: CancellationToken,
}

/// Workers by task and queue; a queue has at most one, so that its effects stay in order.
#[derive(Default)]
pub(super) struct Workers {
    workers: Mutex<HashMap<(TaskId, Queue), Worker>>,
}

impl Workers {
    /// Wakes the queue's worker; if there is none, registers one that the caller has to start.
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

    /// Cancels what the work queue of an ended task is doing.
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
