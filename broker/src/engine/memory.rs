//! An engine in memory, which records what exists but runs nothing. Any of its calls can fail before or after it took effect, to test every
//! place where a request may be interrupted.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bollard::models::{
    ContainerConfig, ContainerCreateBody, ContainerInspectResponse, ContainerState, ContainerStateStatusEnum,
    ContainerSummary, ContainerSummaryNetworkSettings, EndpointSettings, EventMessage, ImageInspect, Network,
    NetworkConnectRequest, NetworkCreateRequest, NetworkInspect, NetworkSettings, SystemInfo, SystemVersion, Volume,
    VolumeCreateRequest,
};
use futures_util::stream;
use protocol::broker::{Problem, ProblemKind};

use super::{Engine, Filters, Output, Streams};

type Labels = HashMap<String, String>;

struct Container {
    name: String,
    body: ContainerCreateBody,
    status: ContainerStateStatusEnum,
    networks: HashMap<String, EndpointSettings>,
}

#[derive(Default)]
struct State {
    made: u64,
    calls: usize,
    /// By id.
    containers: BTreeMap<String, Container>,
    /// By name, each with its content as an archive.
    volumes: BTreeMap<String, (Labels, Vec<u8>)>,
    /// By name.
    networks: BTreeMap<String, Network>,
    /// The machine's table, while it is loaded.
    table: Option<String>,
    /// What it says of itself.
    info: SystemInfo,
    /// Error with which it fails to start any container.
    unstartable: Option<Problem>,
}

/// Point of a call's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Nothing was done.
    Before,
    /// It took effect, and the answer was lost.
    After,
}

/// An [`Engine`] for tests.
pub struct MemoryEngine {
    state: Mutex<State>,
    /// Number of the call that fails, counted from 0, and how.
    cut: Option<(usize, Cut)>,
    /// State of the random generator of failures, used instead of `cut`.
    chance: Option<Mutex<u64>>,
    /// Output of containers, by the last word of their command.
    says: HashMap<&'static str, String>,
    /// Name of a container or volume that the engine fails to remove.
    stuck: Mutex<Option<String>>,
}

impl MemoryEngine {
    /// `cut`: the number of the call that fails, and when; `says`: what a container's program prints, by a word of its command.
    pub fn new(cut: Option<(usize, Cut)>, says: HashMap<&'static str, String>) -> Self {
        Self { state: Mutex::default(), cut, chance: None, says, stuck: Mutex::default() }
    }

    /// One call in 32 fails, half of these after taking effect; the same calls for the same seed.
    pub fn unsteady(seed: u64, says: HashMap<&'static str, String>) -> Self {
        Self { chance: Some(Mutex::new(seed)), ..Self::new(None, says) }
    }

    fn cut_now(&self, number: usize) -> Option<Cut> {
        if let Some(chance) = &self.chance {
            let mut seed = chance.lock().unwrap_or_else(PoisonError::into_inner);
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            return match *seed >> 58 {
                0 => Some(Cut::Before),
                1 => Some(Cut::After),
                _ => None,
            };
        }
        self.cut.filter(|(at, _)| *at == number).map(|(_, how)| how)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one call, and makes it fail if it is the chosen one.
    fn call<T>(&self, work: impl FnOnce(&mut State) -> Result<T, Problem>) -> Result<T, Problem> {
        let mut state = self.state();
        let number = state.calls;
        state.calls += 1;
        let lost = || Problem::unavailable(format!("call {number} was cut"));
        match self.cut_now(number) {
            Some(Cut::Before) => Err(lost()),
            Some(Cut::After) => work(&mut state).and_then(|_| Err(lost())),
            None => work(&mut state),
        }
    }

    /// Whether the failing call was reached.
    pub fn was_cut(&self) -> bool {
        self.cut.is_some_and(|(at, _)| self.state().calls > at)
    }

    /// Makes the removal of the container or volume of this name fail, as where its files are busy.
    pub fn set_stuck(&self, name: Option<&str>) {
        *self.stuck.lock().unwrap_or_else(PoisonError::into_inner) = name.map(str::to_owned);
    }

    fn is_stuck(&self, name: &str) -> bool {
        self.stuck.lock().unwrap_or_else(PoisonError::into_inner).as_deref() == Some(name)
    }

    /// Makes it fail to start any container with this error, or succeed.
    pub fn set_unstartable(&self, why: Option<Problem>) {
        self.state().unstartable = why;
    }

    /// Ends all containers, as a restart of the engine does.
    pub fn end_all(&self) {
        let ended = ContainerStateStatusEnum::EXITED;
        self.state().containers.values_mut().for_each(|it| it.status = ended);
    }

    /// Goes on with another configuration, as after a restart with one.
    pub fn become_another(&self, info: SystemInfo) {
        self.state().info = info;
    }

    /// Removes every network, as `docker network prune` does where no container runs.
    pub fn prune_networks(&self) {
        self.state().networks.clear();
    }

    /// Removes every volume that no container mounts, as `docker volume prune` does.
    pub fn prune_volumes(&self) {
        let mut state = self.state();
        let used: Vec<String> = state.containers.values().flat_map(|it| mounted(&it.body)).collect();
        state.volumes.retain(|name, _| used.contains(name));
    }

    /// Names of the volumes in which something was put.
    pub fn filled(&self) -> Vec<String> {
        let state = self.state();
        state.volumes.iter().filter(|(_, (_, tar))| !tar.is_empty()).map(|(name, _)| name.clone()).collect()
    }

    /// Names and kinds of all containers, volumes and networks, and the machine's table.
    pub fn all(&self) -> Vec<String> {
        let state = self.state();
        let containers = state.containers.values().map(|it| format!("container {} {}", it.name, it.status));
        let volumes = state.volumes.keys().map(|name| format!("volume {name}"));
        let networks = state.networks.keys().map(|name| format!("network {name}"));
        let table = state.table.iter().map(|name| format!("table {name}"));
        let mut all: Vec<String> = containers.chain(volumes).chain(networks).chain(table).collect();
        all.sort();
        all
    }
}

impl State {
    fn one(&mut self, name: &str) -> Result<&mut Container, Problem> {
        let found = self.containers.iter_mut().find(|(id, it)| *id == name || it.name == name);
        found.map(|(_, it)| it).ok_or_else(|| gone(name))
    }

