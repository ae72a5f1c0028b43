//! The container engine as the broker needs it: containers with how they ended, their streams, volumes, networks, files and events.
//!
//! The words are those of Docker's own API (its models, of bollard): another engine is one that can be asked in them. Every answer is in
//! the broker's terms: what is not there is `None` or [`protocol::broker::ProblemKind::NotFound`], what cannot be now is `Conflict`,
//! an engine that is away is `Unavailable`. Must not know what a container is. Docker's is `docker.rs`; the tests' is `memory.rs`.

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

/// What a list is narrowed to: by key, its values.
pub type Filters = HashMap<String, Vec<String>>;

/// What a container wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
}

/// The streams of a container: its stdin, and what it writes until it ends.
pub struct Streams {
    pub input: Pin<Box<dyn AsyncWrite + Send>>,
    /// Ends at the first error too.
    pub output: Pin<Box<dyn Stream<Item = Output> + Send>>,
}

#[async_trait]
pub trait Engine: Send + Sync {
    /// Its kind and release.
    async fn version(&self) -> Result<SystemVersion, Problem>;
    /// What it says of itself and its machine.
    async fn info(&self) -> Result<SystemInfo, Problem>;
    /// `None` when there is no such image.
    async fn image(&self, reference: &str) -> Result<Option<ImageInspect>, Problem>;

    /// By name or id; `None` when there is none.
    async fn container(&self, name: &str) -> Result<Option<ContainerInspectResponse>, Problem>;
    /// All of them, whatever their state.
    async fn containers(&self, filters: &Filters) -> Result<Vec<ContainerSummary>, Problem>;
    /// Its id. It does not run yet.
    async fn create(&self, name: &str, body: ContainerCreateBody) -> Result<String, Problem>;
    async fn start(&self, id: &str) -> Result<(), Problem>;
    /// Killed at once; one that does not run is fine.
    async fn stop(&self, id: &str) -> Result<(), Problem>;
    /// Killed at once, and started again.
    async fn restart(&self, id: &str) -> Result<(), Problem>;
    /// No process of it runs until [`Engine::unpause`].
    async fn pause(&self, id: &str) -> Result<(), Problem>;
    async fn unpause(&self, id: &str) -> Result<(), Problem>;
    async fn rename(&self, id: &str, name: &str) -> Result<(), Problem>;
    /// Killed and removed with its anonymous volumes. `Conflict` while somebody else removes it.
    async fn remove(&self, id: &str) -> Result<(), Problem>;
    /// Attached to stdout, with `input` to stdin, otherwise to stderr. Before its start too.
    async fn attach(&self, id: &str, input: bool) -> Result<Streams, Problem>;
    /// Unpacks a tar archive below a directory of a container, which need not run.
    async fn put(&self, id: &str, directory: &str, tar: Vec<u8>) -> Result<(), Problem>;
    /// A file or directory of a container as a tar archive; `None` when it is not there. Reading ends beyond `most` bytes.
    async fn get(&self, id: &str, path: &str, most: usize) -> Result<Option<Vec<u8>>, Problem>;
    /// Starts of a container and orders to kill it, as far back as the engine remembers, oldest first.
    async fn orders(&self, id: &str) -> Result<Vec<EventMessage>, Problem>;

    /// The volume of that name, made or there before: with whatever labels that one has.
    async fn create_volume(&self, volume: VolumeCreateRequest) -> Result<Volume, Problem>;
    async fn volume(&self, name: &str) -> Result<Option<Volume>, Problem>;
    async fn volumes(&self, filters: &Filters) -> Result<Vec<Volume>, Problem>;
    /// `Conflict` while a container has it.
    async fn remove_volume(&self, name: &str) -> Result<(), Problem>;

    async fn create_network(&self, network: NetworkCreateRequest) -> Result<(), Problem>;
    async fn network(&self, name: &str) -> Result<Option<NetworkInspect>, Problem>;
    async fn networks(&self, filters: &Filters) -> Result<Vec<Network>, Problem>;
    /// `Conflict` while a container is on it.
    async fn remove_network(&self, id: &str) -> Result<(), Problem>;
    async fn connect(&self, network: &str, request: NetworkConnectRequest) -> Result<(), Problem>;
}

/// What is gone already, or was never there, is as good as done.
pub fn unless_gone(done: Result<(), Problem>) -> Result<(), Problem> {
    done.or_else(|problem| if problem.kind == ProblemKind::NotFound { Ok(()) } else { Err(problem) })
}
