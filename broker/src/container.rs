//! Containers: made, started, paused, stopped, removed, looked at. Each operation may be repeated. Tests: `tests/docker.rs`.
//!
//! A container is found by its name and then judged by its labels; what is done to it is done by the engine's own id, so a
//! container that takes its name in between is never touched.

use std::time::Duration;

use bollard::models::{
    ContainerInspectResponse, ContainerState as EngineState, ContainerStateStatusEnum, VolumeCreateRequest,
};
use protocol::broker::{ContainerInfo, ContainerSpec, ContainerState, End, Problem, ProblemKind, Purpose};

use crate::engine::unless_gone;
use crate::hardening;
use crate::image::no_gpu;
use crate::name::{self, ResourceKind};
use crate::service::Service;
use crate::subnet::{Layout, Place};

/// The exit code of a process that SIGKILL ended.
const KILLED: i64 = 137;

impl Service {
    pub async fn create(&self, spec: &ContainerSpec) -> Result<(), Problem> {
        name::check_spec(spec, self.settings.max_memory_bytes, self.settings.plain_workspaces)?;
        crate::seccomp::profile(&spec.profile)?;
        let _floor = self.floor.read().await;
        self.in_turn(&spec.name, async {
            if let Some(found) = self.find(&self.names.container(&spec.name), ResourceKind::Container).await? {
                return same(spec, &found);
            }
            let (image, runner) = self.container_image(&spec.image).await?;
            let place = match spec.subnet {
                Some(number) => Some(self.place(number).await?),
                None => None,
            };
            let fit = self.fittings(&image, runner, place.as_ref()).await?;
            let body = hardening::container(&self.names, spec, &fit)?;
            let mirror = self.mirror_of(spec).await?;
            let helper = match spec.purpose {
                Purpose::Mirror => self.give_mirror(spec, &image).await?,
                _ => self.workspace(spec, &image, mirror.as_deref()).await?,
            };
            let name = self.names.container(&spec.name);
            let discarded = async {
                match helper {
                    Some(helper) => self.discard_helper(&helper).await,
                    None => Ok(()),
                }
            };
            let (made, discarded) = tokio::join!(self.engine.create(&name, body), discarded);
            made?;
            discarded
        })
        .await
    }

    pub async fn start(&self, name: &str) -> Result<(), Problem> {
        self.in_turn(name, async {
            let (id, state) = self.container(name).await?;
            match state {
                ContainerState::Running => return Ok(()),
                ContainerState::Paused => return Err(conflict(name, "is paused; unpause it instead")),
                ContainerState::Gone => return Err(conflict(name, "is being removed")),
                ContainerState::Created | ContainerState::Exited { .. } => {}
            }
            if self.has_network(&id).await? {
                self.fenced().await?;
            }
            let started = self.engine.start(&id).await;
            started.map_err(|problem| no_gpu(&self.settings.gpus, start_problem(name, problem)))
        })
        .await
    }

    pub async fn pause(&self, name: &str) -> Result<(), Problem> {
        self.in_turn(name, async {
            match self.container(name).await? {
                (_, ContainerState::Paused) => Ok(()),
                (id, ContainerState::Running) => self.engine.pause(&id).await,
                _ => Err(conflict(name, "does not run")),
            }
        })
        .await
    }

    pub async fn unpause(&self, name: &str) -> Result<(), Problem> {
        self.in_turn(name, async {
            match self.container(name).await? {
                (id, ContainerState::Paused) => self.engine.unpause(&id).await,
                _ => Ok(()),
            }
        })
        .await
    }

    pub async fn stop(&self, name: &str) -> Result<(), Problem> {
        self.in_turn(name, async {
            let (id, state) = self.container(name).await?;
            if !matches!(state, ContainerState::Running | ContainerState::Paused) {
                return Ok(());
            }
            unless_gone(self.engine.stop(&id).await)
        })
        .await
    }

    pub async fn remove(&self, name: &str) -> Result<(), Problem> {
        name::check_container(name)?;
        let _floor = self.floor.read().await;
        self.in_turn(name, self.remove_now(name)).await
    }

