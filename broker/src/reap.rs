//! Removes objects of this installation that are no longer needed. Tests: `tests/docker/`.

use std::sync::Arc;

use protocol::broker::{Problem, Purpose};

use crate::container::Containers;
use crate::core::Core;
use crate::name::{self, ResourceKind};
use crate::router::WayOut;

/// Removes leftovers.
pub struct Reaper {
    pub core: Arc<Core>,
    pub containers: Arc<Containers>,
    pub router: Arc<dyn WayOut>,
}

impl Reaper {
    /// Removes containers that `keep` does not name, workspaces without a container, unused mirrors that `mirrors` does not name, helpers
    /// of an earlier life, runners of other versions, and networks without a holder. Returns the removed names.
    pub async fn reap(&self, keep: &[String], mirrors: &[String]) -> Result<Vec<String>, Problem> {
        let _floor = self.core.floor.write().await;
        let _alone = self.router.alone().await;
        let image = self.router.table_image().await?;
        self.reap_now(keep, mirrors, image.as_deref()).await
    }

    /// What cannot be removed keeps nothing else from it: the first such problem is told at the end.
    async fn reap_now(&self, keep: &[String], mirrors: &[String], image: Option<&str>) -> Result<Vec<String>, Problem> {
        let (mut removed, mut done) = (Vec::new(), Ok(()));
        for container in self.containers.list().await? {
            if keep.contains(&container.name) {
                continue;
            }
            match self.containers.remove_now(&container.name).await {
                Ok(()) => removed.push(container.name),
                Err(problem) => done = done.and(Err(problem)),
            }
        }
        match self.core.remove_kinds(&[ResourceKind::Helper]).await {
            Ok(names) => removed.extend(names),
            Err(problem) => done = done.and(Err(problem)),
        }
        done = done.and(self.reap_volumes(keep, mirrors, &mut removed).await);
        removed.extend(self.router.sweep(image).await?);
        done.map(|()| removed)
    }

    /// Removes what this life made and no task needs: the router with its networks, containers of the barrier's self-test and the like. If
    /// a task's container is left everything stays for the next life. Returns the removed names.
    pub async fn leave(&self) -> Result<Vec<String>, Problem> {
        let _floor = self.core.floor.write().await;
        let _alone = self.router.alone().await;
        let containers = self.containers.list().await?;
        if containers.iter().any(|container| container.purpose == Purpose::Task) {
            return Ok(Vec::new());
        }
        let mut removed = Vec::new();
        for container in containers {
            self.containers.remove_now(&container.name).await?;
            removed.push(container.name);
        }
        let image = self.router.table_image().await?;
        removed.extend(self.router.remove().await?);
        removed.extend(self.router.remove_networks(image.as_deref()).await?);
        Ok(removed)
    }

    /// Removes everything: containers, the router, networks, volumes, and the firewall table.
    pub async fn teardown(&self) -> Result<Vec<String>, Problem> {
        let _floor = self.core.floor.write().await;
        let _alone = self.router.alone().await;
        let image = self.router.table_image().await?;
        let mut removed = self.router.remove().await?;
        removed.extend(self.reap_now(&[], &[], image.as_deref()).await?);
        let volume = self.core.names.runner(&self.core.runner.sha256);
        if self.core.remove_volume(&volume).await? {
            removed.push(volume);
        }
        Ok(removed)
    }

    /// Adds the names of the removed volumes; tells the first problem at the end.
    async fn reap_volumes(
        &self,
        keep: &[String],
        mirrors: &[String],
        removed: &mut Vec<String>,
    ) -> Result<(), Problem> {
        let volumes = self.core.engine.volumes(&self.core.names.filter(None)).await?;
        let current = self.core.names.runner(&self.core.runner.sha256);
        let mut done = Ok(());
        for volume in volumes {
            let named = |list: &[String]| volume.labels.get(name::NAME).is_some_and(|name| list.contains(name));
            let workspace = self.core.names.owns(Some(&volume.labels), ResourceKind::Workspace) && !named(keep);
            let mirror = self.core.names.owns(Some(&volume.labels), ResourceKind::Mirror) && !named(mirrors);
            let old_runner = self.core.names.owns(Some(&volume.labels), ResourceKind::Runner) && volume.name != current;
            if !(workspace || mirror || old_runner) {
                continue;
            }
            match self.core.remove_volume(&volume.name).await {
                Ok(true) => removed.push(volume.name),
                // A container still uses it.
                Ok(false) => {}
                Err(problem) => done = done.and(Err(problem)),
            }
        }
        done
    }
}
