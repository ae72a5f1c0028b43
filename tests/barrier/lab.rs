//! A broker of the test's own over the real engine, a configuration for it, and a broker that weakens what it makes.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ::broker::{Broker as Server, Settings, teardown};
use async_trait::async_trait;
use bollard::Docker;
use bollard::models::ContainerCreateBody;
use bollard::query_parameters::{CreateContainerOptionsBuilder, RemoveContainerOptionsBuilder};
use caisson::barrier::{self, BarrierSetup, Report, RouterUnderTest, Upstream, Verdict};
use caisson::bot::{router_spec, way_out};
use caisson::config::Process;
use caisson::sandbox::broker::{Broker, Result, SocketBroker, Stream};
use protocol::broker::{ContainerInfo, ContainerSpec, EngineInfo, ImageInfo, Problem, Purpose, RouterInfo, RouterSpec};
use protocol::host::Network;
use serde_json::{Value, json};
use tokio::sync::RwLock;

use crate::skipped::skipped;

pub const IMAGE: &str = "caisson-sandbox:local";
pub const ROUTER: &str = "caisson-router:local";

/// The static runner, where it and the images are there; says so when not, or fails where they are required.
pub fn runner() -> Option<PathBuf> {
    let named = std::env::var_os("CAISSON_RUNNER").map(PathBuf::from);
    let usual =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/static/x86_64-unknown-linux-gnu/small/caisson-runner");
    let runner = named.into_iter().chain([usual]).find(|path| path.is_file());
    let images = Command::new("docker").args(["image", "inspect", "-f", "{{.Id}}", IMAGE, ROUTER]).output();
    if let Some(runner) = runner.filter(|_| images.is_ok_and(|out| out.status.success())) {
        return Some(runner);
    }
    let why = format!("there is no container engine with {IMAGE} and {ROUTER}, or no static runner (CAISSON_RUNNER)");
    skipped("docker", &why);
    None
}

/// An installation for one test, removed when the test ends, also when it fails.
pub struct Lab {
    pub broker: Arc<SocketBroker>,
    pub installation: String,
    pub dir: tempfile::TempDir,
}

/// Every test's sandboxes have the same two user ids, and the kernel counts the processes of all of them together.
static USERS: RwLock<()> = RwLock::const_new(());

pub async fn run<F: Future<Output = ()> + Send + 'static>(runner: PathBuf, test: impl FnOnce(Arc<Lab>) -> F) {
    let _with_others = USERS.read().await;
    in_a_lab(runner, test).await;
}

/// Runs a test that exhausts the first sandbox's user while no other test runs.
pub async fn run_alone<F: Future<Output = ()> + Send + 'static>(runner: PathBuf, test: impl FnOnce(Arc<Lab>) -> F) {
    let _alone = USERS.write().await;
    in_a_lab(runner, test).await;
}

async fn in_a_lab<F: Future<Output = ()> + Send + 'static>(runner: PathBuf, test: impl FnOnce(Arc<Lab>) -> F) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let dir = tempfile::tempdir().expect("a directory");
    let socket = dir.path().join("own/broker.sock");
    let installation = format!("t{}-bar{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let mut settings = Settings::new(&socket, &installation, runner);
    (settings.images, settings.router_images) = (vec![IMAGE.to_owned()], vec![ROUTER.to_owned()]);
    let server = Server::bind(settings.clone()).expect("a broker");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(server.run(async move { drop(stopped.await) }));
    let lab = Arc::new(Lab { broker: Arc::new(SocketBroker::new(&socket)), installation, dir });
    let done = tokio::spawn(test(lab.clone())).await;
    let _ = stop.send(());
    serving.await.expect("the broker ends");
    teardown(settings).await.expect("everything is removed");
    if let Err(panic) = done {
        std::panic::resume_unwind(panic.into_panic());
    }
}

impl Lab {
    pub fn config(&self, more: &str) -> Process {
        let file = self.dir.path().join("caisson.toml");
        let text = format!(
            "installation = \"{}\"\n[sandbox]\nimage = \"{IMAGE}\"\nmemory_mib = 512\ntmp_mib = 16\n\
             pids = 64\ncpus = 1.0\nnofile = 512\n[router]\nimage = \"{ROUTER}\"\nsubnets = 1\n{more}",
            self.installation
        );
        std::fs::write(&file, text).expect("written");
        Process::load(&file).expect("a configuration")
    }

    /// Without a network, through this broker.
    pub fn setup(&self, broker: Arc<dyn Broker>) -> BarrierSetup {
        BarrierSetup {
            broker,
            router: None,
            image: IMAGE.to_owned(),
            own_image: IMAGE.to_owned(),
            profile: "sealed".to_owned(),
            limits: self.config("").sandbox.limits(),
            state_dir: self.dir.path().to_owned(),
            epoch: 1,
            // A weak sandbox would really send there, and out of this machine.
            strangers: Vec::new(),
        }
    }

