//! What `caisson serve` asks of `caisson broker`: one JSON line there, one JSON line back.
//!
//! After the answer to [`Request::Attach`] and [`Request::RouterAttach`] the connection is the raw byte stream of that
//! container's stdin and stdout. A request names *what* is wanted; how a container is configured is the broker's alone,
//! so nothing here can ask for a bind, a device, a capability or a host namespace. ([`Request::Host`] and
//! [`Request::HostListen`] name a look at the machine's network that the broker has fixed.)
//! Client: `src/sandbox/broker.rs`. Server: `broker/`. Tests: below, and `broker/tests/docker/`.

use std::ops::RangeInclusive;

use crate::runner::Mark;
use serde::{Deserialize, Serialize};

/// Version of this protocol; [`Request::Hello`] with another one is refused.
pub const VERSION: u32 = 5;
/// The longest request or answer line, in bytes.
pub const MAX_LINE: usize = 1 << 20;
/// Users, and groups of the same numbers, that containers run as: one per repository, because the kernel counts some limits by user. A
/// container of no repository has the first.
pub const USERS: RangeInclusive<u32> = 10_003..=10_064;
/// Users of the barrier's own sandboxes, so that they and tasks share no limit that the kernel counts by user.
pub const PROBE_USERS: [u32; 2] = [10_065, 10_066];
/// Directory of a container's workspace.
pub const WORKSPACE: &str = "/workspace";
/// The agent's home. If it is on the engine's disk, as the workspace is, the container's environment has its path as `CAISSON_DISK_HOME`.
pub const HOME: &str = "/home/agent";
/// Directory in a mirror with a checked-out tree, over which workspaces are layered.
pub const TREE: &str = "tree";
/// Mount point of a repository's mirror (read-only); a container that has one also has the path in its environment as `CAISSON_MIRROR`.
pub const MIRROR: &str = "/mirror";
/// Mount point of a layered workspace's layer (read-only); the container's environment has the directory with the differences to the tree
/// as `CAISSON_LAYER`.
pub const LAYER: &str = "/layer";
/// Label of an image with its toolchain's version, set by `caisson image build` after the tools ran in it.
pub const TOOLCHAIN_VERSION: &str = "caisson.version";
/// Path of the runner in a container (read-only).
pub const RUNNER: &str = "/opt/caisson/caisson-runner";

/// One request line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Answer: [`EngineInfo`].
    Hello {
        /// The client's [`VERSION`].
        version: u32,
    },
    /// Answer: null. Creates a container; an existing one of that name is fine with the same spec, and a conflict with another.
    Create(ContainerSpec),
    /// Answer: null. Starts a container; one that runs already is fine.
    Start {
        /// Name of the container, as in [`ContainerSpec::name`].
        name: String,
    },
    /// Answer: null, then the raw stream; an older stream of the same container ends. A container that does not run, or is paused, is a
    /// conflict.
    Attach {
        /// Name of the container, as in [`ContainerSpec::name`].
        name: String,
    },
    /// Answer: null. Already paused is fine.
    Pause {
        /// Name of the container, as in [`ContainerSpec::name`].
        name: String,
    },
    /// Answer: null. Not paused is fine.
    Unpause {
        /// Name of the container, as in [`ContainerSpec::name`].
        name: String,
    },
    /// Answer: null. Kills at once; not running is fine.
    Stop {
        /// Name of the container, as in [`ContainerSpec::name`].
        name: String,
    },
    /// Answer: null. Kills and removes the container and its workspace; gone is fine.
    Remove {
        /// Name of the container, as in [`ContainerSpec::name`].
        name: String,
    },
    /// Answer: [`ContainerInfo`] or null.
    Inspect {
        /// Name of the container, as in [`ContainerSpec::name`].
        name: String,
    },
    /// Answer: array of [`ContainerInfo`], this installation's only.
    List,
    /// Answer: [`ImageInfo`], or null when the engine does not have it.
    Image {
        /// Reference of an image the operator listed, for containers or for the router.
        reference: String,
    },
    /// Answer: [`RouterInfo`]. Holder, subnets, firewall and router exist and run afterwards.
    RouterEnsure(RouterSpec),
    /// Answer: bool, whether holder, firewall and router run. Changes nothing.
    RouterRuns,
    /// Answer: null, then the raw stream of the router.
    RouterAttach,
    /// Answer: null. Restarts the router's container; its networks stay.
    RouterRestart,
    /// Answer: null. Kills only the router: no sandbox reaches anything until it is ensured again. Not running is fine.
    RouterStop,
    /// Answer: text. Runs the runner's probe with this plan (`protocol::probe::Plan` as JSON) as the router's user in the router's network
    /// namespace, but bypassing the router; its container of `image` is removed at once.
    RouterProbe {
        /// Reference of a container image the operator listed.
        image: String,
        /// The plan as JSON, at most 64 KiB.
        plan: String,
    },
    /// Answer: [`crate::host::Network`], of the machine that the engine runs on. `image` is the router's.
    Host {
        /// Reference of a router image the operator listed.
        image: String,
    },
    /// Answer: null, then the raw stream of a listener in that machine's network namespace, as [`crate::host`] describes. The listener ends
    /// with the stream.
    HostListen {
        /// Reference of a router image the operator listed.
        image: String,
    },
    /// Answer: true when no such mirror is left; false while a container still has it.
    RemoveMirror {
        /// Name of the mirror, as in [`ContainerSpec::mirror`].
        name: String,
    },
    /// Answer: array of the names removed: containers of this installation that `keep` does not list and what they left, and
    /// mirrors that `mirrors` does not list and no container has.
    Reap {
        /// Names of the containers that stay.
        keep: Vec<String>,
        /// Names of the mirrors that stay even if no container has them.
        mirrors: Vec<String>,
    },
}

