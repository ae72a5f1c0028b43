//! Helpers: short-lived containers for one operation. Tests: `tests/docker/`.

use std::sync::Arc;

use bollard::models::{ContainerCreateBody, HostConfig, Mount, MountType, MountVolumeOptions};
use futures_util::StreamExt;
use protocol::broker::{Problem, ProblemKind, RUNNER};

use crate::core::Core;
use crate::engine::{Output, unless_gone};
use crate::name::ResourceKind;

/// The most bytes that are read of a helper's output: enough for a line on each of a thousand addresses.
const LOUDEST: usize = 128 << 10;

/// Runs helpers.
pub struct Helpers {
    core: Arc<Core>,
}

impl Helpers {
    pub fn new(core: Arc<Core>) -> Self {
        Self { core }
    }

    /// Runs one helper container and gives its output; `Refused` if the engine cannot start its program.
    pub async fn thrown_away(&self, name: &str, body: ContainerCreateBody) -> Result<String, Problem> {
        let name = self.core.names.helper(name);
        let program = body.entrypoint.iter().flatten().next().cloned().unwrap_or_default();
        self.discard(&name).await?;
        let id = self.core.engine.create(&name, body).await?;
        let said = self.run_and_listen(&id).await.map_err(|problem| unheard(&program, problem));
        self.discard(&name).await?;
        said
    }

    /// The output of a container that ends by itself, for at most 30 s.
    async fn run_and_listen(&self, id: &str) -> Result<String, Problem> {
        let mut attached = self.core.engine.attach(id, false).await?;
        self.core.engine.start(id).await?;
        let mut said = Vec::new();
        let listen = async {
            while let Some(Output::Stdout(piece) | Output::Stderr(piece)) = attached.output.next().await {
                said.extend_from_slice(&piece);
                if said.len() > LOUDEST {
                    break;
                }
            }
        };
        if tokio::time::timeout(std::time::Duration::from_secs(30), listen).await.is_err() {
            return Err(Problem::unavailable(
                "a helper container took longer than 30 s; the machine may be overloaded",
            ));
        }
        Ok(String::from_utf8_lossy(&said).into_owned())
    }

    /// Removes a helper that an earlier life left, or that has finished.
    pub async fn discard(&self, name: &str) -> Result<(), Problem> {
        let Some(found) = self.core.find(name, ResourceKind::Helper).await? else { return Ok(()) };
        unless_gone(self.core.engine.remove(&found.id.unwrap_or_default()).await)
    }

    /// A helper that is never started, through which files are copied into volumes; each has a mount point and a name.
    pub fn never_started(&self, image: &str, volumes: &[(&str, &str)]) -> ContainerCreateBody {
        let mount = |(target, volume): &(&str, &str)| Mount {
            target: Some((*target).to_owned()),
            source: Some((*volume).to_owned()),
            typ: Some(MountType::VOLUME),
            volume_options: Some(MountVolumeOptions { no_copy: Some(true), ..Default::default() }),
            ..Default::default()
        };
        ContainerCreateBody {
            image: Some(image.to_owned()),
            entrypoint: Some(vec![RUNNER.into()]),
            labels: Some(self.core.names.labels(ResourceKind::Helper)),
            host_config: Some(HostConfig {
                network_mode: Some("none".into()),
                cap_drop: Some(vec!["ALL".into()]),
                mounts: Some(volumes.iter().map(mount).collect()),
                ..Default::default()
            }),
            ..Default::default()
        }
    }
}

/// Why there is no output of a helper's program, in the engine's words.
fn unheard(program: &str, problem: Problem) -> Problem {
    match problem.kind {
        ProblemKind::Refused => Problem::refused(format!("the engine cannot start {program} there ({})", problem.text)),
        // It says nothing of what was asked for.
        ProblemKind::NotFound => {
            Problem::unavailable(format!("somebody removed a helper container before it ended ({})", problem.text))
        }
        _ => problem,
    }
}
