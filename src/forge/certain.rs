//! When a "not found", "forbidden" or "locked" of the forge counts. A forge that is starting, a proxy in front of it, an expired token, or a
//! person who archives a repository and takes it back give the same answers. So it counts once it was given three times in a row, with version
//! and own account answered each time.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const TRIES: u32 = 3;
/// Refusals within this time count as one where deliveries can cause many tries within a second.
const APART: Duration = Duration::from_secs(20);

/// Counts consecutive refusals per thing, by a forge that otherwise answered. In memory only.
pub struct Refusals<K> {
    /// A refusal sooner than this after the last counted one does not count.
    apart: Duration,
    heard: Mutex<HashMap<K, (u32, Instant)>>,
}

impl<K> Default for Refusals<K> {
    fn default() -> Self {
        Self::apart(Duration::ZERO)
    }
}

impl<K> Refusals<K> {
    /// Counts only refusals that are at least `apart` after the last counted one.
    pub fn apart(apart: Duration) -> Self {
        Self { apart, heard: Mutex::default() }
    }

    /// As [`Refusals::apart`], for what a bot that polls every `poll_s` seconds tries in each round and for each delivery.
    pub fn of_rounds(poll_s: u64) -> Self {
        Self::apart(APART.min(Duration::from_secs(poll_s) * 2 / 3))
    }
}

impl<K: Hash + Eq + Clone> Refusals<K> {
    /// Counts one more refusal; true once it is certain.
    pub fn heard(&self, what: &K) -> bool {
        let mut all = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let (times, last) = all.entry(what.clone()).or_insert((0, now));
        if *times == 0 || now.duration_since(*last) >= self.apart {
            (*times, *last) = (times.saturating_add(1), now);
        }
        *times >= TRIES
    }

    /// Resets the count, because the forge answered something else.
    pub fn forget(&self, what: &K) {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).remove(what);
    }
}

#[cfg(test)]
mod tests {
    use super::Refusals;
    use std::time::Duration;

    #[test]
    fn it_is_certain_the_third_time_running() {
        let refusals = Refusals::default();
        let heard = |what: &str| refusals.heard(&what.to_owned());
        assert_eq!([heard("a"), heard("a"), heard("b")], [false, false, false]);
        refusals.forget(&"a".to_owned());
        assert_eq!([heard("a"), heard("b"), heard("a"), heard("a"), heard("b")], [false, false, false, true, true]);
    }

    #[test]
    fn many_within_a_moment_count_as_one() {
        let refusals = Refusals::apart(Duration::from_secs(3600));
        assert_eq!([(); 6].map(|()| refusals.heard(&"a")), [false; 6]);
    }
}
