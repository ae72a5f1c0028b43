//! How a cache is doing.

/// Counts since the cache was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    pub hits: u64,
    pub misses: u64,
    pub evicted: u64,
}

impl Stats {
    /// Hits among all lookups; 0 before the first.
    pub fn ratio(&self) -> f64 {
        let lookups = self.hits + self.misses;
        if lookups == 0 {
            return 0.0;
        }
        self.hits as f64 / lookups as f64
    }
}
