//! Removes what nobody needs any more, and only of this installation. Tests: `tests/docker.rs`.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use protocol::broker::{Problem, ProblemKind, Purpose};

use crate::name::{self, ResourceKind};
use crate::service::Service;

impl Service {
    /// Containers that `keep` does not name, workspaces without a container, mirrors that `mirrors` does not name and nothing uses,
    /// helpers an earlier life left, runners of another version, and networks that no way out holds. Answers what was removed.
    pub async fn reap(&self, keep: &[String], mirrors: &[String]) -> Result<Vec<String>, Problem> {
        let _floor = self.floor.write().await;
        let _alone = self.router_lock.lock().await;
        let image = self.table_image().await?;
        self.reap_now(keep, mirrors, image).await
    }

    async fn reap_now(
        &self,
        keep: &[String],
        mirrors: &[String],
        image: Option<String>,
    ) -> Result<Vec<String>, Problem> {
        let mut removed = Vec::new();
        for container in self.list().await? {
            if !keep.contains(&container.name) {
                self.remove_now(&container.name).await?;
                removed.push(container.name);
            }
        }
        removed.extend(self.reap_containers(&[ResourceKind::Helper]).await?);
        removed.extend(self.reap_volumes(keep, mirrors).await?);
        if self.find(&self.names.router_part(ResourceKind::Holder), ResourceKind::Holder).await?.is_none() {
            removed.extend(self.reap_containers(&[ResourceKind::Firewall, ResourceKind::Router]).await?);
            removed.extend(self.reap_networks(image).await?);
        }
        Ok(removed)
    }

    /// What this life was asked to make and no task needs: the way out with its networks, containers of the barrier's self-test and
    /// the like. Where a task's container is left, everything stays: the next life goes on with it. Answers what was removed.
    pub async fn leave(&self) -> Result<Vec<String>, Problem> {
        if !self.made.load(Ordering::Relaxed) {
            return Ok(Vec::new());
        }
        let _floor = self.floor.write().await;
        let _alone = self.router_lock.lock().await;
        let containers = self.list().await?;
        if containers.iter().any(|container| container.purpose == Purpose::Task) {
            return Ok(Vec::new());
        }
        let mut removed = Vec::new();
        for container in containers {
            self.remove_now(&container.name).await?;
            removed.push(container.name);
        }
        let image = self.table_image().await?;
        removed.extend(self.reap_way_out().await?);
        removed.extend(self.reap_networks(image).await?);
        Ok(removed)
    }

    async fn reap_way_out(&self) -> Result<Vec<String>, Problem> {
        self.reap_containers(&[ResourceKind::Router, ResourceKind::Firewall, ResourceKind::Holder]).await
    }

    /// Everything: containers, the way out, networks, volumes, and the table.
    pub async fn teardown(&self) -> Result<Vec<String>, Problem> {
        let _floor = self.floor.write().await;
        let _alone = self.router_lock.lock().await;
        let image = self.table_image().await?;
        let mut removed = self.reap_way_out().await?;
        removed.extend(self.reap_now(&[], &[], image).await?);
        let volume = self.names.runner(&self.runner.sha256);
        if self.remove_volume(&volume).await? {
            removed.push(volume);
        }
        Ok(removed)
    }

    async fn reap_containers(&self, kinds: &[ResourceKind]) -> Result<Vec<String>, Problem> {
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

    async fn reap_volumes(&self, keep: &[String], mirrors: &[String]) -> Result<Vec<String>, Problem> {
        let volumes = self.engine.volumes(&self.names.filter(None)).await?;
        let current = self.names.runner(&self.runner.sha256);
        let mut removed = Vec::new();
        for volume in volumes {
            let named = |list: &[String]| volume.labels.get(name::NAME).is_some_and(|name| list.contains(name));
            let workspace = self.names.owns(Some(&volume.labels), ResourceKind::Workspace) && !named(keep);
            let mirror = self.names.owns(Some(&volume.labels), ResourceKind::Mirror) && !named(mirrors);
            let old_runner = self.names.owns(Some(&volume.labels), ResourceKind::Runner) && volume.name != current;
            if (workspace || mirror || old_runner) && self.remove_volume(&volume.name).await? {
                removed.push(volume.name);
            }
        }
        Ok(removed)
    }

    /// Whether it went: one that a container still uses stays.
    pub async fn remove_volume(&self, name: &str) -> Result<bool, Problem> {
        went(self.engine.remove_volume(name).await)
    }

    /// Networks of this installation, by name.
    pub async fn own_networks(&self) -> Result<HashMap<String, bollard::models::Network>, Problem> {
        let found = self.engine.networks(&self.names.filter(None)).await?;
        let ours = |labels: Option<&_>| {
            self.names.owns(labels, ResourceKind::Subnet) || self.names.owns(labels, ResourceKind::Outer)
        };
        let ours = found.into_iter().filter(|network| ours(network.labels.as_ref()));
        Ok(ours.filter_map(|network| Some((network.name.clone()?, network))).collect())
    }

    /// Those that no container is on, and with the last of them the table that closes this machine to them: `image` can take it away.
    async fn reap_networks(&self, image: Option<String>) -> Result<Vec<String>, Problem> {
        let mut removed = Vec::new();
        let standing = self.own_networks().await?;
        let all = standing.len();
        for (name, network) in standing {
            if went(self.engine.remove_network(network.id.as_deref().unwrap_or(&name)).await)? {
                removed.push(name);
            }
        }
        removed.sort();
        match image {
            Some(image) if all > 0 && removed.len() == all => removed.push(self.unfence(&image).await?),
            _ => {}
        }
        Ok(removed)
    }

    /// An image that can take the table away: what the firewall or the holder is of, otherwise one that the operator listed.
    async fn table_image(&self) -> Result<Option<String>, Problem> {
        for kind in [ResourceKind::Firewall, ResourceKind::Holder] {
            if let Some(found) = self.find(&self.names.router_part(kind), kind).await? {
                return Ok(found.image);
            }
        }
        for reference in &self.settings.router_images {
            if let Some(image) = self.image(reference).await? {
                return Ok(Some(image.id));
            }
        }
        Ok(None)
    }
}

/// Whether a removal took it away: what is gone or still in use did not go.
fn went(removed: Result<(), Problem>) -> Result<bool, Problem> {
    match removed {
        Ok(()) => Ok(true),
        Err(problem) if matches!(problem.kind, ProblemKind::Conflict | ProblemKind::NotFound) => Ok(false),
        Err(problem) => Err(problem),
    }
}