    fn set(&mut self, id: &str, status: ContainerStateStatusEnum) -> Result<(), Problem> {
        self.one(id).map(|it| it.status = status)
    }

    /// Attaches to networks, whose ids the container keeps even if others of these names take their place.
    fn attached(&self, networks: HashMap<String, EndpointSettings>) -> HashMap<String, EndpointSettings> {
        let attached = |(name, it): (String, EndpointSettings)| {
            let network_id = self.networks.get(&name).and_then(|network| network.id.clone());
            (name, EndpointSettings { network_id, ..it })
        };
        networks.into_iter().map(attached).collect()
    }

    /// The volume mounted at this directory of a container.
    fn volume_at(&self, id: &str, directory: &str) -> Option<String> {
        let mounts = self.containers.get(id)?.body.host_config.as_ref()?.mounts.as_ref()?;
        mounts.iter().find(|it| it.target.as_deref() == Some(directory))?.source.clone()
    }
}

/// Names of the volumes that a container of this configuration mounts.
fn mounted(body: &ContainerCreateBody) -> Vec<String> {
    let mounts = body.host_config.clone().unwrap_or_default().mounts.unwrap_or_default();
    mounts.into_iter().filter_map(|mount| mount.source).collect()
}

fn gone(name: &str) -> Problem {
    Problem::new(ProblemKind::NotFound, format!("no such thing: {name}"))
}

fn taken(name: &str) -> Problem {
    Problem::new(ProblemKind::Conflict, format!("{name} is in use"))
}

fn busy() -> Problem {
    Problem::new(ProblemKind::Engine, "its files are busy")
}

fn fits(filters: &Filters, labels: Option<&Labels>) -> bool {
    filters.get("label").into_iter().flatten().all(|wanted| {
        let (key, value) = wanted.split_once('=').unwrap_or((wanted, ""));
        labels.and_then(|labels| labels.get(key)).is_some_and(|it| it == value)
    })
}

fn runs(it: &Container) -> bool {
    matches!(it.status, ContainerStateStatusEnum::RUNNING | ContainerStateStatusEnum::PAUSED)
}

fn described(id: &str, it: &Container) -> ContainerInspectResponse {
    let running = runs(it);
    ContainerInspectResponse {
        id: Some(id.to_owned()),
        name: Some(format!("/{}", it.name)),
        image: it.body.image.clone(),
        config: Some(ContainerConfig { labels: it.body.labels.clone(), ..Default::default() }),
        host_config: it.body.host_config.clone(),
        state: Some(ContainerState {
            status: Some(it.status),
            running: Some(running),
            started_at: running.then(|| "2026-01-01T00:00:00Z".to_owned()),
            ..Default::default()
        }),
        network_settings: Some(NetworkSettings { networks: Some(it.networks.clone()), ..Default::default() }),
        ..Default::default()
    }
}

fn shown(name: &str, labels: &Labels) -> Volume {
    Volume {
        name: name.to_owned(),
        mountpoint: format!("/volumes/{name}"),
        labels: labels.clone(),
        ..Default::default()
    }
}

#[async_trait]
impl Engine for MemoryEngine {
    async fn version(&self) -> Result<SystemVersion, Problem> {
        self.call(|_| Ok(SystemVersion::default()))
    }

