//! The router's networks: the subnets and the holder's outer one. Tests: `tests/docker/`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bollard::models::Network;
use protocol::broker::Problem;

use super::shape;
use crate::core::{Core, went};
use crate::name::ResourceKind;
use crate::subnet::{ContainerNetwork, Layout};

/// The networks that belong to this installation.
pub struct Networks {
    core: Arc<Core>,
}

impl Networks {
    pub fn new(core: Arc<Core>) -> Self {
        Self { core }
    }

    /// Networks of this installation, by name.
    pub async fn own(&self) -> Result<HashMap<String, Network>, Problem> {
        let found = self.core.engine.networks(&self.core.names.filter(None)).await?;
        let ours = |labels: Option<&_>| {
            self.core.names.owns(labels, ResourceKind::Subnet) || self.core.names.owns(labels, ResourceKind::Outer)
        };
        let ours = found.into_iter().filter(|network| ours(network.labels.as_ref()));
        Ok(ours.filter_map(|network| Some((network.name.clone()?, network))).collect())
    }

    /// Creates the outer network and the subnets; further subnets than asked for stay.
    pub async fn ensure(&self, layout: &Layout, subnets: u32) -> Result<Vec<ContainerNetwork>, Problem> {
        let standing = self.own().await?;
        if !standing.contains_key(&self.core.names.outer()) {
            self.core.engine.create_network(shape::outer_network(&self.core.names, layout)).await?;
        }
        let mut places = Vec::new();
        for number in 0..subnets {
            let place = layout.subnet(&self.core.names, number)?;
            if !standing.contains_key(&place.network) {
                let request = shape::subnet_network(&self.core.names, layout, number, &place);
                self.core.engine.create_network(request).await?;
            }
            places.push(place);
        }
        Ok(places)
    }

    /// Removes those of one kind without containers; gives the names of the removed ones, and whether none is left.
    pub async fn remove(&self, kind: ResourceKind) -> Result<(Vec<String>, bool), Problem> {
        let (mut removed, mut all) = (Vec::new(), true);
        let used = self.used().await?;
        for (name, network) in self.own().await? {
            if !self.core.names.owns(network.labels.as_ref(), kind) {
                continue;
            }
            let id = network.id.as_deref().unwrap_or(&name);
            if !used.contains(id) && went(self.core.engine.remove_network(id).await)? {
                removed.push(name);
            } else {
                all = false;
            }
        }
        Ok((removed, all))
    }

    /// Ids of the networks of this installation's containers, also of stopped ones: the engine removes a network below these, and never
    /// starts them again, even if another one gets its name.
    async fn used(&self) -> Result<HashSet<String>, Problem> {
        let containers = self.core.engine.containers(&self.core.names.filter(None)).await?;
        let networks = containers.into_iter().filter_map(|container| container.network_settings?.networks);
        Ok(networks.flat_map(HashMap::into_values).filter_map(|endpoint| endpoint.network_id).collect())
    }
}
