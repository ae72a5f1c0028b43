//! What `caisson serve` asks of `caisson broker`: one JSON line there, one JSON line back.
//!
//! After the answer to [`Request::Attach`] and [`Request::RouterAttach`] the connection is the raw byte stream of that
//! container's stdin and stdout. A request names *what* is wanted; how a container is configured is the broker's alone,
//! so nothing here can ask for a bind, a device, a capability or a host namespace. ([`Request::Host`] and
//! [`Request::HostListen`] name a look at the machine's network that the broker has fixed.)
//! Client: `src/sandbox/broker.rs`. Server: `broker/`. Tests: below, and `broker/tests/docker.rs`.

use std::ops::RangeInclusive;

use crate::runner::Mark;
use serde::{Deserialize, Serialize};

/// Version of this protocol; [`Request::Hello`] with another one is refused.
pub const VERSION: u32 = 5;
/// The longest request or answer line, in bytes.
pub const MAX_LINE: usize = 1 << 20;
/// Users, and groups of the same numbers, that containers run as: one for each repository, because the kernel counts some things by user.
/// What a container is never entered for (an image that is only tried) has the first of them.
pub const USERS: RangeInclusive<u32> = 10_003..=10_064;
/// Those of the barrier's own sandboxes: what is taken from them is taken from no task, and no task can take it from them.
pub const PROBE_USERS: [u32; 2] = [10_065, 10_066];
/// Where a container's work lies.
pub const WORKSPACE: &str = "/workspace";
/// The agent's home. On the engine's disk where the workspace is, and then its container finds the path as `CAISSON_DISK_HOME`.
pub const HOME: &str = "/home/agent";
/// In a mirror: a tree that was checked out once, for workspaces that are layers over it.
pub const TREE: &str = "tree";
/// Where a repository's mirror lies in a container (read-only). A container that has one finds the path in its environment as
/// `CAISSON_MIRROR`.
pub const MIRROR: &str = "/mirror";
/// Where the layer of a layered workspace lies (read-only). Its container finds the directory with what differs from the tree in its
/// environment as `CAISSON_LAYER`.
pub const LAYER: &str = "/layer";
/// An image's label with the version of its toolchain, which `caisson image build` sets when the tools have run in it.
pub const TOOLCHAIN_VERSION: &str = "caisson.version";
/// Where the runner lies in a container (read-only).
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
    /// Answer: null. A container of that name with the same spec is fine; with another one it is a conflict.
    Create(ContainerSpec),
    /// Answer: null. Already running is fine.
    Start {
        /// Name of the container, as in [`ContainerSpec::name`].
        name: String,
    },
    /// Answer: null, then the raw stream; an older stream of the same container ends. One that does not run, or is paused,
    /// is a conflict.
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
    /// Answer: null, then the raw stream of the router.
    RouterAttach,
    /// Answer: null. Starts the router anew beside its holder; networks stay.
    RouterRestart,
    /// Answer: null. Kills the router alone: every sandbox reaches nothing until it is ensured again. Not running is fine.
    RouterStop,
    /// Answer: text. What the runner's probe found for this plan (`protocol::probe::Plan` as JSON) as the router's user in the
    /// router's network namespace, without the router between; it runs in a container of `image` that is removed at once.
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
    /// Answer: null, then the raw stream of a listener in that machine's network namespace, in the words of [`crate::host`]. It ends
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

/// What a container is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// An agent works in it.
    Task,
    /// Untrusted git objects are checked in it.
    Quarantine,
    /// The project's own checks run in it.
    Verify,
    /// The barrier tests itself in it.
    Probe,
    /// A project's setup commands run in it, before any agent.
    Setup,
    /// A repository's mirror is filled in it; nothing of a project or an agent runs there.
    Mirror,
}

impl Purpose {
    /// The word in labels.
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

/// One sealed container, as asked for.
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
    /// Which subnet's network, counted from 0; `None` = no network at all.
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
    /// Memory in bytes, swap included (there is none); what lies in memory of workspace, home and /tmp counts too.
    pub memory_bytes: u64,
    /// Processes and threads.
    pub pids: u64,
    /// Processor cores; `1.5` is one and a half.
    pub cpus: f64,
    /// Size of the workspace in bytes, held in memory; 0 = workspace and home on the engine's disk, bounded by `disk_bytes`,
    /// which the operator may refuse.
    pub workspace_bytes: u64,
    /// How much workspace and home on disk may take together, in bytes; the runner watches over it. 0 = without end.
    #[serde(default)]
    pub disk_bytes: u64,
    /// No work begins, and none that grows goes on, in a workspace on a disk with less than this left, or than a fiftieth of it.
    /// 0 = down to the last byte.
    #[serde(default)]
    pub disk_floor_bytes: u64,
    /// Size in bytes of /tmp and, where the workspace is in memory, of /home/agent.
    pub tmp_bytes: u64,
    /// Open files of one process.
    pub nofile: u64,
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

/// One container, as it stands.
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
    /// When it was last started, in the engine's words: another value is another boot. `None` = never started.
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
        /// The best word on it is in the answer to [`Request::Inspect`]; a list doesn't ask the engine twice.
        end: End,
    },
    /// Being removed, or dead.
    Gone,
}

/// How a container's process 1 ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The kernel killed it for lack of memory. (For its children the runner tells.)
    Memory,
    /// Somebody ordered it of the engine.
    Stopped,
    /// The engine, or the machine, was started anew since.
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
    /// sha256 of what the engine says of its configuration, hex: runtimes, security options, drivers, versions of its
    /// parts; and of the broker's runtime and GPUs.
    pub daemon: String,
    /// sha256 of the runner that containers get, hex.
    pub runner: String,
    /// The file it was read from when the broker started.
    #[serde(default)]
    pub runner_file: String,
    /// What it says of itself; `None` = it has no mark.
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
    /// Which version of its toolchain it says it has (its label [`TOOLCHAIN_VERSION`]), such as `1.95.0`.
    #[serde(default)]
    pub version: Option<String>,
}

/// The way out: one holder with its subnets, and the router in its network namespace.
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
    /// The name server (`address` or `address:port`) that allowed names are asked of; `None` = this machine's first one
    /// that is not a loopback address.
    pub upstream: Option<String>,
    /// IPv4 networks that the router's own firewall refuses besides private and special ones: public addresses of one's own.
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
    /// When the router was last started; another value is another boot, which denies all until told.
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
    /// The router's address in it: name server and only neighbour.
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

/// Why not, for a person, and of which kind, for the caller.
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
    /// It exists in another shape or state.
    Conflict,
    /// The engine failed in a way nobody foresaw.
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
