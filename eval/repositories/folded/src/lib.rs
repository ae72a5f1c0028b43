//! Text in columns.

mod align;
mod columns;
mod words;
mod wrap;

pub use align::{align, Align};
pub use columns::columns;
pub use wrap::{fill, wrap, Options};
