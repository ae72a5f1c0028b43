//! A way out for sandboxes on real parts: broker, engine and router; upstream of the router a simulated internet in a namespace
//! joined to the router's, so that no packet leaves the machine.
//!
//! Needs what `docker.rs` needs, the router's image, and root (namespaces); skipped aloud without them, unless `CAISSON_REQUIRE`
//! lists `docker`.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use caisson::egress::{Dial, Duplex, Egress, Settings as EgressSettings};
use caisson::sandbox::broker::{Broker as _, SocketBroker};
use caisson::sandbox::{PrepareSpec, Sandboxes, Settings};
use protocol::broker::{ContainerLimits, RouterSpec};
use protocol::router::{Net, Policy, Rule, Verdict};

use crate::docker::{IMAGE, in_containers};
use crate::skipped::skipped;
use crate::world::World;

/// Number of ways out made in this run.
static ROADS: AtomicUsize = AtomicUsize::new(0);

const ROUTER: &str = "caisson-router:local";
const GOOD: &str = "198.51.100.10";
const DNS: &str = "198.51.100.53";

/// Answers every look-up with the one address, and every connection with a byte, then keeps it open. Says when one came.
const BEYOND: &str = r#"
import socket, threading
def names():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("198.51.100.53", 53))
    while True:
        q, who = s.recvfrom(4096)
        at = 12
        while q[at]: at += q[at] + 1
        a = q[:2] + b"\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00" + q[12:at + 5]
        s.sendto(a + b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x01\x00\x04" + socket.inet_aton("198.51.100.10"), who)
threading.Thread(target=names, daemon=True).start()
l = socket.create_server(("198.51.100.10", 7000)); kept = []
print("up", flush=True)
while True:
    c, _ = l.accept(); c.recv(1); c.sendall(b"y"); kept.append(c); print("hit", flush=True)
"#;

struct ThroughBroker(Arc<SocketBroker>, RouterSpec);

#[async_trait::async_trait]
impl Dial for ThroughBroker {
    async fn dial(&self) -> std::io::Result<Box<dyn Duplex>> {
        let failed = |problem: protocol::broker::Problem| std::io::Error::other(problem.to_string());
        self.0.router_ensure(&self.1).await.map_err(failed)?;
        Ok(Box::new(self.0.router_attach().await.map_err(failed)?))
    }
}

pub fn run(program: &str, words: &[&str]) -> String {
    let out = Command::new(program).args(words).output().expect(program);
    assert!(out.status.success(), "{program} {words:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).trim().to_owned()
}

/// The simulated internet: its namespace, its server and the server's output; all removed when dropped.
pub struct Beyond {
    space: String,
    server: Child,
    says: BufReader<ChildStdout>,
}

impl Beyond {
    /// Joined to the router's namespace by a pair of interfaces.
    fn new(installation: &str) -> Self {
        let holder = format!("caisson-{installation}-holder");
        let pid = run("docker", &["inspect", "-f", "{{.State.Pid}}", &holder]);
        let space = format!("csno-{installation}");
        run("ip", &["netns", "add", &space]);
        let pair = ["link", "add", "beyond", "netns", &pid, "type", "veth", "peer", "name", "inner", "netns", &space];
        run("ip", &pair);
        for word in ["addr add 198.51.100.2/24 dev beyond", "link set beyond up"] {
            let words: Vec<&str> = ["-t", &pid, "-n", "ip"].into_iter().chain(word.split(' ')).collect();
            run("nsenter", &words);
        }
        let addresses = [format!("addr add {GOOD}/24 dev inner"), format!("addr add {DNS}/24 dev inner")];
        for word in addresses.iter().map(String::as_str).chain(["link set inner up", "link set lo up"]) {
            let words: Vec<&str> = ["-n", &space].into_iter().chain(word.split(' ')).collect();
            run("ip", &words);
        }
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &space, "python3", "-c", BEYOND]).stdout(Stdio::piped());
        let mut server = command.spawn().expect("the server");
        let says = BufReader::new(server.stdout.take().expect("piped"));
        Self { space, server, says }
    }

    pub fn says(&mut self, word: &str) {
        let mut line = String::new();
        self.says.read_line(&mut line).expect("the server speaks");
        assert_eq!(line.trim(), word);
    }

    /// Ends the server; returns how many connections it took since the last report.
    pub fn heard(mut self) -> usize {
        let _ = self.server.kill();
        let mut rest = String::new();
        self.says.read_to_string(&mut rest).expect("the server spoke");
        rest.lines().count()
    }
}

