//! What a reading did not get to see, and what waits to be read again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between two readings of what cannot be read: doubles from the first to the last.
const FIRST_WAIT: Duration = Duration::from_secs(30);
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// Readings that come sooner one after the other are one word of the forge: hooks can cause many within a second.
const APART: Duration = Duration::from_secs(20);

/// How far apart readings must lie to be counted, for a bot that reads every `poll_s` seconds by itself.
pub(super) fn apart(poll_s: u64) -> Duration {
    APART.min(Duration::from_secs(poll_s) * 2 / 3)
}

/// Numbers that could not be read, by repository and number.
#[derive(Default)]
pub(super) struct Unread(Mutex<HashMap<(String, u64), Failing>>);

pub(super) struct Failing {
    pub since: Instant,
    pub wait: Duration,
    /// A row of the store names it, so that the next life reads it too.
    pub stored: bool,
}

impl Unread {
    pub fn all(&self) -> std::sync::MutexGuard<'_, HashMap<(String, u64), Failing>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a round should leave it out still.
    pub fn rests(&self, what: &(String, u64)) -> bool {
        self.all().get(what).is_some_and(|it| it.since.elapsed() < it.wait)
    }

    /// It failed for what may last: the next rounds leave it out for a while.
    pub fn put_off(&self, what: &(String, u64)) {
        if let Some(it) = self.all().get_mut(what) {
            it.wait = (it.wait * 2).clamp(FIRST_WAIT, LONGEST_WAIT);
            it.since = Instant::now();
        }
    }
}
