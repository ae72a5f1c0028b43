//! Containers: create, start, pause, stop, remove, inspect. Each operation may be repeated. Tests: `tests/docker/`.
//!
//! A container is found by its name and checked by its labels; operations use the engine's id, so that a container which takes over the
//! name in between is never touched.

use std::sync::Arc;

use bollard::models::{ContainerInspectResponse, ContainerState as EngineState, ContainerStateStatusEnum};
use protocol::broker::{ContainerInfo, ContainerSpec, ContainerState, End, Problem, ProblemKind, Purpose};

use crate::attach::{Attached, Attachments};
use crate::core::Core;
use crate::disk::Disks;
use crate::engine::unless_gone;
use crate::exit_state::exit_state;
use crate::hardening;
use crate::helper::Helpers;
use crate::image::{Images, no_gpu};
use crate::mirror::Mirrors;
use crate::name::{self, ResourceKind};
use crate::router::WayOut;

/// The exit code of a process that SIGKILL ended.
const KILLED: i64 = 137;

/// Creates, starts, inspects and removes containers.
pub struct Containers {
    pub core: Arc<Core>,
    pub images: Arc<Images>,
    pub disks: Disks,
    pub helpers: Arc<Helpers>,
    pub mirrors: Arc<Mirrors>,
    pub attachments: Arc<Attachments>,
    /// The router, for containers with a subnet.
    pub router: Arc<dyn WayOut>,
}

impl Containers {
    pub async fn create(&self, spec: &ContainerSpec) -> Result<(), Problem> {
        name::check_spec(spec, self.core.settings.max_memory_bytes, self.core.settings.plain_workspaces)?;
        crate::seccomp::profile(&spec.profile)?;
        let _floor = self.core.floor.read().await;
        self.core
            .in_turn(&spec.name, async {
                if let Some(found) =
                    self.core.find(&self.core.names.container(&spec.name), ResourceKind::Container).await?
                {
                    return same(spec, &found);
                }
                let (image, runner) = self.images.container_image(&spec.image).await?;
                let place = match spec.subnet {
                    Some(number) => Some(self.router.place(number).await?),
                    None => None,
                };
                let fit = self.core.fittings(&image, runner, place.as_ref()).await?;
                let body = hardening::container(&self.core.names, spec, &fit)?;
                let mirror = self.mirrors.of(spec).await?;
                let helper = match spec.purpose {
                    Purpose::Mirror => self.disks.give_mirror(spec, &image).await?,
                    _ => self.disks.workspace(spec, &image, mirror.as_deref()).await?,
                };
                let name = self.core.names.container(&spec.name);
                let discarded = async {
                    match helper {
                        Some(helper) => self.helpers.discard(&helper).await,
                        None => Ok(()),
                    }
                };
                let (made, discarded) = tokio::join!(self.core.engine.create(&name, body), discarded);
                made?;
                discarded
            })
            .await
    }

    pub async fn start(&self, name: &str) -> Result<(), Problem> {
        self.core
            .in_turn(name, async {
                let (id, state) = self.container(name).await?;
                match state {
                    ContainerState::Running => return Ok(()),
                    ContainerState::Paused => return Err(conflict(name, "is paused; unpause it instead")),
                    ContainerState::Gone => return Err(conflict(name, "is being removed")),
                    ContainerState::Created | ContainerState::Exited { .. } => {}
                }
                if self.has_network(&id).await? {
                    self.router.fenced().await.map_err(of_the_way_out)?;
                }
                let started = self.core.engine.start(&id).await;
                started.map_err(|problem| no_gpu(&self.core.settings.gpus, start_problem(name, problem)))
            })
            .await
    }

    pub async fn attach(&self, name: &str) -> Result<Attached, Problem> {
        let (id, state) = self.container(name).await?;
        match state {
            ContainerState::Running => self.attachments.open(&id).await,
            ContainerState::Paused => Err(conflict(name, "is paused; unpause it first")),
            _ => Err(conflict(name, "does not run; start it first")),
        }
    }

