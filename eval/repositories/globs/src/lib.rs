//! File name patterns, and lists of them.

mod list;
mod matcher;
mod pattern;

pub use list::List;
pub use pattern::{Pattern, PatternError};
