//! A cache that forgets what was used longest ago.

mod cache;
mod order;
mod stats;

pub use cache::Cache;
pub use stats::Stats;
