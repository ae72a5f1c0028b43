//! The protocols between the host and the runner, the router and the broker, and their framing.
//!
//! Owns the types and the framing. Must not do I/O nor depend on tokio.
//! Tests of the framing: `frame.rs`, and properties in `tests/frames.rs`.

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