/// Purpose of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// An agent works in it.
    Task,
    /// Untrusted git objects are checked in it.
    Quarantine,
    /// The project's tests run in it, on one commit.
    Verify,
    /// The barrier tests itself in it.
    Probe,
    /// A project's setup commands run in it, before any agent.
    Setup,
    /// A repository's mirror is filled in it; nothing of a project or an agent runs there.
    Mirror,
}

impl Purpose {
    /// The word for it in labels.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Quarantine => "quarantine",
            Self::Verify => "verify",
            Self::Probe => "probe",
            Self::Setup => "setup",
            Self::Mirror => "mirror",
        }
    }

    /// The purpose a label names.
    pub fn from_label(word: &str) -> Option<Self> {
        let all = [Self::Task, Self::Quarantine, Self::Verify, Self::Probe, Self::Setup, Self::Mirror];
        all.into_iter().find(|it| it.as_str() == word)
    }
}

/// Everything the broker has to know to create a container.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContainerSpec {
    /// `[a-z0-9-]`, at most 64, starting with a letter or digit; unique in this installation.
    pub name: String,
    /// The task it belongs to; only written into a label.
    pub task: Option<i64>,
    /// What the container is for: it goes into a label, and decides which users, mirrors, layers and GPUs the container may
    /// have.
    pub purpose: Purpose,
    /// Its user and group: of [`USERS`], for [`Purpose::Probe`] of [`PROBE_USERS`], for [`Purpose::Mirror`] of either. A mirror is
    /// its own user's alone.
    pub user: u32,
    /// One of the references the operator listed.
    pub image: String,
    /// Number of the subnet that it is attached to, counted from 0; `None` = no network.
    #[serde(rename = "berth")]
    pub subnet: Option<u32>,
    /// Memory, processes, processor time and disk space the container may use.
    pub limits: ContainerLimits,
    /// Extra environment. Anyone who may inspect containers reads it: never a secret.
    pub env: Vec<(String, String)>,
    /// `sealed`, or `debug` (adds ptrace within the container).
    pub profile: String,
    /// The mirror it has, named like a container: read-only at [`MIRROR`], and it must be there. For [`Purpose::Mirror`] it is the
    /// workspace itself (`workspace_bytes` = 0), made when it is not there; no other container can write to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mirror: Option<String>,
    /// The workspace is a layer over the directory [`TREE`] of the mirror: it begins with what lies there, and what the container
    /// writes goes to the engine's disk (`workspace_bytes` = 0).
    #[serde(default)]
    pub layered: bool,
}

/// What a container may use.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContainerLimits {
    /// Memory in bytes; there is no swap. Files of workspace, home and `/tmp` that are held in memory count too.
    pub memory_bytes: u64,
    /// Processes and threads.
    pub pids: u64,
    /// Processor cores; `1.5` is one and a half.
    pub cpus: f64,
    /// Size of the workspace in bytes, held in memory; 0 = workspace and home on the engine's disk, bounded by `disk_bytes`,
    /// which the operator may refuse.
    pub workspace_bytes: u64,
    /// How much workspace and home on disk may take together, in bytes, watched by the runner; 0 = without limit.
    #[serde(default)]
    pub disk_bytes: u64,
    /// Free space in bytes that the disk must keep (at least a fiftieth of it): below, no work begins and no growing work goes on; 0 =
    /// none.
    #[serde(default)]
    pub disk_floor_bytes: u64,
    /// Size in bytes of /tmp and, where the workspace is in memory, of /home/agent.
    pub tmp_bytes: u64,
    /// Open files of one process.
    pub nofile: u64,
}