    /// With a router that asks the test's own name server.
    pub async fn networked(&self, broker: Arc<dyn Broker>, more: &str) -> BarrierSetup {
        let upstream = Upstream::start().await.expect("a name server").expect("an address");
        let mut config = self.config(more);
        config.router.upstream = upstream.at.to_string();
        // An empty pool lets the broker take its first free range: other tests have networks too.
        config.router.pool = String::new();
        let mut tries = 0;
        let (egress, _log) = loop {
            match way_out(&config, &broker).await {
                // Another test has taken the same range in the same moment.
                Err(error) if tries < 5 && format!("{error:#}").contains("overlaps") => tries += 1,
                made => break made.expect("a router"),
            }
        };
        let subnets = barrier::subnets(broker.as_ref(), &router_spec(&config)).await.expect("two subnets");
        let way = RouterUnderTest { egress, subnets, upstream: Some(upstream), router_image: ROUTER.to_owned() };
        BarrierSetup { router: Some(way), ..self.setup(broker) }
    }
}

/// Runs the work as in a container: in a network namespace that has only loopback.
pub async fn elsewhere<T: Send + 'static, F: Future<Output = T>>(work: impl FnOnce() -> F + Send + 'static) -> T {
    let apart = move || {
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).expect("a namespace, as root");
        let up = Command::new("ip").args(["link", "set", "lo", "up"]).status();
        assert!(up.is_ok_and(|status| status.success()), "loopback");
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(work())
    };
    // A separate thread, since it enters that namespace for good.
    let (send, done) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || send.send(std::panic::catch_unwind(std::panic::AssertUnwindSafe(apart))));
    done.await.expect("it ends").unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Whether a datagram from a subnet's network reaches a program of this machine where no packet filter rule drops it.
pub async fn lenient(lab: &Lab) -> bool {
    let strict = lab.broker.host(ROUTER).await.expect("told").rp_filter.values().all(|value| *value == 1);
    if strict {
        skipped(
            "rp_filter",
            "the kernel of this machine looks where each packet comes from (rp_filter = 1): nothing is there to be held off",
        );
    }
    !strict
}

/// The whole self-test, and the numbers of the checks that fail.
pub async fn mismatches(setup: &BarrierSetup) -> (Report, Vec<u8>) {
    let report = barrier::run(setup, &|text| eprintln!("  {text}")).await.expect("carried out");
    let wrong = report.rows.iter().filter(|row| row.verdict == Verdict::Mismatch).map(|row| row.number).collect();
    (report, wrong)
}

/// A change of the engine's configuration of the first sandbox.
pub type Change = fn(&mut Value, &Lab);

/// The real broker, but with one weakness: a container recreated with a changed configuration, or one of the flags below.
pub struct Weak {
    pub lab: Arc<Lab>,
    pub change: Change,
    /// The name of the container that is recreated.
    pub victim: &'static str,
    /// Joins it to a further network: the second subnet's.
    pub joined: bool,
    /// The router keeps running when it is told to stop.
    pub router_stays: bool,
    /// The router's firewall accepts its packets to this machine.
    pub hole: bool,
    /// The router's firewall does not limit its DNS queries.
    pub uncounted: bool,
    /// The host's packet filter table for the subnets is deleted once a sandbox runs.
    pub unfenced: bool,
    /// No mirror is filled, as when the engine is too busy.
    pub busy: bool,
}

impl Weak {
    pub fn new(lab: &Arc<Lab>, change: Change) -> Weak {
        let [joined, router_stays, hole, uncounted, unfenced, busy] = [false; 6];
        Weak { lab: lab.clone(), change, victim: "barrier-1", joined, router_stays, hole, uncounted, unfenced, busy }
    }
}

impl Weak {
    /// Adds a rule to the router's firewall.
    fn pierce(&self, rule: &[&str]) {
        let place = format!("container:caisson-{}-holder", self.lab.installation);
        let mut words = vec!["run", "--rm", "--network", &place, "--cap-add", "NET_ADMIN", "--user", "0"];
        words.extend(["--entrypoint", "iptables", ROUTER].iter().chain(rule));
        let made = Command::new("docker").args(words).output().expect("docker");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }

    /// Deletes the table, as somebody does who flushes the host's packet filter.
    fn unfence(&self) {
        // Created first, so that deleting does not fail when it is gone already.
        let table = format!("inet caisson-{}", self.lab.installation);
        let gone = format!("add table {table}; delete table {table}");
        let words =
            ["run", "--rm", "--network", "host", "--cap-add", "NET_ADMIN", "--user", "0", "--entrypoint", "nft"];
        let gone = Command::new("docker").args(words).args([ROUTER, &gone]).output();
        assert!(gone.is_ok_and(|out| out.status.success()), "{table}");
    }

