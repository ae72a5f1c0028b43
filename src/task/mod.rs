//! The driver: takes inputs to tasks one at a time, carries out what they ask for, and keeps the clock.
//!
//! While a task waits for a person nothing here belongs to it: no thread, no future, no lock; only its rows.

mod cut;
mod leases;
mod machine;
mod order;
mod outbox;
mod workers;

pub use cut::{Boundary, Cut};
pub use leases::{Awake, Leases};
pub use machine::{Fed, Machine};
pub use order::Obeyed;
pub use outbox::{Outbox, Patience};