    pub async fn pause(&self, name: &str) -> Result<(), Problem> {
        self.core
            .in_turn(name, async {
                match self.container(name).await? {
                    (_, ContainerState::Paused) => Ok(()),
                    (id, ContainerState::Running) => self.core.engine.pause(&id).await,
                    _ => Err(conflict(name, "does not run")),
                }
            })
            .await
    }

    pub async fn unpause(&self, name: &str) -> Result<(), Problem> {
        self.core
            .in_turn(name, async {
                match self.container(name).await? {
                    (id, ContainerState::Paused) => self.core.engine.unpause(&id).await,
                    _ => Ok(()),
                }
            })
            .await
    }

    pub async fn stop(&self, name: &str) -> Result<(), Problem> {
        self.core
            .in_turn(name, async {
                let (id, state) = self.container(name).await?;
                if !matches!(state, ContainerState::Running | ContainerState::Paused) {
                    return Ok(());
                }
                unless_gone(self.core.engine.stop(&id).await)
            })
            .await
    }

    pub async fn remove(&self, name: &str) -> Result<(), Problem> {
        name::check_container(name)?;
        let _floor = self.core.floor.read().await;
        self.core.in_turn(name, self.remove_now(name)).await
    }

    /// Without locking `Core::floor`, for callers that hold it.
    pub async fn remove_now(&self, name: &str) -> Result<(), Problem> {
        if let Some(found) = self.core.find(&self.core.names.container(name), ResourceKind::Container).await? {
            self.core.remove_container(&found.id.unwrap_or_default()).await?;
        }
        self.disks.remove(name).await
    }

    pub async fn inspect(&self, name: &str) -> Result<Option<ContainerInfo>, Problem> {
        name::check_container(name)?;
        let Some(found) = self.core.find(&self.core.names.container(name), ResourceKind::Container).await? else {
            return Ok(None);
        };
        let mut container = described(&found);
        container.state = exit_state(self.core.engine.as_ref(), &found, container.state).await;
        Ok(Some(container))
    }

    pub async fn list(&self) -> Result<Vec<ContainerInfo>, Problem> {
        let mut containers = Vec::new();
        for summary in self.core.engine.containers(&self.core.names.filter(Some(ResourceKind::Container))).await? {
            // Removed since it was listed, so it is left out.
            if let Some(found) = self.core.engine.container(&summary.id.unwrap_or_default()).await? {
                containers.push(described(&found));
            }
        }
        containers.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(containers)
    }

    /// Id and state of a container that must exist.
    pub async fn container(&self, name: &str) -> Result<(String, ContainerState), Problem> {
        name::check_container(name)?;
        let found = self.core.find(&self.core.names.container(name), ResourceKind::Container).await?;
        let found =
            found.ok_or_else(|| Problem::new(ProblemKind::NotFound, format!("there is no container {name}")))?;
        let state = state(found.state.as_ref());
        Ok((found.id.unwrap_or_default(), state))
    }

    async fn has_network(&self, id: &str) -> Result<bool, Problem> {
        let found = self.core.engine.container(id).await?;
        let found = found.ok_or_else(|| Problem::new(ProblemKind::NotFound, format!("container {id} is gone")))?;
        let mode = found.host_config.and_then(|host| host.network_mode);
        Ok(mode.as_deref() != Some("none"))
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

/// What is missing of the way out says nothing of the container: a client takes `NotFound` for the loss of a sandbox, with its work.
fn of_the_way_out(problem: Problem) -> Problem {
    match problem.kind {
        ProblemKind::NotFound => Problem::unavailable(problem.text),
        _ => problem,
    }
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
        // The engine writes the year 1 if it was never started.
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
            // The flag may stand for any process of the container; process 1 was killed only with this exit code.
            let memory = state.oom_killed.unwrap_or(false) && code == KILLED;
            ContainerState::Exited { code, end: if memory { End::Memory } else { End::Itself } }
        }
        _ => ContainerState::Gone,
    }
}
