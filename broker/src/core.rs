//! State that all parts of the broker share: settings, names, the engine, and answers of the engine that do not change.
//! Tests: `tests/docker/`.

use std::collections::HashMap;
use std::future::Future;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bollard::models::{ContainerInspectResponse, SystemInfo, SystemInfoCgroupVersionEnum};
use protocol::broker::{EngineInfo, Problem, ProblemKind, VERSION};
use protocol::runner::Mark;
use sha2::{Digest, Sha256};
use tokio::sync::RwLock;

use crate::Settings;
use crate::able;
use crate::engine::{Engine, unless_gone};
use crate::hardening::{Host, ResolvedConfig};
use crate::name::{Names, ResourceKind};
use crate::router::shape::sorted;
use crate::seccomp;
use crate::subnet::ContainerNetwork;

/// The program that becomes PID 1 of each container.
pub struct RunnerProgram {
    pub bytes: Vec<u8>,
    /// SHA-256, in hexadecimal.
    pub sha256: String,
    pub mark: Option<Mark>,
}

/// Shared by all parts, created once.
pub struct Core {
    pub settings: Settings,
    pub names: Names,
    pub runner: RunnerProgram,
    pub engine: Arc<dyn Engine>,
    /// Creating and removing containers takes a shared lock, reaping an exclusive one, so that it does not remove what is being created.
    pub floor: RwLock<()>,
    /// What containers are made by, as the engine said it last.
    host: Mutex<Option<Host>>,
    locks: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

impl Core {
    /// Reads the runner; does not need the engine.
    pub fn new(engine: Arc<dyn Engine>, settings: Settings) -> Result<Self, Problem> {
        Ok(Self {
            names: Names::new(&settings.installation)?,
            runner: read_runner(&settings.runner)?,
            engine,
            floor: RwLock::new(()),
            host: Mutex::default(),
            locks: Mutex::default(),
            settings,
        })
    }

    /// Properties of the engine: asked once, and again with each greeting, before which it may have been restarted with another configuration.
    pub async fn host(&self) -> Result<Host, Problem> {
        let known = *self.host.lock().unwrap_or_else(PoisonError::into_inner);
        match known {
            Some(host) => Ok(host),
            None => Ok(self.note(&self.engine.info().await?)),
        }
    }

    fn note(&self, info: &SystemInfo) -> Host {
        let host = Host {
            cores: info.ncpu.filter(|cores| *cores > 0).unwrap_or(1) as f64,
            cgroup2: info.cgroup_version == Some(SystemInfoCgroupVersionEnum::_2),
            ipv6: Path::new("/proc/sys/net/ipv6").exists(),
            users_from: able::users_from(info),
        };
        *self.host.lock().unwrap_or_else(PoisonError::into_inner) = Some(host);
        host
    }

