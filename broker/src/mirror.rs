//! Mirrors: volumes with a repository's history, written by one kind of container and read-only in all others.
//!
//! Owns which volume that is, whose, and when it goes; what lies in it is the bot's. Tests: `tests/docker/mirrors.rs`.

use std::collections::HashMap;
use std::sync::Arc;

use bollard::models::VolumeCreateRequest;
use protocol::broker::{ContainerSpec, Problem, ProblemKind, Purpose};

use crate::core::Core;
use crate::name::{self, ResourceKind};

/// Makes and removes mirrors' volumes.
pub struct Mirrors {
    core: Arc<Core>,
}

impl Mirrors {
    pub fn new(core: Arc<Core>) -> Self {
        Self { core }
    }

    /// The mirror of a container that is about to be made: made for whoever fills it, there already for everybody else (the engine
    /// would make an empty volume of that name by itself). Where it lies, in the engine's words.
    pub async fn of(&self, spec: &ContainerSpec) -> Result<Option<String>, Problem> {
        let Some(mirror) = &spec.mirror else { return Ok(None) };
        let volume = self.core.names.mirror(mirror);
        let found = match spec.purpose {
            Purpose::Mirror => self.core.engine.create_volume(self.volume(mirror, spec.user)).await?,
            _ => {
                let found = self.core.engine.volume(&volume).await?;
                let absent = || Problem::new(ProblemKind::NotFound, format!("there is no mirror {mirror}"));
                found.ok_or_else(absent)?
            }
        };
        self.must_be_ours(&volume, &found.labels)?;
        must_be_of(mirror, spec.user, &found.labels)?;
        Ok(Some(found.mountpoint))
    }

    /// Whether it is gone: one that a container has stays.
    pub async fn remove(&self, mirror: &str) -> Result<bool, Problem> {
        name::check_mirror(mirror)?;
        // Alone: a container that is being made has looked for it already, and the engine would give it an empty one.
        let _floor = self.core.floor.write().await;
        let volume = self.core.names.mirror(mirror);
        let Some(found) = self.core.engine.volume(&volume).await? else { return Ok(true) };
        self.must_be_ours(&volume, &found.labels)?;
        self.core.remove_volume(&volume).await
    }

    fn volume(&self, mirror: &str, user: u32) -> VolumeCreateRequest {
        let mut labels = self.core.names.labels(ResourceKind::Mirror);
        labels.insert(name::NAME.into(), mirror.to_owned());
        labels.insert(name::USER.into(), user.to_string());
        VolumeCreateRequest {
            name: Some(self.core.names.mirror(mirror)),
            driver: Some("local".into()),
            labels: Some(labels),
            ..Default::default()
        }
    }

    fn must_be_ours(&self, volume: &str, labels: &HashMap<String, String>) -> Result<(), Problem> {
        if self.core.names.owns(Some(labels), ResourceKind::Mirror) {
            return Ok(());
        }
        Err(Problem::refused(format!(
            "volume {volume} is not this installation's and is not touched; remove it by hand"
        )))
    }
}

/// One that an earlier release made says of nobody that it is his; nobody has it any more.
fn must_be_of(mirror: &str, user: u32, labels: &HashMap<String, String>) -> Result<(), Problem> {
    let whose = labels.get(name::USER).map_or("nobody", String::as_str);
    if whose == user.to_string() {
        return Ok(());
    }
    Err(Problem::refused(format!("the mirror {mirror} is not user {user}'s: it is {whose}'s")))
}
