//! Processes that were started to go on: how many there are, and how many a stop of everything ended.
//!
//! Must not: start or end one (`shell.rs`, `quiesce.rs`). Tests: `tests/output.rs`.

use std::collections::BTreeSet;

/// Those that run, by number, and how many were stopped.
#[derive(Debug, Default)]
pub struct Background {
    running: BTreeSet<i32>,
    /// Ended by a stop, and not told of yet.
    stopped: usize,
}

impl Background {
    pub fn began(&mut self, number: i32) {
        self.running.insert(number);
    }

    /// By itself; one that was stopped is counted already.
    pub fn ended(&mut self, number: i32) {
        self.running.remove(&number);
    }

    /// Everything is about to be stopped.
    pub fn stop(&mut self) {
        self.stopped += std::mem::take(&mut self.running).len();
    }

    /// A sentence for the first result after a stop; once.
    pub fn stop_note(&mut self) -> Option<String> {
        match std::mem::take(&mut self.stopped) {
            0 => None,
            1 => Some("a background process ended at the checkpoint".to_owned()),
            count => Some(format!("{count} background processes ended at the checkpoint")),
        }
    }
}
