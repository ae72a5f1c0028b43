//! The driver: takes inputs to tasks one at a time, carries out what they ask for, and keeps the clock.
//!
//! While a task waits for a person nothing here belongs to it: no thread, no future, no lock; only its rows.

mod clock;
mod cut;
mod lanes;
mod machine;
mod order;
mod outbox;

pub use clock::Clock;
pub use cut::{Boundary, Cut};
pub use machine::{Fed, Machine};
pub use order::Obeyed;
pub use outbox::{Outbox, Recheck};

/// The clock of this process, Unix milliseconds. Everything that decides gets its time from an input instead.
pub fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