    /// The parts of a container's configuration that do not come from its spec.
    pub async fn fittings<'a>(
        &'a self,
        image: &'a str,
        runner: &'a str,
        place: Option<&'a ContainerNetwork>,
    ) -> Result<ResolvedConfig<'a>, Problem> {
        let (runtime, gpus) = (self.settings.runtime.as_deref(), &self.settings.gpus);
        Ok(ResolvedConfig { image, runner, place, runtime, gpus, host: self.host().await? })
    }

    /// The engine's present information, if it can run our containers.
    pub async fn usable(&self) -> Result<SystemInfo, Problem> {
        able::is_docker(&self.engine.version().await?)?;
        let info = self.engine.info().await?;
        able::has_runtime(&info, self.settings.runtime.as_deref())?;
        self.note(&info);
        Ok(info)
    }

    pub async fn hello(&self, version: u32) -> Result<EngineInfo, Problem> {
        if version != VERSION {
            return Err(Problem::refused(format!(
                "the broker speaks version {VERSION}, the client {version}: run both from one release"
            )));
        }
        // Asked each time, because the engine may be restarted with another configuration while this broker runs.
        let info = &self.usable().await?;
        Ok(EngineInfo {
            version: VERSION,
            installation: self.names.installation().to_owned(),
            engine: format!("Docker {}", info.server_version.as_deref().unwrap_or("of an unknown version")),
            kernel: info.kernel_version.clone().unwrap_or_default(),
            cgroup: if self.host().await?.cgroup2 { "2".into() } else { "1".into() },
            daemon: configuration(info, &self.settings),
            runner: self.runner.sha256.clone(),
            runner_file: self.settings.runner.display().to_string(),
            runner_mark: self.runner.mark.clone(),
            seccomp: seccomp::sealed_hash(),
            images: self.settings.images.clone(),
            runtime: self.settings.runtime.clone(),
            gpus: self.settings.gpus.to_string(),
            plain_workspaces: self.settings.plain_workspaces,
            warnings: able::warnings(info),
        })
    }

    /// The container with this name on the engine, if it has our label and this kind; one without our label is refused.
    pub async fn find(&self, name: &str, kind: ResourceKind) -> Result<Option<ContainerInspectResponse>, Problem> {
        let Some(found) = self.engine.container(name).await? else { return Ok(None) };
        let labels = found.config.as_ref().and_then(|config| config.labels.as_ref());
        if self.names.owns(labels, kind) {
            return Ok(Some(found));
        }
        Err(Problem::refused(format!(
            "container {name} does not carry this installation's label and is not touched; remove it by hand or choose \
             another installation id"
        )))
    }

    /// Kills the container and waits until its name is free.
    pub async fn remove_container(&self, id: &str) -> Result<(), Problem> {
        for _ in 0..60 {
            match unless_gone(self.engine.remove(id).await) {
                // Another request is removing it.
                Err(problem) if problem.kind == ProblemKind::Conflict => {
                    tokio::time::sleep(Duration::from_millis(500)).await;
                }
                done => return done,
            }
        }
        Err(Problem::unavailable(format!("the engine has not finished removing container {id} within 30 s")))
    }

    /// Removes all containers of these kinds and gives their names.
    pub async fn remove_kinds(&self, kinds: &[ResourceKind]) -> Result<Vec<String>, Problem> {
        let mut removed = Vec::new();
        for &kind in kinds {
            for found in self.engine.containers(&self.names.filter(Some(kind))).await? {
                if self.names.owns(found.labels.as_ref(), kind) {
                    self.remove_container(found.id.as_deref().unwrap_or_default()).await?;
                    removed.extend(
                        found.names.unwrap_or_default().first().map(|name| name.trim_start_matches('/').to_owned()),
                    );
                }
            }
        }
        Ok(removed)
    }

    /// Removes a volume; false if a container still uses it.
    pub async fn remove_volume(&self, name: &str) -> Result<bool, Problem> {
        went(self.engine.remove_volume(name).await)
    }

    /// Requests for one name are carried out one after the other.
    pub async fn in_turn<T>(&self, name: &str, work: impl Future<Output = T>) -> T {
        let lock = {
            let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
            locks.retain(|_, lock| Arc::strong_count(lock) > 1);
            locks.entry(name.to_owned()).or_default().clone()
        };
        let _held = lock.lock().await;
        work.await
    }
}

/// Whether a removal took effect; false for things already gone or still in use.
pub fn went(removed: Result<(), Problem>) -> Result<bool, Problem> {
    match removed {
        Ok(()) => Ok(true),
        Err(problem) if matches!(problem.kind, ProblemKind::Conflict | ProblemKind::NotFound) => Ok(false),
        Err(problem) => Err(problem),
    }
}

fn read_runner(path: &Path) -> Result<RunnerProgram, Problem> {
    let bytes = std::fs::read(path)
        .map_err(|error| Problem::refused(format!("cannot read the runner {}: {error}", path.display())))?;
    if !bytes.starts_with(b"\x7fELF") {
        return Err(Problem::refused(format!("{} is no program: give the static caisson-runner", path.display())));
    }
    Ok(RunnerProgram { sha256: hex::encode(Sha256::digest(&bytes)), mark: Mark::find(&bytes), bytes })
}

/// A hash over the engine's information and this broker's settings, without what changes while it runs: counts, clocks, warnings.
fn configuration(info: &SystemInfo, settings: &Settings) -> String {
    let said = sorted(serde_json::to_value(info).unwrap_or_default());
    let lasting = [
        "BridgeNfIp6tables",
        "BridgeNfIptables",
        "CgroupDriver",
        "CgroupVersion",
        "ContainerdCommit",
        "CpuCfsQuota",
        "DefaultAddressPools",
        "DefaultRuntime",
        "DockerRootDir",
        "Driver",
        "ID",
        "IPv4Forwarding",
        "InitCommit",
        "Isolation",
        "LiveRestoreEnabled",
        "MemoryLimit",
        "OSVersion",
        "PidsLimit",
        "RuncCommit",
        "Runtimes",
        "SecurityOptions",
        "ServerVersion",
        "SwapLimit",
    ];
    let mut text: Vec<String> =
        lasting.iter().map(|name| format!("{name}={}", said.get(*name).unwrap_or_default())).collect();
    text.push(format!("runtime={:?} gpus={}", settings.runtime, settings.gpus));
    hex::encode(Sha256::digest(text.join("\n")))
}