    /// Without taking the floor: for those who hold it.
    pub async fn remove_now(&self, name: &str) -> Result<(), Problem> {
        if let Some(found) = self.find(&self.names.container(name), ResourceKind::Container).await? {
            self.remove_container(&found.id.unwrap_or_default()).await?;
        }
        self.remove_workspace(name).await
    }

    pub async fn inspect(&self, name: &str) -> Result<Option<ContainerInfo>, Problem> {
        name::check_container(name)?;
        let Some(found) = self.find(&self.names.container(name), ResourceKind::Container).await? else {
            return Ok(None);
        };
        let mut container = described(&found);
        container.state = self.fate(&found, container.state).await;
        Ok(Some(container))
    }

    pub async fn list(&self) -> Result<Vec<ContainerInfo>, Problem> {
        let mut containers = Vec::new();
        for summary in self.engine.containers(&self.names.filter(Some(ResourceKind::Container))).await? {
            // Gone since it was listed: not there.
            if let Some(found) = self.engine.container(&summary.id.unwrap_or_default()).await? {
                containers.push(described(&found));
            }
        }
        containers.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(containers)
    }

    /// Id and state of one that must be there.
    pub async fn container(&self, name: &str) -> Result<(String, ContainerState), Problem> {
        name::check_container(name)?;
        let found = self.find(&self.names.container(name), ResourceKind::Container).await?;
        let found =
            found.ok_or_else(|| Problem::new(ProblemKind::NotFound, format!("there is no container {name}")))?;
        let state = state(found.state.as_ref());
        Ok((found.id.unwrap_or_default(), state))
    }

    /// Kills it and waits until its name is free again.
    pub async fn remove_container(&self, id: &str) -> Result<(), Problem> {
        for _ in 0..60 {
            match unless_gone(self.engine.remove(id).await) {
                // Somebody else is at it.
                Err(problem) if problem.kind == ProblemKind::Conflict => {
                    tokio::time::sleep(Duration::from_millis(500)).await;
                }
                done => return done,
            }
        }
        Err(Problem::unavailable(format!("the engine has not finished removing container {id} within 30 s")))
    }

    async fn has_network(&self, id: &str) -> Result<bool, Problem> {
        let found = self.engine.container(id).await?;
        let found = found.ok_or_else(|| Problem::new(ProblemKind::NotFound, format!("container {id} is gone")))?;
        let mode = found.host_config.and_then(|host| host.network_mode);
        Ok(mode.as_deref() != Some("none"))
    }

    /// A subnet that the way out has.
    async fn place(&self, number: u32) -> Result<Place, Problem> {
        let absent = || {
            let text =
                format!("there is no subnet {number} yet: set up the router with at least {} subnets", number + 1);
            Problem::new(ProblemKind::NotFound, text)
        };
        let network = self.engine.network(&self.names.subnet(number)).await?;
        let labels = network.ok_or_else(absent)?.labels;
        if !self.names.owns(labels.as_ref(), ResourceKind::Subnet) {
            return Err(Problem::refused(format!("network {} is not this installation's", self.names.subnet(number))));
        }
        let pool = labels.unwrap_or_default().remove(name::POOL).unwrap_or_default();
        Layout::parse(&pool)?.subnet(&self.names, number)
    }

    /// An empty workspace and, on disk, an empty home: what an earlier container of that name left is removed first.
    /// What comes back is a helper that nobody needs any more.
    async fn workspace(
        &self,
        spec: &ContainerSpec,
        image: &str,
        mirror: Option<&str>,
    ) -> Result<Option<String>, Problem> {
        self.remove_workspace(&spec.name).await?;
        if spec.limits.workspace_bytes == 0 {
            return self.on_disk(spec, image, mirror.filter(|_| spec.layered)).await.map(Some);
        }
        self.workspace_volume(hardening::workspace(&self.names, spec, self.host().await?.users_from))
            .await
            .map(|_| None)
    }

    /// Makes one of the volumes of a workspace: where it lies, in the engine's words.
    pub async fn workspace_volume(&self, volume: VolumeCreateRequest) -> Result<String, Problem> {
        let made = self.engine.create_volume(volume).await?;
        if self.names.owns(Some(&made.labels), ResourceKind::Workspace) {
            return Ok(made.mountpoint);
        }
        Err(Problem::refused(format!("volume {} is not this installation's; remove it by hand", made.name)))
    }

