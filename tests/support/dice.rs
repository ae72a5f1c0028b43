//! Pseudorandom numbers from a seed, so that a run can be repeated.

/// The same numbers for the same seed.
pub struct Dice(u64);

#[allow(dead_code, reason = "each suite uses a part")]
impl Dice {
    /// Seeded by `CAISSON_SEED`, or by the clock; prints the seed, so that the run can be repeated, and returns it.
    pub fn cast() -> (Self, u64) {
        let by_clock = std::time::UNIX_EPOCH.elapsed().map_or(1, |at| at.as_nanos() as u64);
        let seed = number("CAISSON_SEED").unwrap_or(by_clock);
        println!("CAISSON_SEED={seed}");
        (Self(seed), seed)
    }

    /// Of this seed.
    pub fn of(seed: u64) -> Self {
        // Mixed, because the first numbers of neighbouring seeds are alike.
        let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        Self(mixed ^ (mixed >> 27))
    }

    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// A number from an environment variable.
pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
