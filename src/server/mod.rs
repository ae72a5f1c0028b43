//! The HTTP listeners: hooks, and on loopback health, metrics, orders and the dashboard.

mod access;
mod dashboard;
mod limits;
mod ops;
mod sessions;
mod shown;
mod webhook;

pub use access::{BotProof, OperatorAccess, nonce};
pub use dashboard::CodeReport;
pub use limits::{ClientLimits, LimitedListener, Limits, Peer};
pub use ops::{EntryWish, FetchedReport, Ops, Reload, UpstreamCiReport};
pub use sessions::Dashboard;
pub use webhook::{HookSecrets, Hooks, Keep, hook_router};

use axum::Router;
use std::net::SocketAddr;
use std::sync::Arc;

/// Routes of the operations listener, which is meant for loopback; on another address there is no dashboard.
pub fn ops_router(ops: Arc<Ops>, at: SocketAddr) -> Router {
    let routes = ops::routes(at);
    let routes = if at.ip().is_loopback() { routes.merge(dashboard::routes()) } else { routes };
    routes.with_state(ops)
}
