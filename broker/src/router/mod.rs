//! The way out, made and kept: networks, holder, firewall, router. Everything may be repeated; what stands and is right is
//! left alone. Tests: `tests/docker.rs`.
//!
//! A restart of firewall or router touches no network. A holder that was started anew leaves the others in a namespace that
//! is dead though the engine says "running": their labels name the holder's life, so they are made anew.

mod firewall;
mod host;
mod pool;
mod probe;
pub(crate) mod shape;
mod upstream;

use std::collections::HashSet;

use bollard::models::{ContainerCreateBody, ContainerInspectResponse};
use protocol::broker::{Problem, ProblemKind, RouterInfo, RouterSpec, Subnet};
use protocol::host::Network;
use protocol::router::{Bogons, Net};

use crate::name::MAX_SUBNETS;
use crate::name::{self, ResourceKind};
use crate::service::Service;
use crate::subnet::{Layout, Place};
use shape::Making;

impl Service {
    pub async fn router_ensure(&self, spec: &RouterSpec) -> Result<RouterInfo, Problem> {
        if !(1..=MAX_SUBNETS).contains(&spec.subnets) {
            return Err(Problem::refused(format!(
                "{} subnets are asked for; there can be 1 to {MAX_SUBNETS}",
                spec.subnets
            )));
        }
        let upstream = match &spec.upstream {
            Some(named) => upstream::parse(named)?,
            None => upstream::of_this_machine()?,
        };
        let (mut private, public) = (nets(&spec.private)?, nets(&self.settings.public_ranges)?);
        let _alone = self.router_lock.lock().await;
        let image = self.router_image(&spec.image).await?;
        let host = self.look_at_host(&image).await?;
        private.extend(public_of(&host));
        let layout = self.layout(spec.pool.as_deref(), &host.routes).await?;
        let places = self.networks(&layout, spec.subnets).await?;
        self.fence(&image).await?;
        let making = Making {
            names: &self.names,
            layout: &layout,
            image: &image,
            upstream: &upstream,
            private: &private,
            public: &public,
            ipv6: self.host().await?.ipv6,
        };
        let (holder, boot) = self.holder(&making, &places).await?;
        self.part(ResourceKind::Firewall, making.firewall(&holder, &boot)?).await?;
        let router = self.part(ResourceKind::Router, making.router(&holder, &boot)?).await?;
        let subnet = |(number, place): (u32, &Place)| Subnet {
            number,
            cidr: place.cidr.to_string(),
            gateway: place.gateway.to_string(),
        };
        let subnets = (0..).zip(&places).map(subnet).collect();
        Ok(RouterInfo { pool: layout.whole().to_string(), subnets, boot: started(&router) })
    }

    /// The router alone, beside its holder.
    pub async fn router_restart(&self) -> Result<(), Problem> {
        let _alone = self.router_lock.lock().await;
        let id = self.router_id().await?;
        self.engine.restart(&id).await
    }

    /// The router alone is killed; whoever ensures it next makes it anew.
    pub async fn router_stop(&self) -> Result<(), Problem> {
        let _alone = self.router_lock.lock().await;
        let id = self.router_id().await?;
        self.engine.stop(&id).await
    }

    async fn router_id(&self) -> Result<String, Problem> {
        let found =
            self.find(&self.names.router_part(ResourceKind::Router), ResourceKind::Router).await?.and_then(|it| it.id);
        found.ok_or_else(|| Problem::new(ProblemKind::NotFound, "there is no router yet; set it up first"))
    }

    /// Outer network and subnets; further subnets than asked for stay.
    async fn networks(&self, layout: &Layout, subnets: u32) -> Result<Vec<Place>, Problem> {
        let standing = self.own_networks().await?;
        if !standing.contains_key(&self.names.outer()) {
            self.engine.create_network(shape::outer_network(&self.names, layout)).await?;
        }
        let mut places = Vec::new();
        for number in 0..subnets {
            let place = layout.subnet(&self.names, number)?;
            if !standing.contains_key(&place.network) {
                let request = shape::subnet_network(&self.names, layout, number, &place);
                self.engine.create_network(request).await?;
            }
            places.push(place);
        }
        Ok(places)
    }

    /// Its id and which life of it this is. It runs, and stands in every subnet.
    async fn holder(&self, making: &Making<'_>, places: &[Place]) -> Result<(String, String), Problem> {
        let name = self.names.router_part(ResourceKind::Holder);
        let body = making.holder()?;
        let wanted = hash(&body);
        let mut found = self.find(&name, ResourceKind::Holder).await?;
        // Another image alone is no reason: the holder only holds.
        if let Some(old) = &found
            && !is_made_so(old, &wanted)
            && !is_running(old)
        {
            self.remove_container(old.id.as_deref().unwrap_or_default()).await?;
            found = None;
        }
        let holder = match found {
            Some(holder) => holder,
            None => self.make(&name, ResourceKind::Holder, body).await?,
        };
        let id = holder.id.clone().unwrap_or_default();
        self.join(&holder, &id, places).await?;
        if !is_running(&holder) {
            self.engine.start(&id).await?;
        }
        let boot = self.must_find(&name, ResourceKind::Holder).await?;
        let boot = started(&boot).ok_or_else(|| ended("holder", &boot))?;
        Ok((id, boot))
    }

