//! INI files, read and written.

mod convert;
mod model;
mod parse;
mod write;

pub use convert::ConvertError;
pub use model::{Ini, Section};
pub use parse::{parse, ParseError};
