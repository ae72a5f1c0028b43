//! A sandbox and an action in it, against the engine's own command line. Needs Docker, `caisson-sandbox:local` and the static runner.

use crate::line::{Line, ms, quantile, ratio};
use broker::{Broker as Service, Settings};
use caisson::sandbox::broker::{Broker, SocketBroker};
use caisson::sandbox::link::Link;
use protocol::broker::{ContainerLimits, ContainerSpec, PROBE_USERS, Purpose};
use protocol::runner::{Limits, Op, Status};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: u64 = 12;
pub const IMAGE: &str = "caisson-sandbox:local";

pub fn docker(words: &[&str]) -> bool {
    let mut command = Command::new("docker");
    command.args(words).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

pub fn runner() -> Option<PathBuf> {
    std::env::var_os("CAISSON_RUNNER").map(PathBuf::from).filter(|path| path.is_file())
}

pub fn spec(name: String, subnet: Option<u32>) -> ContainerSpec {
    ContainerSpec {
        name,
        task: None,
        purpose: Purpose::Probe,
        user: PROBE_USERS[0],
        image: IMAGE.to_owned(),
        subnet,
        limits: ContainerLimits {
            memory_bytes: 512 << 20,
            pids: 128,
            cpus: 2.0,
            workspace_bytes: 64 << 20,
            tmp_bytes: 64 << 20,
            nofile: 1024,
            ..ContainerLimits::default()
        },
        env: Vec::new(),
        profile: "sealed".to_owned(),
        mirror: None,
        layered: false,
    }
}

const LIMITS: Limits = Limits { wall_ms: 10_000, output_bytes: 4096 };
/// Starts the shell fifty times, and prints the nanoseconds of one start.
const SHELLS: &str = "s=$(date +%s%N); for i in $(seq 50); do bash -c true; done; echo $((($(date +%s%N) - s) / 50))";

fn bash(command: &str) -> Op {
    Op::Bash { command: command.to_owned(), whole: false }
}

/// An action as an agent asks for it.
fn action(command: &str) -> Op {
    Op::Shell { command: command.to_owned(), background: false }
}

/// Time from sending the frame to receiving the result, and the result's text.
async fn run(link: &Link, id: u64, op: Op) -> (Duration, String) {
    let began = Instant::now();
    let outcome = link.run(id, op, LIMITS).await.expect("ran");
    let took = began.elapsed();
    link.ack(id).await.expect("acknowledged");
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.text);
    (took, outcome.text)
}

/// `docker run` with the same hardening as a person would type it, until its first output.
pub fn bare_run(network: &str) -> Duration {
    let began = Instant::now();
    let hardened = "run --rm --cap-drop ALL --security-opt no-new-privileges --read-only --user 10003:10003 \
                    --pids-limit 128 --memory 512m --log-driver none --tmpfs /tmp --entrypoint sh --network";
    let mut words: Vec<&str> = hardened.split_whitespace().collect();
    words.extend([network, IMAGE, "-c", "echo ready"]);
    assert!(docker(&words), "docker run");
    began.elapsed()
}

pub async fn measure() -> Vec<Line> {
    let Some(runner) = runner() else {
        eprintln!("skipped: sandbox lines need CAISSON_RUNNER, the static runner (make bench sets it)");
        return Vec::new();
    };
    if !docker(&["image", "inspect", IMAGE]) {
        eprintln!("skipped: sandbox lines need Docker and the image {IMAGE} (make images)");
        return Vec::new();
    }
    let mut settings = Settings::new("", "bench", &runner);
    settings.images = vec![IMAGE.to_owned()];
    with_broker(settings, async |broker| sandboxes(&broker).await).await
}

/// Runs the work with a broker of its own, which removes all it made.
pub async fn with_broker<T>(mut settings: Settings, work: impl AsyncFnOnce(SocketBroker) -> T) -> T {
    let dir = tempfile::tempdir().expect("a directory");
    settings.socket = dir.path().join("own/broker.sock");
    let service = Service::bind(settings.clone()).expect("a broker");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let service = tokio::spawn(service.run(async move {
        // A closed channel means stop as well.
        let _ = stopped.await;
    }));
    let done = work(SocketBroker::new(&settings.socket)).await;
    drop(stop);
    service.await.expect("ended");
    broker::teardown(settings).await.expect("removed");
    done
}

async fn sandboxes(broker: &SocketBroker) -> Vec<Line> {
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let name = format!("bench-{round}");
        let began = Instant::now();
        broker.create(&spec(name.clone(), None)).await.expect("created");
        broker.start(&name).await.expect("started");
        let stream = Box::new(broker.attach(&name).await.expect("attached"));
        let (link, _) = Link::attach(stream, 1).await.expect("a runner");
        run(&link, 1, bash("echo one > one.txt")).await;
        // The first round fills caches on both sides.
        if round > 0 {
            ours.push(began.elapsed());
            bare.push(bare_run("none"));
        }
        if round == ROUNDS {
            let lines = actions(&link, broker, &name, &mut ours, &mut bare).await;
            broker.remove(&name).await.expect("removed");
            return lines;
        }
        broker.remove(&name).await.expect("removed");
    }
    Vec::new()
}

async fn actions(
    link: &Link,
    broker: &SocketBroker,
    name: &str,
    ours: &mut [Duration],
    bare: &mut [Duration],
) -> Vec<Line> {
    let container =
        Command::new("docker").args(["ps", "-q", "--filter", &format!("name={name}")]).output().expect("docker");
    let container = String::from_utf8_lossy(&container.stdout).trim().to_owned();
    let (mut frames, mut shells, mut execs) = (Vec::new(), Vec::new(), Vec::new());
    for id in 2..402u64 {
        if id % 2 == 0 {
            let look = Op::ReadFile { path: "one.txt".to_owned(), from: 1, lines: 10 };
            frames.push(run(link, id, look).await.0);
        } else {
            shells.push(run(link, id, action("true")).await.0);
        }
        if id % 20 == 0 {
            let began = Instant::now();
            assert!(docker(&["exec", &container, "true"]), "docker exec");
            execs.push(began.elapsed());
        }
    }
    assert!(broker.inspect(name).await.expect("asked").is_some());
    let (made, run) = (quantile(ours, 0.5), quantile(bare, 0.5));
    let own: u64 = self::run(link, 402, bash(SHELLS)).await.1.trim().parse().expect("nanoseconds");
    let (frame, exec) = (quantile(&mut frames, 0.5), quantile(&mut execs, 0.5));
    let (shell, own) = (quantile(&mut shells, 0.5), Duration::from_nanos(own));
    let act = ratio(frame, exec);
    vec![
        Line::at_most("sandbox create → first action's output, against a hardened `docker run`", made, run, 1.3),
        Line::promise(
            "an action (`read_file`), frame out → result in, against `docker exec`",
            format!("{} against {}: 1/{:.0}", ms(frame), ms(exec), 1.0 / act),
            "≤ 1/50",
            act <= 1.0 / 50.0,
        ),
        Line::promise(
            "an action (`bash true`) beyond the shell's own start, against `docker exec`",
            format!(
                "{} − {} against {}: 1/{:.0}",
                ms(shell),
                ms(own),
                ms(exec),
                1.0 / ratio(shell.saturating_sub(own), exec)
            ),
            "≤ 1/50",
            ratio(shell.saturating_sub(own), exec) <= 1.0 / 50.0,
        ),
    ]
}
