//! Roman numerals from 1 to 3999.

mod read;
mod write;

pub use read::{from_roman, ReadError};
pub use write::to_roman;

/// The largest number that can be written.
pub const MAX: u32 = 3999;
