//! When a forge's "not there" or "not allowed" counts. A forge that starts, a proxy before it and a token that is being renewed say
//! the same words: so it counts when version and own account were answered in the same try, three tries running.

use super::EffectRunner;
use crate::trouble::Trouble;
use domain::Task;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const TRIES: u32 = 3;
/// How long the start waits for a forge.
const FIND: Duration = Duration::from_secs(5);

/// How often running each thing was refused by a forge that otherwise answered. A restart begins anew.
pub struct Refusals<K> {
    /// One that comes sooner after the last that counted does not count.
    apart: Duration,
    heard: Mutex<HashMap<K, (u32, Instant)>>,
}

impl<K> Default for Refusals<K> {
    fn default() -> Self {
        Self::apart(Duration::ZERO)
    }
}

impl<K> Refusals<K> {
    /// One that leaves out refusals which come sooner than `apart` after the last that counted.
    pub fn apart(apart: Duration) -> Self {
        Self { apart, heard: Mutex::default() }
    }
}

impl<K: Hash + Eq + Clone> Refusals<K> {
    /// One more; true when it is certain.
    pub fn heard(&self, what: &K) -> bool {
        let mut all = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let (times, last) = all.entry(what.clone()).or_insert((0, now));
        if *times == 0 || now.duration_since(*last) >= self.apart {
            (*times, *last) = (times.saturating_add(1), now);
        }
        *times >= TRIES
    }

    /// Something else was heard.
    pub fn forget(&self, what: &K) {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).remove(what);
    }
}

impl EffectRunner {
    /// Asks the forge where a task's repository is now; whether that is elsewhere than it was seen last.
    pub async fn find_again(&self, task: &Task) -> Result<bool, Trouble> {
        let key = &self.request(task)?.repository;
        let Some(entry) = self.config.repository(key) else { return Ok(false) };
        let before = self.whereabouts.at(&entry).ok();
        let now = self.whereabouts.look(&entry).await?;
        Ok(before.is_some_and(|before| before != now))
    }

    /// Looks every repository up by its id, for what begins before the first round of reading; bounded in time.
    pub async fn find_all(&self) {
        let entries = self.config.repositories();
        let looks = entries.iter().map(|entry| async move {
            match tokio::time::timeout(FIND, self.whereabouts.look(entry)).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => tracing::warn!(%error, key = entry.key, "the repository was not found by its id"),
                Err(_) => tracing::warn!(key = entry.key, "the forge does not say where the repository is"),
            }
        });
        futures_util::future::join_all(looks).await;
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