    async fn info(&self) -> Result<SystemInfo, Problem> {
        self.call(|state| Ok(state.info.clone()))
    }

    async fn image(&self, reference: &str) -> Result<Option<ImageInspect>, Problem> {
        let id = if reference.starts_with("sha256:") { reference.to_owned() } else { format!("sha256:{reference}") };
        self.call(|_| Ok(Some(ImageInspect { id: Some(id), ..Default::default() })))
    }

    async fn container(&self, name: &str) -> Result<Option<ContainerInspectResponse>, Problem> {
        self.call(|state| {
            let found = state.containers.iter().find(|(id, it)| *id == name || it.name == name);
            Ok(found.map(|(id, it)| described(id, it)))
        })
    }

    async fn containers(&self, filters: &Filters) -> Result<Vec<ContainerSummary>, Problem> {
        self.call(|state| {
            let found = state.containers.iter().filter(|(_, it)| fits(filters, it.body.labels.as_ref()));
            let summary = |(id, it): (&String, &Container)| ContainerSummary {
                id: Some(id.clone()),
                names: Some(vec![format!("/{}", it.name)]),
                labels: it.body.labels.clone(),
                network_settings: Some(ContainerSummaryNetworkSettings { networks: Some(it.networks.clone()) }),
                ..Default::default()
            };
            Ok(found.map(summary).collect())
        })
    }

    async fn create(&self, name: &str, body: ContainerCreateBody) -> Result<String, Problem> {
        self.call(|state| {
            if state.one(name).is_ok() {
                return Err(taken(name));
            }
            state.made += 1;
            let id = format!("id-{:03}", state.made);
            let named = body.networking_config.as_ref().and_then(|it| it.endpoints_config.clone());
            let mut named = named.unwrap_or_default();
            let mode = body.host_config.as_ref().and_then(|host| host.network_mode.clone());
            if let Some(mode) = mode.filter(|mode| state.networks.contains_key(mode)) {
                named.entry(mode).or_default();
            }
            // The engine creates a volume that is not there, without labels and empty.
            for volume in mounted(&body) {
                state.volumes.entry(volume).or_default();
            }
            let (status, networks) = (ContainerStateStatusEnum::CREATED, state.attached(named));
            let container = Container { name: name.to_owned(), body, status, networks };
            state.containers.insert(id.clone(), container);
            Ok(id)
        })
    }

    async fn start(&self, id: &str) -> Result<(), Problem> {
        self.call(|state| {
            if let Some(why) = &state.unstartable {
                return Err(why.clone());
            }
            let networks = state.one(id)?.networks.clone();
            // Those of another router's networks are not known here.
            let is_gone = |(name, it): &(&String, &EndpointSettings)| {
                it.network_id.is_some() && state.networks.get(*name).is_none_or(|network| network.id != it.network_id)
            };
            if let Some((name, _)) = networks.iter().find(is_gone) {
                return Err(gone(name));
            }
            state.set(id, ContainerStateStatusEnum::RUNNING)?;
            // What the router's program does to the machine: `host fence TABLE …`, `host unfence TABLE`.
            let words = state.one(id)?.body.entrypoint.clone().unwrap_or_default();
            match words.get(1..).unwrap_or_default() {
                [host, word, table, ..] if host == "host" && word == "fence" => state.table = Some(table.clone()),
                [host, word, ..] if host == "host" && word == "unfence" => state.table = None,
                _ => {}
            }
            Ok(())
        })
    }

    async fn stop(&self, id: &str) -> Result<(), Problem> {
        self.call(|state| state.set(id, ContainerStateStatusEnum::EXITED))
    }

    async fn restart(&self, id: &str) -> Result<(), Problem> {
        self.start(id).await
    }

    async fn pause(&self, id: &str) -> Result<(), Problem> {
        self.call(|state| state.set(id, ContainerStateStatusEnum::PAUSED))
    }

    async fn unpause(&self, id: &str) -> Result<(), Problem> {
        self.start(id).await
    }

    async fn rename(&self, id: &str, name: &str) -> Result<(), Problem> {
        self.call(|state| match state.one(name) {
            Ok(_) => Err(taken(name)),
            Err(_) => state.one(id).map(|it| it.name = name.to_owned()),
        })
    }

    async fn remove(&self, id: &str) -> Result<(), Problem> {
        self.call(|state| {
            if state.one(id).is_ok_and(|found| self.is_stuck(&found.name)) {
                return Err(busy());
            }
            state.containers.remove(id).map(drop).ok_or_else(|| gone(id))
        })
    }