impl Drop for Beyond {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = Command::new("ip").args(["netns", "del", &self.space]).output();
    }
}

/// Tried once: two tests that try at the same time would disturb each other.
static CAN_BE_LAID: LazyLock<bool> = LazyLock::new(|| {
    let image = Command::new("docker").args(["image", "inspect", ROUTER]).output();
    let probe = format!("csnprobe{}", std::process::id());
    let namespaces = Command::new("ip").args(["netns", "add", &probe]).output().is_ok_and(|out| out.status.success());
    let _ = Command::new("ip").args(["netns", "del", &probe]).output();
    namespaces && image.is_ok_and(|out| out.status.success())
});

fn missing() -> bool {
    if *CAN_BE_LAID {
        return false;
    }
    let why = format!("no image {ROUTER}, or namespaces can't be made here (root and iproute2 are needed)");
    skipped("docker", &why);
    true
}

/// Bodies of tests that take the road out: skipped aloud where it cannot be laid.
pub async fn on_the_road<F: Future<Output = ()> + Send + 'static>(
    name: &str,
    walk: impl FnOnce(World, Arc<SocketBroker>, String) -> F + Send + 'static,
) {
    if missing() {
        return;
    }
    let listed = |settings: &mut ::broker::Settings| {
        settings.router_images = vec![ROUTER.to_owned()];
        settings.public_ranges = vec!["198.51.100.0/24".to_owned()];
    };
    in_containers(name, listed, |world, broker, installation| async move {
        walk(world, Arc::new(broker), installation).await;
    })
    .await;
}

/// Sandboxes with one subnet, their way out, and what lies beyond it. `on_denied` hears of each name that was refused.
pub async fn lay(
    world: &World,
    broker: &Arc<SocketBroker>,
    installation: &str,
    on_denied: impl Fn() + Send + Sync + 'static,
) -> (Arc<Sandboxes>, Beyond) {
    // Neither two runs nor two tests of one run use the same addresses.
    let third = (std::process::id() as usize + 97 * ROADS.fetch_add(1, Ordering::Relaxed)) % 256;
    let spec = RouterSpec {
        subnets: 1,
        pool: Some(format!("10.225.{third}.0/24")),
        image: ROUTER.to_owned(),
        upstream: Some(DNS.to_owned()),
        private: Vec::new(),
    };
    // Before there is anybody who would dial too: who attaches last has the router.
    let first = ThroughBroker(broker.clone(), spec.clone()).dial().await.expect("a router");
    let egress = Egress::new(EgressSettings {
        policy: Policy { private: Vec::<Net>::new(), ..Policy::default() },
        dial: Some(Arc::new(ThroughBroker(broker.clone(), spec))),
        on_entry: Some(Arc::new(move |_, entry| {
            if entry.verdict == Verdict::Denied {
                on_denied();
            }
        })),
        on_life: None,
        resume: None,
    });
    egress.attach(first).await.expect("introduced");
    let mut beyond = Beyond::new(installation);
    beyond.says("up");
    let settings = Settings::new(world.dir.path().join("docker"), IMAGE);
    let sandboxes = Sandboxes::new(broker.clone(), Some(egress), world.repos.clone(), settings, 1).expect("sandboxes");
    (Arc::new(sandboxes), beyond)
}

/// The specification of a task's sandbox with this way out and these rules.
pub fn spec(world: &World, rules: &[&str]) -> PrepareSpec {
    let egress = rules.iter().map(|rule| Rule::parse(rule).expect("a rule")).collect();
    let limits = ContainerLimits { memory_bytes: 512 << 20, ..ContainerLimits::default() };
    PrepareSpec { image: IMAGE.to_owned(), network: true, egress, limits, ..world.spec(1) }
}
