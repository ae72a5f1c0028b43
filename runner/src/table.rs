//! The requests: running ones, finished ones with their results, and all ids ever used.
//!
//! Guarantees that each id runs at most once. Bounded by `MAX_REQUESTS` unacknowledged requests and `SPENT` ids in all, after which the
//! sandbox refuses new ones rather than forget an id.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use protocol::runner::{MAX_REQUESTS, Outcome, RequestStatus};

use crate::handle::Handle;

/// The most ids that are remembered, at about twenty bytes each.
const SPENT: usize = 200_000;

struct Entry {
    handle: Arc<Handle>,
    streams: bool,
    outcome: Option<Outcome>,
}

/// How a request to run something is admitted.
pub enum Admission {
    New(Arc<Handle>),
    /// It is running, and its result will be sent.
    Running,
    Finished(Box<Outcome>),
    Refused(&'static str),
}

#[derive(Default)]
pub struct Table {
    entries: BTreeMap<u64, Entry>,
    spent: BTreeSet<u64>,
}

impl Table {
    pub fn admit(&mut self, id: u64, streams: bool) -> Admission {
        if let Some(entry) = self.entries.get(&id) {
            return entry.outcome.clone().map_or(Admission::Running, |outcome| Admission::Finished(Box::new(outcome)));
        }
        if self.spent.contains(&id) {
            return Admission::Refused("a request with this id ran before and its result was acknowledged");
        }
        if self.entries.len() >= MAX_REQUESTS {
            return Admission::Refused("too many requests are not acknowledged yet");
        }
        if self.spent.len() >= SPENT {
            return Admission::Refused("this sandbox has carried out all the requests it can remember");
        }
        let handle = Arc::new(Handle::new(id));
        self.spent.insert(id);
        self.entries.insert(id, Entry { handle: Arc::clone(&handle), streams, outcome: None });
        Admission::New(handle)
    }

    pub fn finish(&mut self, id: u64, outcome: Outcome) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.outcome.get_or_insert(outcome);
        }
    }

    /// Forgets the result of a finished request; a running one stays.
    pub fn acknowledge(&mut self, id: u64) {
        if self.entries.get(&id).is_some_and(|entry| entry.outcome.is_some()) {
            self.entries.remove(&id);
        }
    }

    pub fn handle(&self, id: u64) -> Option<Arc<Handle>> {
        self.entries.get(&id).filter(|entry| entry.outcome.is_none()).map(|entry| Arc::clone(&entry.handle))
    }

    /// The running requests; with `streams` only those that stream.
    pub fn running(&self, streams: bool) -> Vec<Arc<Handle>> {
        let running = self.entries.values().filter(|entry| entry.outcome.is_none() && (entry.streams || !streams));
        running.map(|entry| Arc::clone(&entry.handle)).collect()
    }

    pub fn known(&self) -> Vec<RequestStatus> {
        self.entries.iter().map(|(&id, entry)| RequestStatus { id, finished: entry.outcome.is_some() }).collect()
    }

    pub fn results(&self) -> Vec<(u64, Outcome)> {
        self.entries.iter().filter_map(|(&id, entry)| Some((id, entry.outcome.clone()?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use protocol::runner::Status;

    use super::*;

    fn outcome() -> Outcome {
        Outcome::new(Status::Ok, "")
    }

    #[test]
    fn an_id_runs_once_whatever_is_asked_later() {
        let mut table = Table::default();
        assert!(matches!(table.admit(7, false), Admission::New(_)));
        assert!(matches!(table.admit(7, false), Admission::Running));
        table.acknowledge(7);
        assert_eq!(table.known(), [RequestStatus { id: 7, finished: false }]);
        table.finish(7, outcome());
        assert!(matches!(table.admit(7, false), Admission::Finished(_)));
        table.acknowledge(7);
        assert!(table.known().is_empty());
        assert!(matches!(table.admit(7, false), Admission::Refused(_)));
    }

    #[test]
    fn unacknowledged_requests_are_bounded() {
        let mut table = Table::default();
        for id in 0..MAX_REQUESTS as u64 {
            assert!(matches!(table.admit(id, false), Admission::New(_)));
        }
        assert!(matches!(table.admit(1000, false), Admission::Refused(_)));
        table.finish(3, outcome());
        table.acknowledge(3);
        assert!(matches!(table.admit(1000, false), Admission::New(_)));
    }
}