    async fn attach(&self, id: &str, _input: bool) -> Result<Streams, Problem> {
        self.call(|state| {
            let body = &state.one(id)?.body;
            let words = body.entrypoint.iter().chain(&body.cmd).flatten();
            let said: Vec<Output> = words
                .filter_map(|word| self.says.get(word.as_str()))
                .map(|said| Output::Stdout(said.clone().into_bytes()))
                .collect();
            Ok(Streams { input: Box::pin(tokio::io::sink()), output: Box::pin(stream::iter(said)) })
        })
    }

    async fn put(&self, id: &str, directory: &str, tar: Vec<u8>) -> Result<(), Problem> {
        self.call(|state| {
            state.one(id)?;
            if let Some(volume) = state.volume_at(id, directory) {
                state.volumes.get_mut(&volume).ok_or_else(|| gone(&volume))?.1 = tar;
            }
            Ok(())
        })
    }

    async fn get(&self, id: &str, path: &str, _most: usize) -> Result<Option<Vec<u8>>, Problem> {
        self.call(|state| {
            let (directory, _) = path.rsplit_once('/').unwrap_or_default();
            let held = state.volume_at(id, directory).and_then(|volume| state.volumes.get(&volume));
            Ok(held.map(|(_, tar)| tar.clone()).filter(|tar| !tar.is_empty()))
        })
    }

    async fn orders(&self, _id: &str) -> Result<Vec<EventMessage>, Problem> {
        self.call(|_| Ok(Vec::new()))
    }

    async fn create_volume(&self, volume: VolumeCreateRequest) -> Result<Volume, Problem> {
        self.call(|state| {
            let (name, labels) = (volume.name.unwrap_or_default(), volume.labels.unwrap_or_default());
            let (labels, _) = state.volumes.entry(name.clone()).or_insert_with(|| (labels, Vec::new()));
            Ok(shown(&name, labels))
        })
    }

    async fn volume(&self, name: &str) -> Result<Option<Volume>, Problem> {
        self.call(|state| Ok(state.volumes.get(name).map(|(labels, _)| shown(name, labels))))
    }

    async fn volumes(&self, filters: &Filters) -> Result<Vec<Volume>, Problem> {
        self.call(|state| {
            let found = state.volumes.iter().filter(|(_, (labels, _))| fits(filters, Some(labels)));
            Ok(found.map(|(name, (labels, _))| shown(name, labels)).collect())
        })
    }

    async fn remove_volume(&self, name: &str) -> Result<(), Problem> {
        self.call(|state| {
            if self.is_stuck(name) {
                return Err(busy());
            }
            if state.containers.values().any(|it| mounted(&it.body).iter().any(|volume| volume == name)) {
                return Err(taken(name));
            }
            state.volumes.remove(name).map(drop).ok_or_else(|| gone(name))
        })
    }

    async fn create_network(&self, network: NetworkCreateRequest) -> Result<(), Problem> {
        self.call(|state| {
            let name = network.name;
            state.made += 1;
            let made = Network {
                // As long as a real engine's ids, and never the same.
                id: Some(format!("{:064x}", state.made)),
                name: Some(name.clone()),
                labels: network.labels,
                ipam: network.ipam,
                ..Default::default()
            };
            state.networks.insert(name, made);
            Ok(())
        })
    }

    async fn network(&self, name: &str) -> Result<Option<NetworkInspect>, Problem> {
        self.call(|state| {
            let found = state.networks.get(name);
            Ok(found.map(|it| NetworkInspect { id: it.id.clone(), labels: it.labels.clone(), ..Default::default() }))
        })
    }

    async fn networks(&self, filters: &Filters) -> Result<Vec<Network>, Problem> {
        self.call(|state| {
            let found = state.networks.values().filter(|it| fits(filters, it.labels.as_ref()));
            Ok(found.cloned().collect())
        })
    }

    async fn remove_network(&self, id: &str) -> Result<(), Problem> {
        self.call(|state| {
            let found = state.networks.iter().find(|(name, it)| it.id.as_deref() == Some(id) || *name == id);
            let name = found.map(|(name, _)| name.clone()).ok_or_else(|| gone(id))?;
            // A container that does not run is not attached to it.
            if state.containers.values().any(|it| runs(it) && it.networks.contains_key(&name)) {
                return Err(taken(&name));
            }
            state.networks.remove(&name).map(drop).ok_or_else(|| gone(id))
        })
    }

    async fn connect(&self, network: &str, request: NetworkConnectRequest) -> Result<(), Problem> {
        self.call(|state| {
            let settings = request.endpoint_config.unwrap_or_default();
            let attached = state.attached(HashMap::from([(network.to_owned(), settings)]));
            state.one(&request.container).map(|it| it.networks.extend(attached))
        })
    }
}
