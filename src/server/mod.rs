//! The HTTP listeners: hooks in, and beside them, on loopback, health and metrics.

mod ops;
mod webhook;

pub use ops::{FetchedReport, Ops, ops_router};
pub use webhook::{Hooks, hook_router};
