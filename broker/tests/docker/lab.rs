//! A broker with an installation of its own on the real engine, a client for it, and its removal.

use std::future::Future;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use caisson_broker::{Broker, Settings, teardown};
use protocol::broker::{BrokerAnswer, ContainerLimits, ContainerSpec, PROBE_USERS, Problem, Purpose, Request};
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use crate::skipped::skipped;

pub const IMAGE: &str = "caisson-sandbox:local";

pub struct Lab {
    pub settings: Settings,
    pub installation: String,
    /// Keeps the socket's directory during the test.
    _dir: tempfile::TempDir,
}

/// The router's image: `CAISSON_ROUTER_IMAGE`, otherwise the local one.
pub fn router_image() -> String {
    std::env::var("CAISSON_ROUTER_IMAGE").unwrap_or_else(|_| "caisson-router:local".into())
}

/// Whether the engine or an image is missing; prints that, or fails if it is required.
pub fn absent(image: &str) -> bool {
    let found = Command::new("docker").args(["image", "inspect", "-f", "{{.Id}}", image]).output();
    if found.is_ok_and(|out| out.status.success()) {
        return false;
    }
    skipped("docker", &format!("there is no container engine with image {image} (compose/images/ builds it)"));
    true
}

/// Runs a test in an installation of its own, which is removed whatever happens.
pub async fn run<F: Future<Output = ()> + Send + 'static>(
    change: impl FnOnce(&mut Settings),
    test: impl FnOnce(Lab) -> F,
) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let dir = tempfile::tempdir().unwrap();
    let installation = format!("t{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let mut settings = Settings::new(dir.path().join("own/broker.sock"), &installation, shell());
    settings.images = vec![IMAGE.into()];
    settings.router_images = vec![router_image()];
    change(&mut settings);
    let broker = Broker::bind(settings.clone()).unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(broker.run(async move {
        let _ = stopped.await;
    }));
    let outcome = tokio::spawn(test(Lab { settings: settings.clone(), installation, _dir: dir })).await;
    let _ = stop.send(());
    serving.await.unwrap();
    // The runner of the settings may be in the lab's directory, which no longer exists.
    settings.runner = shell();
    let removed = teardown(settings).await;
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic.into_panic());
    }
    removed.unwrap();
}

/// A runner that executes what it reads as PID 1 of a container, to inspect the container from inside.
pub fn shell() -> PathBuf {
    std::fs::canonicalize("/bin/sh").unwrap()
}

/// The static runner, if it was built.
pub fn runner() -> Option<PathBuf> {
    let named = std::env::var_os("CAISSON_RUNNER").map(PathBuf::from);
    let target = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target");
    let usual = target.join("x86_64-unknown-linux-gnu/small/caisson-runner");
    named.into_iter().chain([usual]).find(|path| path.exists())
}

pub fn spec(name: &str) -> ContainerSpec {
    ContainerSpec {
        name: name.into(),
        task: Some(7),
        purpose: Purpose::Probe,
        user: PROBE_USERS[0],
        image: IMAGE.into(),
        subnet: None,
        limits: ContainerLimits {
            memory_bytes: 512 << 20,
            pids: 64,
            cpus: 1.0,
            workspace_bytes: 64 << 20,
            tmp_bytes: 16 << 20,
            nofile: 512,
            ..ContainerLimits::default()
        },
        env: vec![("GREETING".into(), "hello".into())],
        profile: "sealed".into(),
        mirror: None,
        layered: false,
    }
}

impl Lab {
    /// Runs another broker of this installation as a child of its caller, which leaves nothing.
    pub async fn short_life(&self, work: impl AsyncFnOnce(Lab)) {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("own/broker.sock");
        let settings = Settings { socket, leaves_nothing: true, ..self.settings.clone() };
        let broker = Broker::bind(settings.clone()).unwrap();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let serving = tokio::spawn(broker.run(async move {
            let _ = stopped.await;
        }));
        work(Lab { settings, installation: self.installation.clone(), _dir: dir }).await;
        let _ = stop.send(());
        serving.await.unwrap();
    }

