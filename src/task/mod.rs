//! The driver: applies inputs to tasks one at a time, carries out their effects, and keeps time.
//!
//! A task that waits for a person has only its rows: no thread, no future, no lock.

mod cut;
mod leases;
mod machine;
mod order;
mod outbox;
mod workers;

pub use cut::{Boundary, Cut};
pub use leases::{Awake, Leases};
pub use machine::{FeedResult, Machine};
pub use order::OrderResult;
pub use outbox::{Outbox, Patience};