    /// Connecting is cheaper before the start, so a new holder is connected first.
    async fn join(&self, holder: &ContainerInspectResponse, id: &str, places: &[Place]) -> Result<(), Problem> {
        let joined: HashSet<&String> = holder
            .network_settings
            .as_ref()
            .and_then(|settings| settings.networks.as_ref())
            .map(|networks| networks.keys().collect())
            .unwrap_or_default();
        for place in places.iter().filter(|place| !joined.contains(&place.network)) {
            self.engine.connect(&place.network, shape::joining(id, place)).await?;
        }
        Ok(())
    }

    /// Firewall or router: as wanted and running, or made anew. The new one is started beside the old one, which goes only then:
    /// rules and gateways stand all the while, and a new router waits for the old one's ports.
    async fn part(&self, kind: ResourceKind, body: ContainerCreateBody) -> Result<ContainerInspectResponse, Problem> {
        let name = self.names.router_part(kind);
        let old = self.find(&name, kind).await?;
        if let Some(found) = old.as_ref().filter(|it| is_running(it) && is_made_so(it, &hash(&body))) {
            return Ok(found.clone());
        }
        let beside = self.names.next(kind);
        if let Some(left) = self.find(&beside, kind).await? {
            self.remove_container(left.id.as_deref().unwrap_or_default()).await?;
        }
        let id = self.make(&beside, kind, body).await?.id.unwrap_or_default();
        let started = match kind {
            ResourceKind::Firewall => self.start_firewall(&id).await,
            _ => self.engine.start(&id).await,
        };
        if let Err(problem) = started {
            self.remove_container(&id).await?;
            return Err(problem);
        }
        if let Some(old) = old {
            self.remove_container(old.id.as_deref().unwrap_or_default()).await?;
        }
        self.engine.rename(&id, &name).await?;
        self.must_find(&name, kind).await
    }

    async fn make(
        &self,
        name: &str,
        kind: ResourceKind,
        body: ContainerCreateBody,
    ) -> Result<ContainerInspectResponse, Problem> {
        self.engine.create(name, body).await?;
        self.must_find(name, kind).await
    }

    async fn must_find(&self, name: &str, kind: ResourceKind) -> Result<ContainerInspectResponse, Problem> {
        let found = self.find(name, kind).await?;
        found.ok_or_else(|| {
            Problem::unavailable(format!("container {name} went away while it was being set up; try again"))
        })
    }
}

/// Addresses of this machine that look like anybody's: the firewall refuses them too, whatever the proxy does. (All others are
/// private or special, and come and go with an engine's networks.)
fn public_of(host: &Network) -> impl Iterator<Item = Net> {
    let special = Bogons::new(&[], &[]);
    host.own().filter(move |net| !special.refuses(net.addr))
}

fn nets(texts: &[String]) -> Result<Vec<Net>, Problem> {
    texts.iter().map(|text| text.parse::<Net>().map_err(|error| Problem::refused(error.to_string()))).collect()
}

fn hash(body: &ContainerCreateBody) -> String {
    body.labels.as_ref().and_then(|labels| labels.get(name::SPEC)).cloned().unwrap_or_default()
}

fn is_made_so(found: &ContainerInspectResponse, hash: &str) -> bool {
    let labels = found.config.as_ref().and_then(|config| config.labels.as_ref());
    labels.and_then(|labels| labels.get(name::SPEC)).is_some_and(|it| it == hash)
}

fn is_running(found: &ContainerInspectResponse) -> bool {
    found.state.as_ref().and_then(|state| state.running) == Some(true)
}

/// When, if it runs.
fn started(found: &ContainerInspectResponse) -> Option<String> {
    is_running(found).then(|| found.state.as_ref()?.started_at.clone()).flatten()
}

fn ended(what: &str, found: &ContainerInspectResponse) -> Problem {
    let code = found.state.as_ref().and_then(|state| state.exit_code).unwrap_or(-1);
    let text =
        format!("the router's {what} ended at once with exit code {code}; is the router's image one of this release?");
    Problem::new(ProblemKind::Engine, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_this_machines_addresses_the_firewall_is_told_the_public_ones() {
        let addresses = ["10.0.0.5", "172.17.0.1", "8.8.4.4", "fd00::1"].map(|text| text.parse().unwrap()).to_vec();
        let host = Network { addresses, ..Network::default() };
        assert_eq!(public_of(&host).map(|net| net.to_string()).collect::<Vec<_>>(), ["8.8.4.4/32"]);
    }
}