    async fn weaken(&self, name: &str) {
        let docker = Docker::connect_with_unix_defaults().expect("the engine");
        let name = format!("caisson-{}-box-{name}", self.lab.installation);
        let found = docker.inspect_container(&name, None).await.expect("made by the broker");
        let mut body = serde_json::to_value(&found.config).expect("its configuration");
        body["HostConfig"] = serde_json::to_value(&found.host_config).expect("its host's part");
        let networks = found.network_settings.and_then(|it| it.networks).unwrap_or_default();
        let endpoint = |(name, it): (&String, &bollard::models::EndpointSettings)| {
            (name.clone(), json!({ "IPAMConfig": it.ipam_config }))
        };
        body["NetworkingConfig"] =
            json!({ "EndpointsConfig": networks.iter().map(endpoint).collect::<serde_json::Map<_, _>>() });
        (self.change)(&mut body, &self.lab);
        let remove = RemoveContainerOptionsBuilder::default().force(true).build();
        docker.remove_container(&name, Some(remove)).await.expect("removed");
        let body: ContainerCreateBody = serde_json::from_value(body).expect("a configuration");
        let options = CreateContainerOptionsBuilder::default().name(&name).build();
        docker.create_container(Some(options), body).await.expect("made again");
        if self.joined {
            let other = format!("caisson-{}-berth-002", self.lab.installation);
            let joined = Command::new("docker").args(["network", "connect", &other, &name]).status();
            assert!(joined.is_ok_and(|status| status.success()), "joined {other}");
        }
    }
}

#[async_trait]
impl Broker for Weak {
    async fn create(&self, spec: &ContainerSpec) -> Result<()> {
        if self.busy && spec.purpose == Purpose::Mirror {
            return Err(Problem::unavailable("the engine is busy"));
        }
        self.lab.broker.create(spec).await?;
        if spec.name == self.victim {
            self.weaken(&spec.name).await;
        }
        Ok(())
    }

    async fn hello(&self) -> Result<EngineInfo> {
        self.lab.broker.hello().await
    }
    async fn start(&self, name: &str) -> Result<()> {
        self.lab.broker.start(name).await
    }
    async fn attach(&self, name: &str) -> Result<Box<dyn Stream>> {
        if self.unfenced {
            self.unfence();
        }
        self.lab.broker.attach(name).await
    }
    async fn pause(&self, name: &str) -> Result<()> {
        self.lab.broker.pause(name).await
    }
    async fn unpause(&self, name: &str) -> Result<()> {
        self.lab.broker.unpause(name).await
    }
    async fn stop(&self, name: &str) -> Result<()> {
        self.lab.broker.stop(name).await
    }
    async fn remove(&self, name: &str) -> Result<()> {
        self.lab.broker.remove(name).await
    }
    async fn inspect(&self, name: &str) -> Result<Option<ContainerInfo>> {
        self.lab.broker.inspect(name).await
    }
    async fn list(&self) -> Result<Vec<ContainerInfo>> {
        self.lab.broker.list().await
    }
    async fn image(&self, reference: &str) -> Result<Option<ImageInfo>> {
        self.lab.broker.image(reference).await
    }
    async fn router_ensure(&self, spec: &RouterSpec) -> Result<RouterInfo> {
        self.lab.broker.router_ensure(spec).await
    }
    async fn router_attach(&self) -> Result<Box<dyn Stream>> {
        self.lab.broker.router_attach().await
    }
    async fn router_restart(&self) -> Result<()> {
        self.lab.broker.router_restart().await
    }
    async fn router_probe(&self, image: &str, plan: &str) -> Result<String> {
        if self.hole {
            self.pierce(&["-I", "OUTPUT", "-d", "172.17.0.1", "-j", "ACCEPT"]);
        }
        if self.uncounted {
            self.pierce(&["-I", "INPUT", "-p", "udp", "--dport", "15053", "-j", "ACCEPT"]);
        }
        self.lab.broker.router_probe(image, plan).await
    }
    async fn router_stop(&self) -> Result<()> {
        if self.router_stays {
            return Ok(());
        }
        self.lab.broker.router_stop().await
    }
    async fn host(&self, image: &str) -> Result<Network> {
        self.lab.broker.host(image).await
    }
    async fn host_listen(&self, image: &str) -> Result<Box<dyn Stream>> {
        self.lab.broker.host_listen(image).await
    }
    async fn remove_mirror(&self, name: &str) -> Result<bool> {
        self.lab.broker.remove_mirror(name).await
    }
    async fn reap(&self, keep: &[String], mirrors: &[String]) -> std::result::Result<Vec<String>, Problem> {
        self.lab.broker.reap(keep, mirrors).await
    }
}
