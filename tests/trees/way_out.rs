//! `/allow` and `/deny` on real parts: broker, engine, router and runner; beyond the router an internet of the test's own, in a
//! namespace that the router's is joined to, so that no packet leaves the machine.
//!
//! Needs what `docker.rs` needs, the router's image, and root (namespaces); skipped aloud without them, unless `CAISSON_REQUIRE`
//! lists `docker`. Whose a line of the router's log is needs none of it: local processes, and a gate that says how far the log has come.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use caisson::egress::{Dial, Duplex, Egress, Settings as EgressSettings};
use caisson::sandbox::broker::{Broker as _, SocketBroker};
use caisson::sandbox::{Acted, PrepareSpec, Sandboxes, Settings, SetupSpec};
use domain::Action;
use protocol::broker::{ChamberLimits, RouterSpec};
use protocol::router::{LogEntry, Net, Policy, Rule, Verdict};
use protocol::runner::Limits;

use crate::docker::{IMAGE, in_containers};
use crate::world::{FILES, World};

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

/// Tries until it gets through, then waits to be cut and tries once more. Prints instants and how often it was refused before.
const INSIDE: &str = r#"python3 - <<'PROGRAM'
import socket, time
def reach():
    s = socket.create_connection(("good.test", 7000), 2); s.sendall(b"x"); assert s.recv(1) == b"y"; return s
refused = 0
while True:
    try: s = reach(); break
    except OSError: refused += 1; time.sleep(0.002)
reached = time.time()
try: s.recv(1)
except OSError: pass
cut = time.time()
try: reach(); again = "reached"
except OSError: again = "refused"
print(refused, reached, cut, again)
PROGRAM"#;

struct Through(Arc<SocketBroker>, RouterSpec);

#[async_trait::async_trait]
impl Dial for Through {
    async fn dial(&self) -> std::io::Result<Box<dyn Duplex>> {
        let failed = |problem: protocol::broker::Problem| std::io::Error::other(problem.to_string());
        self.0.router_ensure(&self.1).await.map_err(failed)?;
        Ok(Box::new(self.0.router_attach().await.map_err(failed)?))
    }
}

