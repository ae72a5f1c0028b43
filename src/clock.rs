//! Our clock beside the forge's: how far apart they are, and whether what happens by age may be done by ours.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The clock of this process, Unix milliseconds. Everything that decides gets its time from an input instead.
pub fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// So far apart (milliseconds) one of the two clocks is wrong, and it may be ours.
const APART_MS: i64 = 3600 * 1000;

#[derive(Debug, Clone, Copy)]
struct ClockReading {
    /// The forge's time, and ours then (Unix milliseconds).
    forge: i64,
    ours: i64,
    at: Instant,
}

/// What the forge's clock said last, in this life.
#[derive(Debug, Default)]
pub struct Clock {
    heard: Mutex<Option<ClockReading>>,
    /// That the clocks differ was said.
    warned: AtomicBool,
    moved: AtomicI64,
}

impl Clock {
    /// The forge's clock shows this now (Unix milliseconds).
    pub fn hear(&self, forge: i64) {
        let heard = ClockReading { forge, ours: now(), at: Instant::now() };
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Some(heard);
    }

    /// Our time (Unix milliseconds), where it only says how much of it has passed.
    pub fn time(&self) -> i64 {
        now().saturating_add(self.moved.load(Ordering::Relaxed))
    }

    /// Moves [`Clock::time`] on by so many milliseconds, as if they had passed: a test's.
    pub fn move_on(&self, ms: i64) {
        self.moved.fetch_add(ms, Ordering::Relaxed);
    }

    fn heard(&self) -> Option<ClockReading> {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far our clock was ahead of the forge's when that was heard last (milliseconds); 0 before.
    pub fn ahead(&self) -> i64 {
        self.heard().map_or(0, |heard| heard.ours - heard.forge)
    }

    /// Our time (Unix milliseconds), where something may be ended or deleted by its age: the forge was heard, and its clock, counted
    /// on since then, differs from ours by less than an hour. That they differ is logged once.
    pub fn agreed(&self) -> Option<i64> {
        let (heard, now) = (self.heard()?, now());
        let elapsed = i64::try_from(heard.at.elapsed().as_millis()).unwrap_or(i64::MAX);
        let ahead_ms = now.saturating_sub(heard.forge.saturating_add(elapsed));
        if ahead_ms.saturating_abs() < APART_MS {
            self.warned.store(false, Ordering::Relaxed);
            return Some(now);
        }
        if !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                ahead_ms,
                "our clock and the forge's differ by an hour or more: nothing expires or is deleted by its age"
            );
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_clock_counts_where_the_forges_says_nearly_the_same() {
        let clock = Clock::default();
        assert_eq!((clock.agreed(), clock.ahead()), (None, 0), "nothing was heard");
        for (ahead, agreed) in
            [(0, true), (3_500_000, true), (-3_500_000, true), (3_700_000, false), (-3_700_000, false)]
        {
            clock.hear(now() - ahead);
            assert_eq!(clock.agreed().is_some(), agreed, "{ahead} ms ahead");
            assert!((clock.ahead() - ahead).abs() < 60_000);
        }
        clock.hear(i64::MIN);
        assert_eq!(clock.agreed(), None);
    }

    /// Nothing was heard since our clock jumped.
    #[test]
    fn a_jump_shows_before_the_forge_is_heard_again() {
        let clock = Clock::default();
        clock.hear(now());
        let year = 365 * 24 * APART_MS;
        if let Some(heard) = clock.heard.lock().expect("unharmed").as_mut() {
            // As it stood a year before the time that our clock shows now.
            (heard.forge, heard.ours) = (heard.forge - year, heard.ours - year);
        }
        assert!(clock.ahead() < 60_000);
        assert_eq!(clock.agreed(), None);
    }
}
