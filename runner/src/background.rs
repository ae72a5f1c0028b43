//! Counts processes that were started in the background, and those that a stop of everything ended.
//!
//! Must not start or end one (`shell.rs`, `quiesce.rs` do). Tests: `tests/output.rs`.

use std::collections::BTreeSet;

/// Process numbers of the running ones, and the count of stopped ones.
#[derive(Debug, Default)]
pub struct Background {
    running: BTreeSet<i32>,
    /// Ended by a stop that was not reported yet.
    stopped: usize,
}

impl Background {
    pub fn began(&mut self, number: i32) {
        self.running.insert(number);
    }

    /// Records that a process ended by itself; a stopped one is already counted.
    pub fn ended(&mut self, number: i32) {
        self.running.remove(&number);
    }

    /// Records that all processes are about to be stopped.
    pub fn stop(&mut self) {
        self.stopped += std::mem::take(&mut self.running).len();
    }

    /// A sentence about stopped processes for the first result after a stop; given once.
    pub fn stop_note(&mut self) -> Option<String> {
        match std::mem::take(&mut self.stopped) {
            0 => None,
            1 => Some("a background process ended at the checkpoint".to_owned()),
            count => Some(format!("{count} background processes ended at the checkpoint")),
        }
    }
}
