//! Tasks whose newest model call was turned away by its server and not sent again, so that it certainly cost nothing.

use crate::llm::deltas::Tally;
use domain::TaskId;
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Those tasks, as long as this process lives.
#[derive(Debug, Default)]
pub(super) struct TurnedAway(Mutex<HashSet<TaskId>>);

impl TurnedAway {
    /// Begins a call: the note of the one before is removed, and this one's is made when the guard is dropped, also because it is broken off.
    pub(super) fn under_way<'a>(&'a self, task: TaskId, tally: &'a Tally) -> CallUnderWay<'a> {
        self.forget(task);
        CallUnderWay { noted: self, task, tally }
    }

    pub(super) fn contains(&self, task: TaskId) -> bool {
        self.tasks().contains(&task)
    }

    pub(super) fn forget(&self, task: TaskId) {
        self.tasks().remove(&task);
    }

    fn tasks(&self) -> MutexGuard<'_, HashSet<TaskId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call of a task that is under way.
pub(super) struct CallUnderWay<'a> {
    noted: &'a TurnedAway,
    task: TaskId,
    tally: &'a Tally,
}

impl Drop for CallUnderWay<'_> {
    fn drop(&mut self) {
        if self.tally.was_turned_away() {
            self.noted.tasks().insert(self.task);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TurnedAway;
    use crate::llm::Deltas;
    use crate::llm::deltas::Tally;
    use domain::TaskId;

    #[test]
    fn a_call_is_noted_while_it_waits_to_be_sent_again_and_no_longer() {
        let (noted, tally, task) = (TurnedAway::default(), Tally::default(), TaskId(1));
        drop(noted.under_way(task, &tally));
        assert!(!noted.contains(task), "it may have cost");
        tally.turned_away();
        drop(noted.under_way(task, &tally));
        assert!(noted.contains(task));
        tally.begin_again();
        let under_way = noted.under_way(task, &tally);
        assert!(!noted.contains(task), "the next call is under way");
        drop(under_way);
        assert!(!noted.contains(task));
    }
}
