//! The broker: the only process that talks to the container engine, and the only code that configures containers.
//!
//! Owns the configuration of containers, volumes and networks, the seccomp profiles, and all names and labels on the engine. Takes the
//! typed requests of `protocol::broker` over a unix socket and passes byte streams through. Must not accept a bind, a device, a capability,
//! a host namespace or an image that its operator did not list, touch anything without this installation's label, or read what passes
//! through a stream. Tests: beside each file, and `tests/docker/` with a real engine.

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
mod exit_state;
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

/// The operator's settings of the broker.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Path of the broker's socket; its directory gets mode 0700, the socket 0600.
    pub socket: PathBuf,
    /// Path of the engine's socket.
    pub engine: PathBuf,
    /// Part of every name and label: `[a-z0-9-]`, at most 24; installations on one engine must differ in it.
    pub installation: String,
    /// References of images that containers may be made from.
    pub images: Vec<String>,
    /// References of images that the router may be made from.
    pub router_images: Vec<String>,
    /// The static program that becomes PID 1 of each container.
    pub runner: PathBuf,
    /// Another user than the broker's own that may connect; it becomes owner of the socket.
    pub client_uid: Option<u32>,
    /// An engine runtime other than its default, such as `runsc`.
    pub runtime: Option<String>,
    /// Graphics processors for task containers; they weaken the barrier.
    pub gpus: Gpus,
    /// Whether workspace and home may be on the engine's disk, where only the runner's watchdog limits them.
    pub plain_workspaces: bool,
    /// Parts of the special address ranges that the router may reach, such as a lab's documentation network; only the broker's operator can
    /// allow them.
    pub public_ranges: Vec<String>,
    /// The most memory of any container, in bytes.
    pub max_memory_bytes: u64,
    /// Whether it removes at its end what it made and no task needs, for a broker that belongs to one `caisson serve`.
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
