//! When threads of waiting tasks are read although the forge lists no change: each once per period, spread over it by a hash, so that
//! neither a round nor a start reads all of them.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicI64, Ordering};

/// The end of the last span that was read.
pub(super) struct Waiting {
    /// Milliseconds.
    period: i64,
    /// Unix milliseconds: threads with an earlier time have been read.
    until: AtomicI64,
}

/// A span of Unix milliseconds, and the period of the readings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    period: i64,
    after: i64,
    until: i64,
}

impl Waiting {
    /// Each thread is read every `period_s` seconds, counted from `now` (Unix milliseconds): what was due before the start waits for its
    /// next time.
    pub fn new(period_s: u64, now: i64) -> Self {
        let period = i64::try_from(period_s).unwrap_or(i64::MAX / 1000).clamp(1, i64::MAX / 1000) * 1000;
        Self { period, until: AtomicI64::new(now) }
    }

    /// The span since the last one that was read.
    pub fn due(&self, now: i64) -> Span {
        Span { period: self.period, after: self.until.load(Ordering::Relaxed), until: now }
    }

    /// Marks the threads of this span as read, or as remembered for another reading.
    pub fn read(&self, span: Span) {
        self.until.store(span.until, Ordering::Relaxed);
    }
}

impl Span {
    /// Whether the thread's time lies in this span.
    pub fn names(&self, thread: &(String, u64)) -> bool {
        let mut hasher = DefaultHasher::new();
        thread.hash(&mut hasher);
        let place = i64::try_from(hasher.finish() >> 1).unwrap_or(0) % self.period;
        // The thread's last time that is not after the span.
        let last = self.until - (self.until - place).rem_euclid(self.period);
        last > self.after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;
    const START: i64 = 1_800_000_000_000;

    fn thread(number: u64) -> (String, u64) {
        ("shop".to_owned(), number)
    }

    #[test]
    fn each_is_read_once_an_hour_and_never_all_at_once() {
        let waiting = Waiting::new(3600, START);
        let mut times = vec![0; 10_000];
        for round in 0..240 {
            let span = waiting.due(START + round * 30_000);
            let due: Vec<u64> = (0..10_000).filter(|number| span.names(&thread(*number))).collect();
            assert!(due.len() < 200, "{} in round {round}", due.len());
            assert!(round > 0 || due.is_empty(), "a start reads nobody for its own sake");
            due.into_iter().for_each(|number| times[number as usize] += 1);
            waiting.read(span);
        }
        assert!(times.iter().all(|times| (1..=2).contains(times)), "two hours, less the last round");
        assert!(times.iter().filter(|times| **times == 2).count() > 9_800);
    }

    #[test]
    fn a_round_that_could_not_read_leaves_those_of_its_time_to_the_next() {
        let waiting = Waiting::new(3600, START);
        let names = |at: i64| waiting.due(START + at).names(&thread(7));
        let first = (1..=HOUR).step_by(1000).find(|at| names(*at)).expect("within the hour");
        assert!(names(first + 60_000), "nobody said that it was read");
        waiting.read(waiting.due(START + first));
        assert!(!names(first + 60_000));
        assert!(names(first + HOUR + 1000));
        assert!(names(first + 50 * HOUR), "a machine that slept");
        assert!(!names(first - HOUR), "a clock that was set back");
    }
}
