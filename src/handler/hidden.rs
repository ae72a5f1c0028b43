//! Threads that could not be read, and when to read them again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between two readings of a thread that cannot be read: doubles from the first to the last.
const FIRST_WAIT: Duration = Duration::from_secs(30);
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// Threads that could not be read, by repository and number.
#[derive(Default)]
pub(super) struct Unread(Mutex<HashMap<(String, u64), Failing>>);

pub(super) struct Failing {
    pub since: Instant,
    pub wait: Duration,
    /// Whether a row of the store names it, so that it is read again after a restart.
    pub stored: bool,
}

impl Unread {
    pub fn all(&self) -> std::sync::MutexGuard<'_, HashMap<(String, u64), Failing>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a round should still skip it.
    pub fn rests(&self, what: &(String, u64)) -> bool {
        self.all().get(what).is_some_and(|it| it.since.elapsed() < it.wait)
    }

    /// Makes the next rounds skip it for a while, because the failure may last.
    pub fn put_off(&self, what: &(String, u64)) {
        if let Some(it) = self.all().get_mut(what) {
            it.wait = (it.wait * 2).clamp(FIRST_WAIT, LONGEST_WAIT);
            it.since = Instant::now();
        }
    }
}