impl ContainerLimits {
    /// What the broker takes as [`Self::pids`].
    pub const PIDS: RangeInclusive<u64> = 8..=32_768;
    /// What it takes as [`Self::nofile`].
    pub const NOFILE: RangeInclusive<u64> = 64..=1 << 20;
    /// What it takes as [`Self::cpus`].
    pub const CPUS: RangeInclusive<f64> = 0.01..=1024.0;
}

impl Default for ContainerLimits {
    fn default() -> Self {
        Self {
            memory_bytes: 2 << 30,
            pids: 256,
            cpus: 2.0,
            workspace_bytes: 0,
            disk_bytes: 0,
            disk_floor_bytes: 0,
            tmp_bytes: 256 << 20,
            nofile: 4096,
        }
    }
}

/// State of one container.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContainerInfo {
    /// Name the client gave it in [`ContainerSpec::name`], read from its label.
    pub name: String,
    /// What it was made for, read from its label; a word that is not known reads as [`Purpose::Task`].
    pub purpose: Purpose,
    /// Task it belongs to, read from its label; `None` = it was made for none.
    pub task: Option<i64>,
    /// State of its container.
    pub state: ContainerState,
    /// When it was last started, as the engine writes it; a changed value means a restart. `None` = never started.
    pub boot: Option<String>,
    /// Its address in its subnet.
    pub address: Option<String>,
}

/// State of a container, as the engine reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContainerState {
    /// Made, and never started.
    Created,
    /// Its process 1 runs.
    Running,
    /// All its processes are frozen until [`Request::Unpause`].
    Paused,
    /// Its process 1 has ended; [`Request::Start`] starts it again.
    Exited {
        /// Exit code of process 1 (137 after SIGKILL); -1 when the engine reports none.
        code: i64,
        /// How it ended, as far as known; only [`Request::Inspect`] asks the engine for the details.
        end: End,
    },
    /// Being removed, or dead.
    Gone,
}

/// How a container's process 1 ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The kernel killed process 1 for lack of memory. (For other processes see the runner's status.)
    Memory,
    /// Somebody stopped it through the engine.
    Stopped,
    /// The engine or the machine was restarted.
    EngineRestarted,
    /// Nobody is known to have ended it.
    Itself,
}

/// The engine behind the broker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EngineInfo {
    /// The broker's [`VERSION`].
    pub version: u32,
    /// The installation whose containers it touches.
    pub installation: String,
    /// For example `Docker 20.10.24`.
    pub engine: String,
    /// Release of the kernel that the engine runs on, as the engine reports it; empty when it reports none.
    pub kernel: String,
    /// `1` or `2`.
    pub cgroup: String,
    /// SHA-256 (hex) of the engine's configuration: runtimes, security options, drivers, versions of its parts, and the broker's runtime
    /// and GPUs.
    pub daemon: String,
    /// sha256 of the runner that containers get, hex.
    pub runner: String,
    /// Path of the file that the broker read the runner from when it started.
    #[serde(default)]
    pub runner_file: String,
    /// The runner's [`Mark`]; `None` = it has none.
    #[serde(default)]
    pub runner_mark: Option<Mark>,
    /// sha256 of the seccomp profile `sealed`, hex.
    pub seccomp: String,
    /// References the operator listed.
    pub images: Vec<String>,
    /// The engine's runtime that containers are made with; `None` = its default.
    #[serde(default)]
    pub runtime: Option<String>,
    /// Graphics processors that a task's container gets: `none`, `all`, or ids.
    #[serde(default)]
    pub gpus: String,
    /// Whether a container may have its workspace and home on the engine's disk.
    #[serde(default)]
    pub plain_workspaces: bool,
    /// What the engine lacks, in sentences for a person.
    pub warnings: Vec<String>,
}

/// An image the operator listed, as the engine has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageInfo {
    /// `sha256:…`
    pub id: String,
    /// Bytes.
    pub size: u64,
    /// Version of its toolchain according to its label [`TOOLCHAIN_VERSION`], such as `1.95.0`.
    #[serde(default)]
    pub version: Option<String>,
}

