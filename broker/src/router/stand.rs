//! The router on an engine: networks, holder, firewall and router container. Everything may be repeated; what exists in the right form is
//! kept. Tests: `tests/docker/`.
//!
//! A restart of firewall or router changes no network. A restarted holder leaves the others in a dead namespace although the engine reports
//! "running"; their labels name the holder's life, so they are recreated.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use bollard::models::{ContainerCreateBody, ContainerInspectResponse};
use protocol::broker::{Problem, ProblemKind, RUNNER, RouterInfo, RouterSpec, Subnet};
use protocol::router::Net;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::host::Host;
use super::network::Networks;
use super::shape::{self, Making, ROUTER_UID};
use super::{WayOut, firewall, pool, upstream};
use crate::attach::{Attached, Attachments};
use crate::core::Core;
use crate::hardening;
use crate::helper::Helpers;
use crate::image::Images;
use crate::name::{self, MAX_SUBNETS, ResourceKind};
use crate::subnet::{ContainerNetwork, Layout};

/// Longest plan for the probe, in bytes.
const LONGEST: usize = 64 << 10;

/// The router made of real containers.
pub struct Router {
    core: Arc<Core>,
    images: Arc<Images>,
    helpers: Arc<Helpers>,
    attachments: Arc<Attachments>,
    host: Arc<Host>,
    networks: Networks,
    /// Held by the one request that may change the router.
    lock: Arc<Mutex<()>>,
}

#[async_trait]
impl WayOut for Router {
    async fn ensure(&self, spec: &RouterSpec) -> Result<RouterInfo, Problem> {
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
        let (mut private, public) = (nets(&spec.private)?, nets(&self.core.settings.public_ranges)?);
        let _alone = self.lock.clone().lock_owned().await;
        let image = self.images.router_image(&spec.image).await?;
        let host = self.host.look(&image).await?;
        private.extend(host.public());
        let layout =
            pool::layout(self.core.engine.as_ref(), &self.networks, spec.pool.as_deref(), &host.routes).await?;
        let places = self.networks.ensure(&layout, spec.subnets).await?;
        self.host.fence(&image).await?;
        let making = Making {
            names: &self.core.names,
            layout: &layout,
            image: &image,
            upstream: &upstream,
            private: &private,
            public: &public,
            ipv6: self.core.host().await?.ipv6,
        };
        let (holder, boot) = self.holder(&making, &places).await?;
        self.part(ResourceKind::Firewall, making.firewall(&holder, &boot)?).await?;
        let router = self.part(ResourceKind::Router, making.router(&holder, &boot)?).await?;
        let subnet = |(number, place): (u32, &ContainerNetwork)| Subnet {
            number,
            cidr: place.cidr.to_string(),
            gateway: place.gateway.to_string(),
        };
        let subnets = (0..).zip(&places).map(subnet).collect();
        Ok(RouterInfo { pool: layout.whole().to_string(), subnets, boot: started(&router) })
    }

