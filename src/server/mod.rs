//! The HTTP listeners: hooks in, and beside them, on loopback, health and metrics.

mod door;
mod ops;
mod webhook;

pub use door::{Door, Limits, Peer, Visitors};
pub use ops::{EntryWish, FetchedReport, Ops, Reload, ops_router};
pub use webhook::{HookSecrets, Hooks, Keep, hook_router};