    async fn remove_workspace(&self, name: &str) -> Result<(), Problem> {
        // One that a request left which was cut has the volumes still.
        self.discard_helper(&self.names.disk_helper(name)).await?;
        // The engine does not know that one lies over the other.
        let (workspace, layer, home) = (self.names.workspace(name), self.names.layer(name), self.names.home(name));
        tokio::try_join!(self.remove_own(&workspace), self.remove_own(&layer), self.remove_own(&home)).map(|_| ())
    }

    async fn remove_own(&self, volume: &str) -> Result<(), Problem> {
        let Some(found) = self.engine.volume(volume).await? else { return Ok(()) };
        if !self.names.owns(Some(&found.labels), ResourceKind::Workspace) {
            return Err(Problem::refused(format!("volume {volume} is not this installation's and is not touched")));
        }
        unless_gone(self.engine.remove_volume(volume).await)
    }
}

fn same(spec: &ContainerSpec, found: &ContainerInspectResponse) -> Result<(), Problem> {
    if label(found, name::SPEC) == Some(hardening::spec_hash(spec)?.as_str()) {
        return Ok(());
    }
    Err(conflict(&spec.name, "exists with another specification; remove it first"))
}

fn conflict(name: &str, why: &str) -> Problem {
    Problem::new(ProblemKind::Conflict, format!("container {name} {why}"))
}

fn start_problem(name: &str, problem: Problem) -> Problem {
    let text = &problem.text;
    if text.contains("Address already in use") {
        return conflict(name, "cannot start: another container holds its subnet; remove or stop that one first");
    }
    if text.contains("failed to mount local volume") {
        return Problem::refused(format!(
            "container {name} cannot start: the engine does not mount its workspace ({text})"
        ));
    }
    if text.contains("seccomp") {
        return Problem::refused(format!(
            "container {name} cannot start: the engine takes no seccomp profile ({text})"
        ));
    }
    problem
}

fn label<'a>(found: &'a ContainerInspectResponse, key: &str) -> Option<&'a str> {
    found.config.as_ref()?.labels.as_ref()?.get(key).map(String::as_str)
}

fn described(found: &ContainerInspectResponse) -> ContainerInfo {
    let started = found.state.as_ref().and_then(|state| state.started_at.clone());
    ContainerInfo {
        name: label(found, name::NAME).unwrap_or_default().to_owned(),
        purpose: label(found, name::PURPOSE).and_then(Purpose::from_label).unwrap_or(Purpose::Task),
        task: label(found, name::TASK).and_then(|id| id.parse().ok()),
        state: state(found.state.as_ref()),
        // The engine writes the year 1 for never.
        boot: started.filter(|at| !at.is_empty() && !at.starts_with("0001-")),
        address: address(found),
    }
}

fn address(found: &ContainerInspectResponse) -> Option<String> {
    let networks = found.network_settings.as_ref()?.networks.as_ref()?;
    networks.values().find_map(|endpoint| {
        let fixed = endpoint.ipam_config.as_ref().and_then(|ipam| ipam.ipv4_address.clone());
        fixed.or_else(|| endpoint.ip_address.clone()).filter(|address| !address.is_empty())
    })
}

fn state(state: Option<&EngineState>) -> ContainerState {
    let Some(state) = state else { return ContainerState::Gone };
    match state.status {
        Some(ContainerStateStatusEnum::CREATED) => ContainerState::Created,
        Some(ContainerStateStatusEnum::RUNNING) => ContainerState::Running,
        Some(ContainerStateStatusEnum::PAUSED) => ContainerState::Paused,
        Some(ContainerStateStatusEnum::EXITED) => {
            let code = state.exit_code.unwrap_or(-1);
            // The flag is any process's; only a killed process 1 ends so.
            let memory = state.oom_killed.unwrap_or(false) && code == KILLED;
            ContainerState::Exited { code, end: if memory { End::Memory } else { End::Itself } }
        }
        _ => ContainerState::Gone,
    }
}
