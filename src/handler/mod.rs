//! From a wake to inputs of a task: reads the forge's objects again by id, judges who said what, feeds each once.
//!
//! A hook is only a doorbell: a delivery says "look at this number", and may contradict what is read there (`evidence`). Text is data;
//! what counts is a command of somebody with the right, on an object that was not edited. Tests: `tests/stories/`.

mod beside;
mod evidence;
mod hidden;
mod hosts;
mod intake;
mod moved;
mod reader;
mod start;
mod unread;
mod words;

pub use intake::Intake;
pub use reader::Reader;
