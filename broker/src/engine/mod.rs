//! The interface to the container engine: containers, their streams and exit states, volumes, networks, files and events.
//!
//! The types are those of Docker's API (bollard's models); another engine has to be addressed in them. Results are in the broker's terms: a
//! missing thing is `None` or [`protocol::broker::ProblemKind::NotFound`], an impossible one `Conflict`, an unreachable engine
//! `Unavailable`. Must not know what a container is for. Docker's is `docker.rs`; the tests' is `memory.rs`.
//!
//! Clippy demands a description of every item of the interface, because rustc looks only at what another crate can name.

pub mod docker;
#[cfg(test)]
pub mod memory;

use std::collections::HashMap;
use std::pin::Pin;

use async_trait::async_trait;
use bollard::models::{
    ContainerCreateBody, ContainerInspectResponse, ContainerSummary, EventMessage, ImageInspect, Network,
    NetworkConnectRequest, NetworkCreateRequest, NetworkInspect, SystemInfo, SystemVersion, Volume,
    VolumeCreateRequest,
};
use futures_util::Stream;
use protocol::broker::{Problem, ProblemKind};
use tokio::io::AsyncWrite;

/// Filters of a list, by key.
pub type Filters = HashMap<String, Vec<String>>;

/// Output of a container.
#[deny(clippy::missing_docs_in_private_items)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Bytes of its stdout, as many as arrived together.
    Stdout(Vec<u8>),
    /// Bytes of its stderr, as many as arrived together.
    Stderr(Vec<u8>),
}

/// The stdin of a container and its output until it ends.
#[deny(clippy::missing_docs_in_private_items)]
pub struct Streams {
    /// Goes to its stdin where that was attached to, otherwise nowhere.
    pub input: Pin<Box<dyn AsyncWrite + Send>>,
    /// What it writes from then on; also ends at the first error.
    pub output: Pin<Box<dyn Stream<Item = Output> + Send>>,
}

/// A container engine.
#[deny(clippy::missing_docs_in_private_items)]
#[async_trait]
pub trait Engine: Send + Sync {
    /// Kind and release of the engine.
    async fn version(&self) -> Result<SystemVersion, Problem>;
    /// Information about the engine and its machine.
    async fn info(&self) -> Result<SystemInfo, Problem>;
    /// The image of this reference or id; `None` when there is none.
    async fn image(&self, reference: &str) -> Result<Option<ImageInspect>, Problem>;

    /// The container with this name or id; `None` when there is none.
    async fn container(&self, name: &str) -> Result<Option<ContainerInspectResponse>, Problem>;
    /// All matching containers, whatever their state.
    async fn containers(&self, filters: &Filters) -> Result<Vec<ContainerSummary>, Problem>;
    /// Creates a container without starting it, and gives its id.
    async fn create(&self, name: &str, body: ContainerCreateBody) -> Result<String, Problem>;
    /// Starts a container that was created or has ended.
    async fn start(&self, id: &str) -> Result<(), Problem>;
    /// Kills a container; one that does not run is fine.
    async fn stop(&self, id: &str) -> Result<(), Problem>;
    /// Kills and restarts a container.
    async fn restart(&self, id: &str) -> Result<(), Problem>;
    /// Freezes all processes of a container until [`Engine::unpause`].
    async fn pause(&self, id: &str) -> Result<(), Problem>;
    /// Lets a frozen container continue.
    async fn unpause(&self, id: &str) -> Result<(), Problem>;
    /// Gives a container another name; `Conflict` when another one has it.
    async fn rename(&self, id: &str, name: &str) -> Result<(), Problem>;
    /// Kills and removes a container with its anonymous volumes; `Conflict` while another request removes it.
    async fn remove(&self, id: &str) -> Result<(), Problem>;
    /// Attaches to stdout, with `input` also to stdin, otherwise also to stderr; possible before the start.
    async fn attach(&self, id: &str, input: bool) -> Result<Streams, Problem>;
    /// Unpacks a tar archive below a directory of a container, which need not run.
    async fn put(&self, id: &str, directory: &str, tar: Vec<u8>) -> Result<(), Problem>;
    /// Gets a file or directory of a container as a tar archive; `None` when it does not exist. Reading stops beyond `most` bytes.
    async fn get(&self, id: &str, path: &str, most: usize) -> Result<Option<Vec<u8>>, Problem>;
    /// Events of starts and kill orders of a container, oldest first, as far back as the engine remembers.
    async fn orders(&self, id: &str) -> Result<Vec<EventMessage>, Problem>;

    /// Creates a volume, or gives the existing one of that name with the labels it has.
    async fn create_volume(&self, volume: VolumeCreateRequest) -> Result<Volume, Problem>;
    /// The volume of this name; `None` when there is none.
    async fn volume(&self, name: &str) -> Result<Option<Volume>, Problem>;
    /// All matching volumes.
    async fn volumes(&self, filters: &Filters) -> Result<Vec<Volume>, Problem>;
    /// Removes a volume; `Conflict` while a container uses it.
    async fn remove_volume(&self, name: &str) -> Result<(), Problem>;

    /// Creates a network; `Conflict` when one of that name exists.
    async fn create_network(&self, network: NetworkCreateRequest) -> Result<(), Problem>;
    /// The network with this name or id; `None` when there is none.
    async fn network(&self, name: &str) -> Result<Option<NetworkInspect>, Problem>;
    /// All matching networks, without their containers.
    async fn networks(&self, filters: &Filters) -> Result<Vec<Network>, Problem>;
    /// Removes a network; `Conflict` while a container is attached to it.
    async fn remove_network(&self, id: &str) -> Result<(), Problem>;
    /// Attaches a container to a network, with the address that the request names.
    async fn connect(&self, network: &str, request: NetworkConnectRequest) -> Result<(), Problem>;
}

/// Counts a missing object as success.
pub fn unless_gone(done: Result<(), Problem>) -> Result<(), Problem> {
    done.or_else(|problem| if problem.kind == ProblemKind::NotFound { Ok(()) } else { Err(problem) })
}
