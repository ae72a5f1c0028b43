//! The wire: what the host says to the runner, the router and the broker, and how it is framed.
//!
//! Owns the types and the framing. Must not do I/O nor know tokio: whoever reads or writes bytes brings its own.
//! Framing tests stand in `frame.rs`, properties in `tests/frames.rs`.

pub mod broker;
pub mod edit;
pub mod frame;
pub mod host;
pub mod mistakes;
pub mod picture;
pub mod probe;
pub mod router;
pub mod runner;
pub mod survey;
pub mod touched;
