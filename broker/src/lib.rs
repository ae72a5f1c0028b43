//! The broker: the only process that talks to the container engine, and the only code that knows what a container's
//! configuration looks like.
//!
//! It owns container, volume and network configuration, the seccomp profiles, and every name and label on the engine.
//! It takes the typed requests of `protocol::broker` over a unix socket and hands byte streams through; it must not take
//! a bind, a device, a capability, a host namespace or an image that its operator did not list, touch anything without
//! this installation's label, or read what flows through a stream. Tests: beside each file, and `tests/docker.rs` against a
//! real engine.

mod able;
mod attach;
#[cfg(test)]
mod beside;
mod container;
mod core;
#[cfg(test)]
mod cuts;
mod disk;
mod engine;
mod fate;
mod gpus;
mod hardening;
mod helper;
mod image;
mod mirror;
mod name;
mod reap;
mod router;
mod seccomp;
mod server;
mod service;
mod subnet;
mod supply;
pub mod toolchain;

use std::path::PathBuf;

pub use gpus::Gpus;
pub use server::{Broker, is_served, teardown};

/// What the operator decides when the broker is started.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where to listen. Its directory is made 0700, itself 0600.
    pub socket: PathBuf,
    /// The engine's own socket.
    pub engine: PathBuf,
    /// `[a-z0-9-]`, at most 24: goes into every name and label. Two installations on one engine need two of them.
    pub installation: String,
    /// References of images that containers may be made from.
    pub images: Vec<String>,
    /// References of images that the router may be made from.
    pub router_images: Vec<String>,
    /// The static program that becomes PID 1 of each container.
    pub runner: PathBuf,
    /// Another user than the broker's own that may connect; the socket is given to it.
    pub client_uid: Option<u32>,
    /// An engine runtime other than its default, such as `runsc`.
    pub runtime: Option<String>,
    /// Graphics processors that a task's container gets: a hole in its barrier.
    pub gpus: Gpus,
    /// Whether a container may ask for a workspace and a home on the engine's disk, which only the runner's watchdog bounds.
    pub plain_workspaces: bool,
    /// Parts of the special address ranges that the router may reach nevertheless, such as a lab's documentation network.
    /// Only whoever starts the broker can open these.
    pub public_ranges: Vec<String>,
    /// No container gets more memory than this, in bytes.
    pub max_memory_bytes: u64,
    /// At its end it removes what it made and no task needs: for a broker that belongs to one `caisson serve`.
    pub leaves_nothing: bool,
}

impl Settings {
    /// Settings with no image listed and everything else at its default.
    pub fn new(socket: impl Into<PathBuf>, installation: impl Into<String>, runner: impl Into<PathBuf>) -> Self {
        Self {
            socket: socket.into(),
            engine: PathBuf::from("/var/run/docker.sock"),
            installation: installation.into(),
            images: Vec::new(),
            router_images: Vec::new(),
            runner: runner.into(),
            client_uid: None,
            runtime: None,
            gpus: Gpus::None,
            plain_workspaces: true,
            public_ranges: Vec::new(),
            max_memory_bytes: 16 << 30,
            leaves_nothing: false,
        }
    }
}
