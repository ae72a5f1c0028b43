//! Mirrors: volumes with a repository's history, written by one kind of container and read-only in all others.
//!
//! Owns their volumes, users and removal; the bot owns their content. Tests: `tests/docker/mirrors.rs`.

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

    /// Path on the engine's machine of a container's mirror; created for the container that fills it, required for all others (the engine
    /// would create a missing volume by itself).
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

    /// Removes a mirror; false while a container uses it.
    pub async fn remove(&self, mirror: &str) -> Result<bool, Problem> {
        name::check_mirror(mirror)?;
        // Exclusive, because a container that is being created has already found it, and the engine would recreate it empty.
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

/// Refuses a mirror of another user. A mirror of an earlier release names no user and can no longer be used.
fn must_be_of(mirror: &str, user: u32, labels: &HashMap<String, String>) -> Result<(), Problem> {
    let whose = labels.get(name::USER).map_or("nobody", String::as_str);
    if whose == user.to_string() {
        return Ok(());
    }
    Err(Problem::refused(format!("the mirror {mirror} is not user {user}'s: it is {whose}'s")))
}
