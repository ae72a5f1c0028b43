//! Creates the parts that answer requests, each with the parts that it needs. Tests: `tests/docker/`.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use protocol::broker::Problem;

use crate::Settings;
use crate::attach::Attachments;
use crate::container::Containers;
use crate::core::Core;
use crate::disk::Disks;
use crate::engine::Engine;
use crate::engine::docker::DockerEngine;
use crate::helper::Helpers;
use crate::image::Images;
use crate::mirror::Mirrors;
use crate::reap::Reaper;
use crate::router::WayOut;
use crate::router::host::Host;
use crate::router::stand::Router;
use crate::supply::Supply;

/// The parts that answer requests.
pub struct Service {
    pub core: Arc<Core>,
    pub images: Arc<Images>,
    pub containers: Arc<Containers>,
    pub mirrors: Arc<Mirrors>,
    pub host: Arc<Host>,
    pub router: Arc<dyn WayOut>,
    pub reaper: Reaper,
    /// Whether this life of the broker made anything.
    pub made: AtomicBool,
}

impl Service {
    /// Reads the runner; does not need the engine.
    pub fn new(settings: Settings) -> Result<Self, Problem> {
        let engine = Arc::new(DockerEngine::new(&settings.engine));
        Self::on(engine, settings)
    }

    /// As [`Service::new`], on this engine.
    pub fn on(engine: Arc<dyn Engine>, settings: Settings) -> Result<Self, Problem> {
        let parts = BrokerParts::new(engine, settings)?;
        let host = Arc::new(parts.host());
        let router = Router::new(&parts.core, &parts.images, &parts.helpers, &parts.attachments, &host);
        Ok(parts.service(host, Arc::new(router)))
    }

    /// As [`Service::on`], with this way out.
    #[cfg(test)]
    pub fn beside(engine: Arc<dyn Engine>, settings: Settings, router: Arc<dyn WayOut>) -> Result<Self, Problem> {
        let parts = BrokerParts::new(engine, settings)?;
        let host = Arc::new(parts.host());
        Ok(parts.service(host, router))
    }
}

/// What both router and containers need.
struct BrokerParts {
    core: Arc<Core>,
    helpers: Arc<Helpers>,
    images: Arc<Images>,
    attachments: Arc<Attachments>,
}

impl BrokerParts {
    fn new(engine: Arc<dyn Engine>, settings: Settings) -> Result<Self, Problem> {
        let core = Arc::new(Core::new(engine, settings)?);
        let helpers = Arc::new(Helpers::new(core.clone()));
        let supply = Supply::new(core.clone(), helpers.clone());
        let images = Arc::new(Images::new(core.clone(), helpers.clone(), supply));
        let attachments = Arc::new(Attachments::new(core.clone()));
        Ok(Self { core, helpers, images, attachments })
    }

    fn host(&self) -> Host {
        Host::new(self.core.clone(), self.images.clone(), self.helpers.clone(), self.attachments.clone())
    }

    fn service(self, host: Arc<Host>, router: Arc<dyn WayOut>) -> Service {
        let Self { core, helpers, images, attachments } = self;
        let mirrors = Arc::new(Mirrors::new(core.clone()));
        let containers = Arc::new(Containers {
            core: core.clone(),
            images: images.clone(),
            disks: Disks::new(core.clone(), helpers.clone()),
            helpers,
            mirrors: mirrors.clone(),
            attachments,
            router: router.clone(),
        });
        let reaper = Reaper { core: core.clone(), containers: containers.clone(), router: router.clone() };
        Service { core, images, containers, mirrors, host, router, reaper, made: AtomicBool::new(false) }
    }
}
