//! The interface to the container engine: containers, their streams and exit states, volumes, networks, files and events.
//!
//! The types are those of Docker's API (bollard's models); another engine has to be addressed in them. Results are in the broker's terms: a
//! missing thing is `None` or [`protocol::broker::ProblemKind::NotFound`], an impossible one `Conflict`, an unreachable engine
//! `Unavailable`. Must not know what a container is for. Docker's is `docker.rs`; the tests' is `memory.rs`.

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
}

/// The stdin of a container and its output until it ends.
pub struct Streams {
    pub input: Pin<Box<dyn AsyncWrite + Send>>,
    /// Also ends at the first error.
    pub output: Pin<Box<dyn Stream<Item = Output> + Send>>,
}

#[async_trait]
pub trait Engine: Send + Sync {
    /// Kind and release of the engine.
    async fn version(&self) -> Result<SystemVersion, Problem>;
    /// Information about the engine and its machine.
    async fn info(&self) -> Result<SystemInfo, Problem>;
    /// `None` when there is no such image.
    async fn image(&self, reference: &str) -> Result<Option<ImageInspect>, Problem>;

    /// The container with this name or id; `None` when there is none.
    async fn container(&self, name: &str) -> Result<Option<ContainerInspectResponse>, Problem>;
    /// All matching containers, whatever their state.
    async fn containers(&self, filters: &Filters) -> Result<Vec<ContainerSummary>, Problem>;
    /// Creates a container without starting it, and gives its id.
    async fn create(&self, name: &str, body: ContainerCreateBody) -> Result<String, Problem>;
    async fn start(&self, id: &str) -> Result<(), Problem>;
    /// Kills a container; one that does not run is fine.
    async fn stop(&self, id: &str) -> Result<(), Problem>;
    /// Kills and restarts a container.
    async fn restart(&self, id: &str) -> Result<(), Problem>;
    /// Freezes all processes of a container until [`Engine::unpause`].
    async fn pause(&self, id: &str) -> Result<(), Problem>;
    async fn unpause(&self, id: &str) -> Result<(), Problem>;
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
    async fn volume(&self, name: &str) -> Result<Option<Volume>, Problem>;
    async fn volumes(&self, filters: &Filters) -> Result<Vec<Volume>, Problem>;
    /// Removes a volume; `Conflict` while a container uses it.
    async fn remove_volume(&self, name: &str) -> Result<(), Problem>;

    async fn create_network(&self, network: NetworkCreateRequest) -> Result<(), Problem>;
    async fn network(&self, name: &str) -> Result<Option<NetworkInspect>, Problem>;
    async fn networks(&self, filters: &Filters) -> Result<Vec<Network>, Problem>;
    /// Removes a network; `Conflict` while a container is attached to it.
    async fn remove_network(&self, id: &str) -> Result<(), Problem>;
    async fn connect(&self, network: &str, request: NetworkConnectRequest) -> Result<(), Problem>;
}

/// Counts a missing object as success.
pub fn unless_gone(done: Result<(), Problem>) -> Result<(), Problem> {
    done.or_else(|problem| if problem.kind == ProblemKind::NotFound { Ok(()) } else { Err(problem) })
}
