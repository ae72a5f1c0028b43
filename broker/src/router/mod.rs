//! The way out of sandboxes, as the rest of the broker needs it: made and kept, asked for a container's place, removed.
//!
//! Owns the trait. What stands on a container engine is `stand.rs`'s: networks (`network.rs`, `pool.rs`), holder, firewall, router, and the table
//! that closes this machine to the subnets (`host.rs`). The tests' has nothing that routes (`memory.rs`). `docs/decisions/` says why.

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
use crate::subnet::Place;

/// Every call may be repeated; what stands and is right is left alone.
#[async_trait]
pub trait WayOut: Send + Sync {
    /// Makes it, with as many subnets as asked for; further ones stay.
    async fn ensure(&self, spec: &RouterSpec) -> Result<RouterInfo, Problem>;
    /// The router's stdin and stdout. `Conflict` where it does not run.
    async fn attach(&self) -> Result<Attached, Problem>;
    /// The router alone, beside its holder. `NotFound` where there is none.
    async fn restart(&self) -> Result<(), Problem>;
    /// The router alone is killed; whoever ensures it next makes it anew. `NotFound` where there is none.
    async fn stop(&self) -> Result<(), Problem>;
    /// A look from the router's own place: what its firewall lets its user reach when no proxy is between. What the runner's probe says
    /// there, in a container of `image` as tight as a task's that is removed afterwards.
    async fn probe(&self, image: &str, plan: &str) -> Result<String, Problem>;

    /// Where a container of this subnet stands. `NotFound` where there is no such subnet yet.
    async fn place(&self, subnet: u32) -> Result<Place, Problem>;
    /// Before a container with a subnet is started: the table stands, whatever became of it since. Whoever comes while it is being
    /// loaded shares the next load with all who wait. `NotFound` where there is no way out.
    async fn fenced(&self) -> Result<(), Problem>;

    /// Nothing of it is made as long as this is held: for whoever removes.
    async fn alone(&self) -> OwnedMutexGuard<()>;
    /// An image that can take the table away: what the firewall or the holder is of, otherwise one that the operator listed.
    async fn table_image(&self) -> Result<Option<String>, Problem>;
    /// Router, firewall and holder: names of what was removed.
    async fn remove(&self) -> Result<Vec<String>, Problem>;
    /// Networks that no container is on, and with the last of them the table that closes this machine to them: `image` can take it away.
    async fn remove_networks(&self, image: Option<&str>) -> Result<Vec<String>, Problem>;
    /// Parts and networks that no holder holds: names of what was removed.
    async fn sweep(&self, image: Option<&str>) -> Result<Vec<String>, Problem>;
}