fn run(program: &str, words: &[&str]) -> String {
    let out = Command::new(program).args(words).output().expect(program);
    assert!(out.status.success(), "{program} {words:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).trim().to_owned()
}

/// The namespace beyond, its server, and what it says. Goes away with it.
struct Beyond {
    space: String,
    server: Child,
    says: BufReader<ChildStdout>,
}

impl Beyond {
    /// Joined to the router's namespace by a pair of interfaces.
    fn new(installation: &str) -> Self {
        let holder = format!("caisson-{installation}-holder");
        let pid = run("docker", &["inspect", "-f", "{{.State.Pid}}", &holder]);
        let space = format!("csnout{}", std::process::id());
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

    fn says(&mut self, word: &str) {
        let mut line = String::new();
        self.says.read_line(&mut line).expect("the server speaks");
        assert_eq!(line.trim(), word);
    }
}

impl Drop for Beyond {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = Command::new("ip").args(["netns", "del", &self.space]).output();
    }
}

fn line(seq: u64) -> LogEntry {
    let line = serde_json::json!({
        "seq": seq, "ts": 0, "berth": 0, "verdict": "denied", "host": "a.test", "port": 0,
        "up": 0, "down": 0, "ms": 0, "reason": "", "count": 1
    });
    serde_json::from_value(line).expect("a line")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_line_of_the_log_is_the_task_s_to_whom_the_berth_was_lent() {
    let world = World::with(FILES, |settings| settings.berths = 1).await;
    let come_to = |last| *world.doors.read.lock().unwrap() = Some(("b1".to_owned(), last));
    let held_by = |seq| world.sandboxes.held_by("b1", &line(seq));
    come_to(10);
    world.sandboxes.prepare(&world.spec(1)).await.expect("prepared");
    world.bash(1, "true").await;
    assert_eq!([held_by(10), held_by(11)], [None, Some(1)]);
    come_to(20);
    world.sandboxes.remove(1).await.expect("removed");
    assert_eq!([held_by(20), held_by(21)], [Some(1), Some(1)], "given back, and lent to nobody yet");
    come_to(22);
    // Its setup takes the berth first.
    let setup = Some(SetupSpec { commands: vec!["true".to_owned()], commit: world.base.clone() });
    world.sandboxes.prepare(&PrepareSpec { setup, ..world.spec(2) }).await.expect("prepared");
    come_to(30);
    world.sandboxes.remove(2).await.expect("removed");
    // Made anew without another in between, it is the same loan.
    world.sandboxes.prepare(&world.spec(2)).await.expect("prepared");
    for seq in [11, 21, 22] {
        assert_eq!(held_by(seq), Some(1), "line {seq}");
    }
    for seq in [23, 30, 31] {
        assert_eq!(held_by(seq), Some(2), "line {seq}");
    }
    // Another life of the bot knows it too.
    let settings = Settings { berths: 1, ..Settings::new(world.dir.path().join("state"), "local") };
    let gate = world.doors.clone();
    let again = Sandboxes::new(world.broker.clone(), Some(gate), world.repos.clone(), settings, 2).expect("sandboxes");
    assert_eq!([again.held_by("b1", &line(22)), again.held_by("b1", &line(23))], [Some(1), Some(2)]);
}

fn missing() -> bool {
    let image = Command::new("docker").args(["image", "inspect", ROUTER]).output();
    let probe = format!("csnprobe{}", std::process::id());
    let namespaces = Command::new("ip").args(["netns", "add", &probe]).output().is_ok_and(|out| out.status.success());
    let _ = Command::new("ip").args(["netns", "del", &probe]).output();
    if namespaces && image.is_ok_and(|out| out.status.success()) {
        return false;
    }
    let required = std::env::var("CAISSON_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|it| it == "docker"), "CAISSON_REQUIRE=docker, but no {ROUTER} or no namespaces");
    eprintln!("skipped: no image {ROUTER}, or namespaces can't be made here (root and iproute2 are needed)");
    true
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_host_is_reached_at_once_and_cut_when_it_is_taken_back() {
    if missing() {
        return;
    }
    let listed = |settings: &mut ::broker::Settings| {
        settings.router_images = vec![ROUTER.to_owned()];
        settings.public_ranges = vec!["198.51.100.0/24".to_owned()];
    };
    in_containers(
        "allow",
        listed,
        |world, broker, installation| async move { road(&world, broker, &installation).await },
    )
    .await;
}

async fn road(world: &World, broker: SocketBroker, installation: &str) {
    let broker = Arc::new(broker);
    let spec = RouterSpec {
        berths: 1,
        pool: Some(format!("10.221.{}.0/24", std::process::id() % 256)),
        image: ROUTER.to_owned(),
        upstream: Some(DNS.to_owned()),
        private: Vec::new(),
    };
    let denied = Arc::new(Mutex::new(0_u64));
    let count = denied.clone();
    // Before there is anybody who would dial too: who attaches last has the router.
    let first = Through(broker.clone(), spec.clone()).dial().await.expect("a router");
    let egress = Egress::new(EgressSettings {
        policy: Policy { private: Vec::<Net>::new(), ..Policy::default() },
        dial: Some(Arc::new(Through(broker.clone(), spec))),
        on_entry: Some(Arc::new(move |_, entry| {
            *count.lock().unwrap() += u64::from(entry.verdict == Verdict::Denied);
        })),
        resume: None,
    });
    egress.attach(first).await.expect("introduced");
    let mut beyond = Beyond::new(installation);
    beyond.says("up");
    let settings = Settings::new(world.dir.path().join("docker"), IMAGE);
    let sandboxes = Sandboxes::new(broker, Some(egress), world.repos.clone(), settings, 1).expect("sandboxes");
    let sandboxes = Arc::new(sandboxes);
    let limits = ChamberLimits { memory_bytes: 512 << 20, workspace_bytes: 64 << 20, ..ChamberLimits::default() };
    let mut spec = world.spec(1);
    (spec.image, spec.network, spec.egress, spec.limits) = (IMAGE.to_owned(), true, Vec::new(), limits);
    sandboxes.prepare(&spec).await.expect("prepared");
    let acting = tokio::spawn(act(sandboxes.clone()));
    let end = Instant::now() + Duration::from_secs(30);
    while *denied.lock().unwrap() == 0 {
        assert!(Instant::now() < end && !acting.is_finished(), "the sandbox never tried");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let asked = now();
    sandboxes.allow(1, vec![Rule::parse("good.test:7000").expect("a rule")]).await.expect("allowed");
    let obeyed = now();
    let mut beyond = tokio::task::spawn_blocking(move || {
        beyond.says("hit");
        beyond
    });
    let beyond = (&mut beyond).await.expect("a connection");
    let taken_back = now();
    sandboxes.allow(1, Vec::new()).await.expect("taken back");
    let closed = now();
    let acted = acting.await.expect("ended").outcome.text;
    let [refused, reached, cut, again] = acted.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{acted}") };
    let ms = |from: f64, to: &str| (to.parse::<f64>().expect("an instant") - from) * 1000.0;
    println!(
        "allow: router obeyed after {:.1} ms, first connection {:.1} ms after the call; deny: obeyed after {:.1} ms, cut after {:.1} ms",
        (obeyed - asked) * 1000.0,
        ms(asked, reached),
        (closed - taken_back) * 1000.0,
        ms(taken_back, cut)
    );
    assert!(refused.parse::<u64>().is_ok_and(|times| times > 0), "it was refused first: {acted}");
    assert_eq!(again, "refused");
    drop(beyond);
    run("docker", &["kill", &format!("caisson-{installation}-router")]);
    let (_, cut) = tokio::time::timeout(Duration::from_secs(60), sandboxes.router_replaced()).await.expect("noticed");
    assert_eq!(cut, [1], "the task whose way out went with the router is named, and another router stands there");
    sandboxes.allow(1, Vec::new()).await.expect("it obeys");
    sandboxes.remove(1).await.expect("removed");
}

async fn act(sandboxes: Arc<Sandboxes>) -> Acted {
    let action = Action::Bash { command: INSIDE.to_owned() };
    sandboxes.act(1, 1, &action, Limits { wall_ms: 60_000, output_bytes: 4000 }).await.expect("acted")
}

/// Seconds since 1970: the sandbox has the same clock.
fn now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_secs_f64()
}
