//! From a wake to a reading: what a delivery is about, what is read again by itself, and texts where no task is at work.
//!
//! A hook is only a doorbell: a delivery says "look at this number"; what is said there to a task is read and judged by `thread`.
//! Tests: `tests/stories/`.

mod hidden;
mod hosts;
mod intake;
mod reader;
mod retry;
mod start;
mod test_runs;
mod triggers;
mod unread;
mod waiting;

pub use intake::Intake;
pub use reader::Reader;