    async fn runs(&self) -> Result<bool, Problem> {
        // While a part is replaced there is none of its name for a moment.
        let _alone = self.lock.clone().lock_owned().await;
        for kind in [ResourceKind::Holder, ResourceKind::Firewall, ResourceKind::Router] {
            let found = self.core.find(&self.core.names.router_part(kind), kind).await?;
            if !found.as_ref().is_some_and(is_running) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn restart(&self) -> Result<(), Problem> {
        let _alone = self.lock.clone().lock_owned().await;
        let id = self.router_id().await?;
        self.core.engine.restart(&id).await
    }

    async fn stop(&self) -> Result<(), Problem> {
        let _alone = self.lock.clone().lock_owned().await;
        let id = self.router_id().await?;
        self.core.engine.stop(&id).await
    }

    async fn attach(&self) -> Result<Attached, Problem> {
        let name = self.core.names.router_part(ResourceKind::Router);
        let found = self.core.find(&name, ResourceKind::Router).await?;
        let running = found.as_ref().and_then(|it| it.state.as_ref()?.running) == Some(true);
        match found.and_then(|it| it.id) {
            Some(id) if running => self.attachments.open(&id).await,
            _ => Err(Problem::new(ProblemKind::Conflict, "the router does not run; set it up first")),
        }
    }

    async fn probe(&self, image: &str, plan: &str) -> Result<String, Problem> {
        if plan.len() > LONGEST {
            return Err(Problem::refused(format!("a plan of {} bytes; at most {LONGEST} are taken", plan.len())));
        }
        let holder = self
            .core
            .find(&self.core.names.router_part(ResourceKind::Holder), ResourceKind::Holder)
            .await?
            .and_then(|it| it.id);
        let holder =
            holder.ok_or_else(|| Problem::new(ProblemKind::NotFound, "there is no router yet; set it up first"))?;
        let (image, runner) = self.images.container_image(image).await?;
        let fit = self.core.fittings(&image, runner, None).await?;
        let mut body = hardening::throw_away(&self.core.names, &fit, &[RUNNER, "probe", "try", plan])?;
        body.user = Some(format!("{ROUTER_UID}:{ROUTER_UID}"));
        // The namespace's owner sets host name, resolver and sysctls.
        body.hostname = None;
        let host = body.host_config.get_or_insert_default();
        host.network_mode = Some(format!("container:{holder}"));
        (host.sysctls, host.dns, host.dns_options, host.dns_search, host.extra_hosts) = (None, None, None, None, None);
        self.helpers.thrown_away("outside", body).await
    }

    async fn place(&self, number: u32) -> Result<ContainerNetwork, Problem> {
        let absent = || {
            let text =
                format!("there is no subnet {number} yet: set up the router with at least {} subnets", number + 1);
            Problem::new(ProblemKind::NotFound, text)
        };
        let network = self.core.engine.network(&self.core.names.subnet(number)).await?;
        let labels = network.ok_or_else(absent)?.labels;
        if !self.core.names.owns(labels.as_ref(), ResourceKind::Subnet) {
            return Err(Problem::refused(format!(
                "network {} is not this installation's",
                self.core.names.subnet(number)
            )));
        }
        let pool = labels.unwrap_or_default().remove(name::POOL).unwrap_or_default();
        Layout::parse(&pool)?.subnet(&self.core.names, number)
    }

    async fn fenced(&self) -> Result<(), Problem> {
        let firewall = {
            // While it is replaced there is none of its name for a moment.
            let _alone = self.lock.lock().await;
            self.core.find(&self.core.names.router_part(ResourceKind::Firewall), ResourceKind::Firewall).await?
        };
        let absent =
            || Problem::new(ProblemKind::NotFound, "there is no way out to stand on yet; set up the router first");
        self.host.fence(&firewall.and_then(|it| it.image).ok_or_else(absent)?).await
    }

    async fn alone(&self) -> OwnedMutexGuard<()> {
        self.lock.clone().lock_owned().await
    }

    async fn table_image(&self) -> Result<Option<String>, Problem> {
        for kind in [ResourceKind::Firewall, ResourceKind::Holder] {
            if let Some(found) = self.core.find(&self.core.names.router_part(kind), kind).await? {
                return Ok(found.image);
            }
        }
        for reference in &self.core.settings.router_images {
            if let Some(image) = self.images.image(reference).await? {
                return Ok(Some(image.id));
            }
        }
        Ok(None)
    }

    async fn remove(&self) -> Result<Vec<String>, Problem> {
        self.core.remove_kinds(&[ResourceKind::Router, ResourceKind::Firewall, ResourceKind::Holder]).await
    }

    async fn remove_networks(&self, image: Option<&str>) -> Result<Vec<String>, Problem> {
        let (mut removed, all) = self.networks.remove(ResourceKind::Subnet).await?;
        // The outer network goes after the table: as long as it stands, whoever goes on after a failure removes the table too.
        let stands = self.networks.own().await?.contains_key(&self.core.names.outer());
        let mut table = None;
        if all && (stands || !removed.is_empty()) {
            if let Some(image) = image {
                table = Some(self.host.unfence(image).await?);
            }
            removed.extend(self.networks.remove(ResourceKind::Outer).await?.0);
        }
        removed.sort();
        removed.extend(table);
        Ok(removed)
    }

    async fn sweep(&self, image: Option<&str>) -> Result<Vec<String>, Problem> {
        let holder = self.core.names.router_part(ResourceKind::Holder);
        if self.core.find(&holder, ResourceKind::Holder).await?.is_some() {
            return Ok(Vec::new());
        }
        let mut removed = self.core.remove_kinds(&[ResourceKind::Firewall, ResourceKind::Router]).await?;
        removed.extend(self.remove_networks(image).await?);
        Ok(removed)
    }
}

impl Router {
    pub fn new(
        core: &Arc<Core>,
        images: &Arc<Images>,
        helpers: &Arc<Helpers>,
        attachments: &Arc<Attachments>,
        host: &Arc<Host>,
    ) -> Self {
        let networks = Networks::new(core.clone());
        let (core, images, helpers) = (core.clone(), images.clone(), helpers.clone());
        let (attachments, host, lock) = (attachments.clone(), host.clone(), Arc::default());
        Self { core, images, helpers, attachments, host, networks, lock }
    }

    async fn router_id(&self) -> Result<String, Problem> {
        let found = self
            .core
            .find(&self.core.names.router_part(ResourceKind::Router), ResourceKind::Router)
            .await?
            .and_then(|it| it.id);
        found.ok_or_else(|| Problem::new(ProblemKind::NotFound, "there is no router yet; set it up first"))
    }

    /// Creates or keeps the holder, running and attached to every subnet; gives its id and life.
    async fn holder(&self, making: &Making<'_>, places: &[ContainerNetwork]) -> Result<(String, String), Problem> {
        let name = self.core.names.router_part(ResourceKind::Holder);
        let body = making.holder()?;
        let wanted = hash(&body);
        let mut found = self.core.find(&name, ResourceKind::Holder).await?;
        // Another image alone is no reason to recreate it, because it does nothing.
        if let Some(old) = &found
            && !is_made_so(old, &wanted)
            && !is_running(old)
        {
            self.core.remove_container(old.id.as_deref().unwrap_or_default()).await?;
            found = None;
        }
        let holder = match found {
            Some(holder) => holder,
            None => self.make(&name, ResourceKind::Holder, body.clone()).await?,
        };
        let mut id = holder.id.clone().unwrap_or_default();
        match self.joined_and_running(&holder, &id, places).await {
            // A network that it was attached to was removed while it did not run, so that it can never be started again.
            Err(problem) if problem.kind == ProblemKind::NotFound && !is_running(&holder) => {
                self.core.remove_container(&id).await?;
                let holder = self.make(&name, ResourceKind::Holder, body).await?;
                id = holder.id.clone().unwrap_or_default();
                self.joined_and_running(&holder, &id, places).await?;
            }
            joined => joined?,
        }
        let boot = self.must_find(&name, ResourceKind::Holder).await?;
        let boot = started(&boot).ok_or_else(|| ended("holder", &boot))?;
        Ok((id, boot))
    }

    /// Attaches the holder to every subnet, and starts it; a new one is attached before its start, which is cheaper.
    async fn joined_and_running(
        &self,
        holder: &ContainerInspectResponse,
        id: &str,
        places: &[ContainerNetwork],
    ) -> Result<(), Problem> {
        let joined: HashSet<&String> = holder
            .network_settings
            .as_ref()
            .and_then(|settings| settings.networks.as_ref())
            .map(|networks| networks.keys().collect())
            .unwrap_or_default();
        for place in places.iter().filter(|place| !joined.contains(&place.network)) {
            self.core.engine.connect(&place.network, shape::joining(id, place)).await?;
        }
        if is_running(holder) { Ok(()) } else { self.core.engine.start(id).await }
    }

    /// Keeps firewall or router if it is right and runs, otherwise recreates it. The new one is started before the old one is removed, so
    /// that rules and gateways stay in place; a new router waits for the old one's ports.
    async fn part(&self, kind: ResourceKind, body: ContainerCreateBody) -> Result<ContainerInspectResponse, Problem> {
        let name = self.core.names.router_part(kind);
        let old = self.core.find(&name, kind).await?;
        if let Some(found) = old.as_ref().filter(|it| is_running(it) && is_made_so(it, &hash(&body))) {
            return Ok(found.clone());
        }
        let beside = self.core.names.next(kind);
        if let Some(left) = self.core.find(&beside, kind).await? {
            self.core.remove_container(left.id.as_deref().unwrap_or_default()).await?;
        }
        let id = self.make(&beside, kind, body).await?.id.unwrap_or_default();
        let started = match kind {
            ResourceKind::Firewall => firewall::start(self.core.engine.as_ref(), &id).await,
            _ => self.core.engine.start(&id).await,
        };
        if let Err(problem) = started {
            self.core.remove_container(&id).await?;
            return Err(problem);
        }
        if let Some(old) = old {
            self.core.remove_container(old.id.as_deref().unwrap_or_default()).await?;
        }
        self.core.engine.rename(&id, &name).await?;
        self.must_find(&name, kind).await
    }

    async fn make(
        &self,
        name: &str,
        kind: ResourceKind,
        body: ContainerCreateBody,
    ) -> Result<ContainerInspectResponse, Problem> {
        self.core.engine.create(name, body).await?;
        self.must_find(name, kind).await
    }

    async fn must_find(&self, name: &str, kind: ResourceKind) -> Result<ContainerInspectResponse, Problem> {
        let found = self.core.find(name, kind).await?;
        found.ok_or_else(|| {
            Problem::unavailable(format!("container {name} went away while it was being set up; try again"))
        })
    }
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

/// Start time, if it runs.
fn started(found: &ContainerInspectResponse) -> Option<String> {
    is_running(found).then(|| found.state.as_ref()?.started_at.clone()).flatten()
}

fn ended(what: &str, found: &ContainerInspectResponse) -> Problem {
    let code = found.state.as_ref().and_then(|state| state.exit_code).unwrap_or(-1);
    let text =
        format!("the router's {what} ended at once with exit code {code}; is the router's image one of this release?");
    Problem::new(ProblemKind::Engine, text)
}
