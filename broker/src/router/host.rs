//! The network of this machine: reports on it, a listener in it, and the table that closes it to the subnets.
//!
//! The only containers in the machine's network namespace: short-lived, read-only, of the router's image. Those that report and listen have
//! no capability; the one that loads the table has NET_ADMIN, gets only names of bridges, and reads nothing that a sandbox wrote.
//! `docs/decisions/` explains this exception. Tests: below, and `tests/docker/host.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bollard::models::ContainerCreateBody;
use protocol::broker::{Problem, ProblemKind};
use protocol::host::{FENCED, Network, UNFENCED};

use super::network::Networks;
use super::shape::part;
use super::upstream;
use crate::attach::{Attached, Attachments};
use crate::core::Core;
use crate::helper::Helpers;
use crate::image::Images;
use crate::name::{Names, ResourceKind};

/// User that reports and listens there.
const HOST_UID: u32 = 10004;

/// Requests about this machine's network.
pub struct Host {
    core: Arc<Core>,
    images: Arc<Images>,
    helpers: Arc<Helpers>,
    attachments: Arc<Attachments>,
    networks: Networks,
    /// Start time of the last successful load of the table in this life of the broker.
    loaded: tokio::sync::Mutex<Option<Instant>>,
    /// Number of containers made so far, so that simultaneous requests use different ones.
    made: AtomicU64,
}

impl Host {
    pub fn new(core: Arc<Core>, images: Arc<Images>, helpers: Arc<Helpers>, attachments: Arc<Attachments>) -> Self {
        let networks = Networks::new(core.clone());
        let (loaded, made) = (tokio::sync::Mutex::default(), AtomicU64::new(0));
        Self { core, images, helpers, attachments, networks, loaded, made }
    }

    /// The present network of this machine.
    pub async fn network(&self, reference: &str) -> Result<Network, Problem> {
        let image = self.images.router_image(reference).await?;
        Ok(Network { upstream: upstream::of_this_machine().ok(), ..self.look(&image).await? })
    }

    /// A listener on every address of this machine, which ends with the stream.
    pub async fn listen(&self, reference: &str) -> Result<Attached, Problem> {
        let image = self.images.router_image(reference).await?;
        let mut body = looking(&self.core.names, &image, &["listen".to_owned()])?;
        (body.open_stdin, body.stdin_once) = (Some(true), Some(true));
        body.host_config.get_or_insert_default().auto_remove = Some(true);
        let name = self.core.names.helper(&self.numbered("listen"));
        self.helpers.discard(&name).await?;
        let id = self.core.engine.create(&name, body).await?;
        // Attached before the start, so that no output is lost.
        let started = async {
            let attached = self.attachments.open(&id).await?;
            self.core.engine.start(&id).await?;
            Ok(attached)
        };
        match started.await {
            Ok(attached) => Ok(attached),
            Err(problem) => {
                self.helpers.discard(&name).await?;
                Err(problem)
            }
        }
    }

    pub(super) async fn look(&self, image: &str) -> Result<Network, Problem> {
        let bridges = self.bridges().await?;
        let words: Vec<String> = std::iter::once("report".to_owned()).chain(bridges.keys().cloned()).collect();
        let body = looking(&self.core.names, image, &words)?;
        let said = self.output_of(&self.numbered("report"), body).await?;
        let mut network: Network =
            serde_json::from_str(&said).map_err(|_| wrong("did not tell of its network", &said))?;
        // A bridge's name changes when its network is recreated, so results are keyed by the network's name.
        let own = std::mem::take(&mut network.rp_filter).into_iter();
        network.rp_filter = own.filter_map(|(bridge, value)| Some((bridges.get(&bridge)?.clone(), value))).collect();
        Ok(network)
    }

    pub(super) async fn fence(&self, image: &str) -> Result<(), Problem> {
        let asked = Instant::now();
        let mut loaded = self.loaded.lock().await;
        if loaded.is_some_and(|began| began >= asked) {
            return Ok(());
        }
        let began = Instant::now();
        let bridges = self.bridges().await?;
        let words =
            ["fence".to_owned(), table(&self.core.names)].into_iter().chain(bridges.into_keys()).collect::<Vec<_>>();
        let said = self.output_of("fence", loading(&self.core.names, image, &words)?).await?;
        if said.trim() != FENCED {
            return Err(wrong("did not take the table that closes it to the subnets, so no sandbox is started", &said));
        }
        *loaded = Some(began);
        Ok(())
    }

