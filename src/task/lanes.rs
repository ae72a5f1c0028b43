//! Which lanes have a worker, and how a task's work is called off.

use domain::{Lane, TaskId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

struct Worker {
    /// Rung when the lane may have got more to do, or sooner.
    bell: Arc<Notify>,
    calloff: CancellationToken,
}

/// Workers by task and lane. A lane has at most one, so its effects stay in order.
#[derive(Default)]
pub(super) struct Lanes {
    workers: Mutex<HashMap<(TaskId, Lane), Worker>>,
}

impl Lanes {
    /// Rings the lane's worker, or says that one must be started (then it is registered).
    pub fn ring(&self, task: TaskId, lane: Lane) -> Option<(Arc<Notify>, CancellationToken)> {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(worker) = workers.get(&(task, lane)) {
            worker.bell.notify_one();
            return None;
        }
        let (bell, calloff) = (Arc::new(Notify::new()), CancellationToken::new());
        workers.insert((task, lane), Worker { bell: bell.clone(), calloff: calloff.clone() });
        Some((bell, calloff))
    }

    pub fn leave(&self, task: TaskId, lane: Lane) {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).remove(&(task, lane));
    }

    /// Calls off what the task's work lane is doing: the task has ended.
    pub fn call_off(&self, task: TaskId) {
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(worker) = workers.get(&(task, Lane::Work)) {
            worker.calloff.cancel();
            worker.bell.notify_one();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}