    /// Runs another broker of this installation in an empty network namespace, as in compose.
    pub async fn in_a_container(&self, work: impl AsyncFnOnce(Lab)) {
        let dir = tempfile::tempdir().unwrap();
        let settings = Settings { socket: dir.path().join("own/broker.sock"), ..self.settings.clone() };
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let (standing, stands) = tokio::sync::oneshot::channel();
        let own = settings.clone();
        // On a separate thread, which enters the namespace and ends there.
        let serving = std::thread::spawn(move || {
            nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).expect("a namespace, as root");
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let broker = Broker::bind(own).unwrap();
                standing.send(()).unwrap();
                broker.run(async move { drop(stopped.await) }).await;
            });
        });
        stands.await.unwrap();
        work(Lab { settings, installation: self.installation.clone(), _dir: dir }).await;
        drop(stop);
        serving.join().unwrap();
    }

    pub async fn ask<T: DeserializeOwned>(&self, request: &Request) -> Result<T, Problem> {
        self.exchange(request).await.map(|(answer, _)| answer)
    }

    pub async fn exchange<T: DeserializeOwned>(
        &self,
        request: &Request,
    ) -> Result<(T, BufReader<UnixStream>), Problem> {
        let mut stream = BufReader::new(UnixStream::connect(&self.settings.socket).await.unwrap());
        let mut line = serde_json::to_vec(request).unwrap();
        line.push(b'\n');
        stream.write_all(&line).await.unwrap();
        let mut answer = String::new();
        stream.read_line(&mut answer).await.unwrap();
        match serde_json::from_str(&answer).unwrap() {
            BrokerAnswer::Ok(value) => Ok((value, stream)),
            BrokerAnswer::Error(problem) => Err(problem),
        }
    }

    pub async fn done(&self, request: Request) {
        self.ask::<()>(&request).await.unwrap_or_else(|problem| panic!("{request:?}: {problem}"));
    }

    pub async fn attach(&self, name: &str) -> Inside {
        let (_, stream) = self.exchange::<()>(&Request::Attach { name: name.into() }).await.unwrap();
        Inside { stream, count: 0 }
    }

    /// A running container with a shell in it.
    pub async fn inside(&self, spec: &ContainerSpec) -> Inside {
        self.done(Request::Create(spec.clone())).await;
        self.done(Request::Start { name: spec.name.clone() }).await;
        self.attach(&spec.name).await
    }

    /// The output of the engine's own client, as an independent check.
    pub fn docker(&self, words: &[&str]) -> String {
        let out = Command::new("docker").args(words).output().unwrap();
        String::from_utf8_lossy(&out.stdout).trim().to_owned()
    }

    pub fn box_name(&self, name: &str) -> String {
        format!("caisson-{}-box-{name}", self.installation)
    }
}

/// A shell that is PID 1 of a container.
pub struct Inside {
    pub stream: BufReader<UnixStream>,
    count: u32,
}

impl Inside {
    /// The output of a command, including stderr.
    pub async fn sh(&mut self, command: &str) -> String {
        self.count += 1;
        let mark = format!("-- end {} --", self.count);
        let text = format!("({command}\n) 2>&1 </dev/null\necho '{mark}'\n");
        self.stream.write_all(text.as_bytes()).await.unwrap();
        let mut said = String::new();
        let read = async {
            loop {
                let mut line = String::new();
                assert_ne!(self.stream.read_line(&mut line).await.unwrap(), 0, "the stream ended after {said:?}");
                if line.trim_end() == mark {
                    return;
                }
                said.push_str(&line);
            }
        };
        tokio::time::timeout(Duration::from_secs(180), read).await.unwrap_or_else(|_| panic!("no end of {command:?}"));
        said.trim().to_owned()
    }

    /// Whether the stream has ended.
    pub async fn ended(&mut self) -> bool {
        let mut rest = Vec::new();
        tokio::time::timeout(Duration::from_secs(120), self.stream.read_to_end(&mut rest)).await.is_ok()
    }
}