    /// Removes the table and gives its name; only when no subnet is left.
    pub async fn unfence(&self, image: &str) -> Result<String, Problem> {
        let _alone = self.loaded.lock().await;
        let table = table(&self.core.names);
        let words = ["unfence".to_owned(), table.clone()];
        let said = self.output_of("fence", loading(&self.core.names, image, &words)?).await?;
        if said.trim() != UNFENCED {
            return Err(wrong("did not let go of our table", &said));
        }
        Ok(format!("table {table}"))
    }

    /// Output of a helper in this machine's network. One that the engine cannot start is no verdict on what is to be started after it.
    async fn output_of(&self, name: &str, body: ContainerCreateBody) -> Result<String, Problem> {
        self.helpers.thrown_away(name, body).await.map_err(|problem| match problem.kind {
            ProblemKind::Refused => Problem::new(ProblemKind::Engine, problem.text),
            _ => problem,
        })
    }

    /// This installation's subnets: the interface of each bridge, and the network's name.
    async fn bridges(&self) -> Result<BTreeMap<String, String>, Problem> {
        let networks = self.networks.own().await?;
        let subnets =
            networks.into_iter().filter(|(_, it)| self.core.names.owns(it.labels.as_ref(), ResourceKind::Subnet));
        let named = |id: Option<String>| {
            // Docker's default name of a network's bridge.
            let id = id.filter(|id| id.len() >= 12)?;
            Some(format!("br-{}", &id[..12]))
        };
        let found = subnets.map(|(name, network)| named(network.id).map(|bridge| (bridge, name)));
        let found: Option<BTreeMap<String, String>> = found.collect();
        found.ok_or_else(|| Problem::new(ProblemKind::Engine, "the engine has a network without an id"))
    }

    fn numbered(&self, what: &str) -> String {
        format!("{what}-{}", self.made.fetch_add(1, Ordering::Relaxed))
    }
}

fn table(names: &Names) -> String {
    format!("caisson-{}", names.installation())
}

fn wrong(what: &str, said: &str) -> Problem {
    let said: String = said.trim().chars().take(400).collect();
    let text = format!(
        "this machine {what}; `caisson-router host` said {said:?}: is the router's image one of this release, and does the \
         kernel have nf_tables?"
    );
    Problem::new(ProblemKind::Engine, text)
}

/// A container without any capability.
fn looking(names: &Names, image: &str, words: &[String]) -> Result<ContainerCreateBody, Problem> {
    on_host(names, image, &format!("{HOST_UID}:{HOST_UID}"), words)
}

/// A container with NET_ADMIN.
fn loading(names: &Names, image: &str, words: &[String]) -> Result<ContainerCreateBody, Problem> {
    let mut body = on_host(names, image, "0:0", words)?;
    let host = body.host_config.get_or_insert_default();
    host.cap_add = Some(vec!["NET_ADMIN".into()]);
    // The engine's own profile, because ours blocks the socket family through which rules are loaded.
    host.security_opt = Some(vec!["no-new-privileges".into()]);
    Ok(body)
}

fn on_host(names: &Names, image: &str, user: &str, words: &[String]) -> Result<ContainerCreateBody, Problem> {
    let words: Vec<String> = std::iter::once("host".to_owned()).chain(words.iter().cloned()).collect();
    let mut body = part(names, image, ResourceKind::Helper, user, &words, 64 << 20, 16)?;
    let host = body.host_config.get_or_insert_default();
    host.network_mode = Some("host".into());
    // An engine with userns-remap refuses the host's network without the host's user namespace; otherwise this has no effect.
    host.userns_mode = Some("host".into());
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_this_machine_they_have_its_network_and_one_of_them_one_capability() {
        let names = Names::new("one").unwrap();
        let bodies = [looking, loading].map(|make| make(&names, "sha256:aa", &["x".to_owned()]).unwrap());
        for body in &bodies {
            let host = body.host_config.as_ref().unwrap();
            assert_eq!((host.network_mode.as_deref(), host.privileged), (Some("host"), Some(false)));
            assert_eq!((host.readonly_rootfs, host.cap_drop.clone()), (Some(true), Some(vec!["ALL".to_owned()])));
            assert!(host.binds.is_none() && host.mounts.is_none() && host.devices.is_none());
            assert!(host.pid_mode.is_none() && host.ipc_mode.is_none() && host.uts_mode.is_none());
            assert_eq!(body.entrypoint.as_ref().unwrap()[1], "host", "one of its words, whatever the image starts");
        }
        let caps = bodies.map(|body| body.host_config.unwrap().cap_add);
        assert_eq!(caps, [None, Some(vec!["NET_ADMIN".to_owned()])]);
    }
}
