//! Arithmetic on one line.

mod error;
mod parse;
mod token;
mod tree;

pub use error::CalcError;
pub use parse::parse;
pub use tree::{Names, Tree};

/// The value of a line.
pub fn eval(line: &str, names: &Names) -> Result<f64, CalcError> {
    parse(line)?.value(names)
}
