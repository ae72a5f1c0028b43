//! From deliveries and polling to readings; and texts where no task is at work.
//!
//! A delivery only names the issue or pull request to read; what is said there to a task is read and judged by `thread`.
//! Tests: `tests/stories/`.

mod again;
mod apart;
mod asked_after;
mod asking;
mod called;
mod hidden;
mod hosts;
mod intake;
mod left;
mod own;
mod reader;
mod retry;
mod start;
mod texts;
mod triggers;
mod unread;
mod unstarted;
mod waiting;

pub use intake::Intake;
pub use reader::Reader;

/// The parts of an answer, one behind the other.
fn joined(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}
