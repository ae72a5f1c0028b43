//! The router between sandboxes and the internet: default deny, judged by name.
//!
//! Three programs in one binary, each in a container of its own that shares one network namespace: `hold` owns the
//! networks, `walls` (NET_ADMIN) loads the packet filter and claims the gateways, `serve` (no capability) resolves and
//! proxies. A fourth, `host`, runs in the machine's own namespace for moments. `docs/egress.md` shows how they meet. Tests: `tests/parsers.rs`, `tests/lab/`.

pub mod access;
pub mod control;
pub mod dns;
pub mod firewall;
pub mod host;
pub mod names;
pub mod proxy;
pub mod ring;
pub mod serve;
pub mod settings;
pub mod shares;
