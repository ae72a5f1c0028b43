//! The router of sandboxes as the rest of the broker needs it: create and keep it, get a container's place, remove it.
//!
//! Owns the trait. `stand.rs` implements it on a container engine with networks (`network.rs`, `pool.rs`), holder, firewall, router, and
//! the table that closes this machine to the subnets (`host.rs`); `memory.rs` for tests. `docs/decisions/` says why.

mod firewall;
pub mod host;
#[cfg(test)]
pub mod memory;
mod network;
mod pool;
pub(crate) mod shape;
pub mod stand;
mod upstream;

use async_trait::async_trait;
use protocol::broker::{Problem, RouterInfo, RouterSpec};
use tokio::sync::OwnedMutexGuard;

use crate::attach::Attached;
use crate::subnet::ContainerNetwork;

/// Every call may be repeated; what exists in the right form is kept.
#[async_trait]
pub trait WayOut: Send + Sync {
    /// Creates it with as many subnets as asked for; further ones stay.
    async fn ensure(&self, spec: &RouterSpec) -> Result<RouterInfo, Problem>;
    /// Whether all its parts run; changes nothing.
    async fn runs(&self) -> Result<bool, Problem>;
    /// The router's stdin and stdout; `Conflict` where it does not run.
    async fn attach(&self) -> Result<Attached, Problem>;
    /// Restarts only the router, beside its holder; `NotFound` where there is none.
    async fn restart(&self) -> Result<(), Problem>;
    /// Kills only the router; the next [`WayOut::ensure`] recreates it. `NotFound` where there is none.
    async fn stop(&self) -> Result<(), Problem>;
    /// Runs the runner's probe in the router's network namespace, to see what the firewall allows without the proxy; in a container of
    /// `image` as restricted as a task's, which is removed afterwards.
    async fn probe(&self, image: &str, plan: &str) -> Result<String, Problem>;

    /// Network and address of a container in this subnet; `NotFound` where there is no such subnet.
    async fn place(&self, subnet: u32) -> Result<ContainerNetwork, Problem>;
    /// Makes sure before a container with a subnet is started that the table is loaded, even if it was removed. Callers that come during a
    /// load share the next one. `NotFound` where there is no router.
    async fn fenced(&self) -> Result<(), Problem>;

    /// Prevents its creation while the guard is held, for code that removes it.
    async fn alone(&self) -> OwnedMutexGuard<()>;
    /// An image that can remove the table: the firewall's or holder's, otherwise a listed one.
    async fn table_image(&self) -> Result<Option<String>, Problem>;
    /// Removes router, firewall and holder, and gives the removed names.
    async fn remove(&self) -> Result<Vec<String>, Problem>;
    /// Removes networks without containers, and after the last subnet the table, using `image`.
    async fn remove_networks(&self, image: Option<&str>) -> Result<Vec<String>, Problem>;
    /// Removes parts and networks without a holder, and gives the removed names.
    async fn sweep(&self, image: Option<&str>) -> Result<Vec<String>, Problem>;
}