/// How the network of sandboxes is made: one holder container with the subnets, and the router in its network namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouterSpec {
    /// How many subnets (1 to 64).
    #[serde(rename = "berths")]
    pub subnets: u32,
    /// An IPv4 network that holds one /28 per subnet and one for the outer network, such as `10.90.0.0/20`;
    /// `None` = the broker takes the first free one of its own list.
    pub pool: Option<String>,
    /// The router's image, one the operator listed.
    pub image: String,
    /// Name server (`address` or `address:port`) that allowed names are resolved by; `None` = this machine's first one that is not a
    /// loopback address.
    pub upstream: Option<String>,
    /// IPv4 networks that the router's own firewall refuses besides private and special ones: public addresses of the operator's own.
    #[serde(default)]
    pub private: Vec<String>,
}

/// What [`Request::RouterEnsure`] found or made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouterInfo {
    /// The network all subnets and the outer network are cut from.
    pub pool: String,
    /// The subnets that were asked for, in the order of their numbers.
    #[serde(rename = "berths")]
    pub subnets: Vec<Subnet>,
    /// When the router was last started; a changed value means a restart, after which it denies everything until it gets a policy.
    pub boot: Option<String>,
}

/// One subnet: the network that a sandbox is attached to, with the router as its only way out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subnet {
    /// Number of the subnet, counted from 0, as in [`ContainerSpec::subnet`].
    pub number: u32,
    /// `a.b.c.d/28`
    #[serde(rename = "subnet")]
    pub cidr: String,
    /// The router's address in it: the sandbox's name server and only neighbour.
    pub gateway: String,
}

/// One answer line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BrokerAnswer<T> {
    /// The request was carried out; its result has the type that [`Request`] names.
    Ok(T),
    /// The request was refused or failed; no stream follows.
    Error(Problem),
}

/// Why a request failed: a kind for the caller, a text for a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{text}")]
pub struct Problem {
    /// Kind of the problem, for the caller to act on.
    pub kind: ProblemKind,
    /// What went wrong and, where that is known, what to do about it; shown to a person.
    pub text: String,
}

/// Kind of a [`Problem`]; it tells the caller whether repeating the request can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// The engine (or the broker) is down or too slow: try again later.
    Unavailable,
    /// The request is malformed or outside what is allowed at all; asking again does not help.
    Refused,
    /// No such container, image or router.
    NotFound,
    /// It exists with another configuration or state.
    Conflict,
    /// An unexpected failure of the engine.
    Engine,
}

impl Problem {
    /// A problem of this kind; `text` is for a person.
    pub fn new(kind: ProblemKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }

    /// A problem of kind [`ProblemKind::Refused`]; `text` is for a person.
    pub fn refused(text: impl Into<String>) -> Self {
        Self::new(ProblemKind::Refused, text)
    }

    /// A problem of kind [`ProblemKind::Unavailable`]; `text` is for a person.
    pub fn unavailable(text: impl Into<String>) -> Self {
        Self::new(ProblemKind::Unavailable, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_one_plain_line() {
        let line = serde_json::to_string(&Request::Start { name: "t1".into() }).unwrap();
        assert_eq!(line, r#"{"start":{"name":"t1"}}"#);
        assert_eq!(serde_json::to_string(&Request::List).unwrap(), r#""list""#);
    }

    #[test]
    fn what_is_not_in_the_protocol_is_refused() {
        assert!(serde_json::from_str::<Request>(r#"{"start":{"name":"t1","privileged":true}}"#).is_err());
        assert!(serde_json::from_str::<Request>(r#"{"exec":{"name":"t1"}}"#).is_err());
    }

    #[test]
    fn answers_read_as_documented() {
        let ok = serde_json::to_string(&BrokerAnswer::Ok(Some(3))).unwrap();
        assert_eq!(ok, r#"{"ok":3}"#);
        let no: BrokerAnswer<()> = BrokerAnswer::Error(Problem::refused("no"));
        assert_eq!(serde_json::to_string(&no).unwrap(), r#"{"error":{"kind":"refused","text":"no"}}"#);
    }

    #[test]
    fn purposes_come_back_from_their_labels() {
        for word in ["task", "quarantine", "verify", "probe", "setup", "mirror"] {
            assert_eq!(Purpose::from_label(word).map(Purpose::as_str), Some(word));
        }
        assert_eq!(Purpose::from_label("other"), None);
    }
}
