//! CSV, row by row.

mod read;
mod table;
mod write;

pub use read::{read, ReadError, Rows};
pub use table::{Table, TableError};
pub use write::write;
