//! A broker without an engine: each container is the real runner as a plain process in a temporary directory.
//!
//! Owns processes and directories, and removes both when it is dropped. It keeps the contract of `Broker` (names, states,
//! what is a conflict, several attached hosts that all hear everything) but none of the isolation: nothing hostile may *run*
//! here. Image names steer it: `missing` does not exist, `no-git` has a PATH without git.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use caisson::sandbox::broker::{Broker, Result, Stream};
use protocol::broker::{
    ContainerInfo, ContainerSpec, ContainerState, End, EngineInfo, ImageInfo, Problem, ProblemKind, Purpose,
    RouterInfo, RouterSpec, VERSION,
};
use protocol::host::Network;
use protocol::runner::Mark;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, WriteHalf};
use tokio::process::{Child, ChildStdin, Command};

#[path = "local_connections.rs"]
mod local_connections;
#[path = "local_faults.rs"]
mod local_faults;
#[path = "local_host.rs"]
mod local_host;
#[path = "old_runner.rs"]
mod old_runner;

use local_faults::Faults;

type Listeners = Arc<tokio::sync::Mutex<Vec<WriteHalf<DuplexStream>>>>;

/// See the module's documentation.
pub struct LocalBroker {
    dir: tempfile::TempDir,
    /// The runtime that the broker was made in: containers outlive the bot's runtime, as an engine's do.
    home: tokio::runtime::Handle,
    containers: Mutex<HashMap<String, Local>>,
    away: AtomicBool,
    /// Calls that failed because the engine was away.
    in_vain: AtomicUsize,
    pub faults: Faults,
    /// Every name that was ever created, in order: tests look at it for leftovers and repeats.
    pub created: Mutex<Vec<String>>,
}

struct Local {
    spec: ContainerSpec,
    dir: PathBuf,
    mirror: Option<PathBuf>,
    boots: u32,
    run: Option<Run>,
    state: ContainerState,
    /// Whether it lists more requests than there may be to every newly attached host.
    lies: bool,
    /// The protocol version that its runner speaks; `None` is the current one.
    version: Option<u32>,
}

struct Run {
    child: Child,
    stdin: Arc<tokio::sync::Mutex<ChildStdin>>,
    listeners: Listeners,
}

impl LocalBroker {
    pub fn new() -> Arc<Self> {
        let dir = tempfile::tempdir().expect("a temporary directory");
        Arc::new(Self {
            dir,
            home: tokio::runtime::Handle::current(),
            containers: Mutex::default(),
            away: AtomicBool::new(false),
            in_vain: AtomicUsize::new(0),
            faults: Faults::default(),
            created: Mutex::default(),
        })
    }

    /// A mirror's directory; nothing keeps the containers that read it from writing here.
    pub fn mirror(&self, name: &str) -> PathBuf {
        self.dir.path().join("mirrors").join(name)
    }

    /// A container's directory of files.
    pub fn workspace(&self, name: &str) -> PathBuf {
        self.dir.path().join(name).join("workspace")
    }

    /// Ends a container without the bot.
    pub fn end(&self, name: &str, end: End) {
        self.containers.lock().unwrap().get_mut(name).expect("it is there").stop(end);
    }

    fn there(&self) -> Result<()> {
        if self.away.load(Ordering::SeqCst) {
            self.in_vain.fetch_add(1, Ordering::SeqCst);
            return Err(Problem::unavailable("the container engine does not answer: start it"));
        }
        Ok(())
    }

    /// Restarts a container without the bot.
    pub fn restart(&self, name: &str) {
        let mut containers = self.containers.lock().unwrap();
        let local = containers.get_mut(name).expect("it is there");
        local.stop(End::Stopped);
        local.start(&self.home).expect("started");
    }

    /// Gives a container a runner of another release, which speaks this version.
    #[allow(dead_code, reason = "for tests/trees.rs alone")]
    pub fn speaks(&self, name: &str, version: u32) {
        self.containers.lock().unwrap().get_mut(name).expect("it is there").version = Some(version);
    }

    /// Puts a container, from its next start on, on a disk that is nearly full.
    #[allow(dead_code, reason = "for tests/trees.rs alone")]
    pub fn fill_disk(&self, name: &str) {
        let mut containers = self.containers.lock().unwrap();
        containers.get_mut(name).expect("it is there").spec.limits.disk_floor_bytes = u64::MAX >> 8;
    }

    /// Makes every call fail as when the engine is away, or ends that.
    pub fn set_away(&self, away: bool) {
        self.away.store(away, Ordering::SeqCst);
    }

    /// Number of calls that have failed because the engine was away.
    #[allow(dead_code, reason = "for tests/stories alone")]
    pub fn in_vain(&self) -> usize {
        self.in_vain.load(Ordering::SeqCst)
    }

    fn with<T>(&self, name: &str, work: impl FnOnce(&mut Local) -> Result<T>) -> Result<T> {
        self.there()?;
        let mut containers = self.containers.lock().unwrap();
        let missing = || Problem::new(ProblemKind::NotFound, format!("no container {name}"));
        work(containers.get_mut(name).ok_or_else(missing)?)
    }
}

/// The runner's binary: the one that `make test` built, otherwise the one beside the test's own directory, built now if it is not there.
pub fn runner() -> PathBuf {
    if let Some(given) = std::env::var_os("CAISSON_RUNNER").map(PathBuf::from).filter(|path| path.is_file()) {
        return given;
    }
    let exe = std::env::current_exe().expect("our own path");
    let target = exe.parent().and_then(Path::parent).expect("target/<profile>/deps");
    let runner = target.join("caisson-runner");
    if !runner.is_file() {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let built = std::process::Command::new(cargo).args(["build", "--quiet", "-p", "caisson-runner"]).status();
        assert!(built.is_ok_and(|status| status.success()), "cargo build -p caisson-runner");
    }
    runner
}

impl Local {
    fn start(&mut self, home: &tokio::runtime::Handle) -> std::io::Result<()> {
        let _entered = home.enter();
        for part in ["workspace", "tmp", "home"] {
            std::fs::create_dir_all(self.dir.join(part))?;
        }
        let mut command = Command::new(runner());
        // The container's path, then this machine's: wrapper programs of this machine do not hide the usual ones.
        let usual = format!("/usr/bin:/bin:{}", std::env::var("PATH").unwrap_or_default());
        let path = if self.spec.image == "no-git" { local_host::poor_path(&self.dir)? } else { usual };
        let workspace = match (&self.mirror, self.spec.purpose) {
            (Some(mirror), Purpose::Mirror) => mirror.clone(),
            _ => self.dir.join("workspace"),
        };
        command.env_clear().env("PATH", path).env("CAISSON_WORKSPACE", &workspace);
        if let Some(mirror) = self.mirror.as_ref().filter(|_| self.spec.purpose != Purpose::Mirror) {
            command.env("CAISSON_MIRROR", mirror);
        }
        let limits = self.spec.limits;
        if limits.workspace_bytes == 0 {
            command.env("CAISSON_DISK", format!("{}:{}", limits.disk_bytes, limits.disk_floor_bytes));
            command.env("CAISSON_DISK_HOME", self.dir.join("home"));
        }
        command.env("HOME", self.dir.join("home")).env("TMPDIR", self.dir.join("tmp"));
        command.envs(self.spec.env.iter().map(|(k, v)| (k, v))).current_dir(workspace);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let (stdin, stdout) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let listeners: Listeners = Arc::default();
        tokio::spawn(spread(stdout, Arc::clone(&listeners)));
        self.run = Some(Run { child, stdin: Arc::new(tokio::sync::Mutex::new(stdin)), listeners });
        (self.boots, self.state) = (self.boots + 1, ContainerState::Running);
        Ok(())
    }

    fn stop(&mut self, end: End) {
        if let Some(mut run) = self.run.take() {
            if let Some(pid) = run.child.id() {
                local_host::kill_tree(pid);
            }
            // Reaped by the runtime; waiting here would need an async function in Drop.
            drop(run.child.start_kill());
        }
        if !matches!(self.state, ContainerState::Created) {
            self.state = ContainerState::Exited { code: 137, end };
        }
    }

    fn signal(&self, signal: &str) {
        if let Some(pid) = self.run.as_ref().and_then(|run| run.child.id()) {
            drop(std::process::Command::new("kill").args([signal, &pid.to_string()]).status());
        }
    }
}

/// Sends the runner's output to every attached host; drops it when there is none.
async fn spread(mut stdout: tokio::process::ChildStdout, listeners: Listeners) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count) = stdout.read(&mut buffer).await {
        if count == 0 {
            break;
        }
        let mut all = listeners.lock().await;
        for at in (0..all.len()).rev() {
            if all[at].write_all(&buffer[..count]).await.is_err() {
                drop(all.remove(at));
            }
        }
    }
    // Attached hosts see the end of the stream, as with an engine.
    for mut listener in listeners.lock().await.drain(..) {
        drop(listener.shutdown().await);
    }
}

impl Drop for LocalBroker {
    fn drop(&mut self) {
        for local in self.containers.lock().unwrap().values_mut() {
            local.stop(End::Stopped);
        }
    }
}

fn conflict(text: &str) -> Problem {
    Problem::new(ProblemKind::Conflict, text)
}

#[async_trait]
impl Broker for LocalBroker {
    async fn hello(&self) -> Result<EngineInfo> {
        self.there()?;
        Ok(EngineInfo {
            version: VERSION,
            installation: "local".to_owned(),
            engine: "plain processes".to_owned(),
            kernel: String::new(),
            cgroup: String::new(),
            daemon: String::new(),
            runner: String::new(),
            runner_file: String::new(),
            runner_mark: Some(Mark::own()),
            seccomp: String::new(),
            images: vec!["local".to_owned()],
            runtime: None,
            gpus: "none".to_owned(),
            plain_workspaces: true,
            warnings: vec!["nothing is sealed here".to_owned()],
        })
    }

    async fn create(&self, spec: &ContainerSpec) -> Result<()> {
        self.there()?;
        if spec.image == "missing" {
            return Err(Problem::new(ProblemKind::NotFound, "the engine does not have the image missing"));
        }
        let mut containers = self.containers.lock().unwrap();
        if let Some(old) = containers.get(&spec.name) {
            return if old.spec == *spec { Ok(()) } else { Err(conflict("exists with another spec")) };
        }
        let mirror = spec.mirror.as_ref().map(|name| self.mirror(name));
        if let Some(mirror) = mirror.as_ref().filter(|path| !path.is_dir()) {
            if spec.purpose != Purpose::Mirror {
                return Err(Problem::new(ProblemKind::NotFound, "there is no such mirror"));
            }
            std::fs::create_dir_all(mirror).map_err(|e| Problem::new(ProblemKind::Engine, e.to_string()))?;
        }
        self.created.lock().unwrap().push(spec.name.clone());
        let dir = self.dir.path().join(&spec.name);
        if let Some(mirror) = mirror.as_ref().filter(|_| spec.layered) {
            local_host::copy(&mirror.join(protocol::broker::TREE), &dir.join("workspace"))?;
        }
        let local = Local {
            spec: spec.clone(),
            dir,
            mirror,
            boots: 0,
            run: None,
            state: ContainerState::Created,
            lies: false,
            version: None,
        };
        containers.insert(spec.name.clone(), local);
        Ok(())
    }

    async fn start(&self, name: &str) -> Result<()> {
        if self.faults.sweeps(name) {
            self.remove(name).await?;
        }
        self.with(name, |local| match local.state {
            ContainerState::Running => Ok(()),
            ContainerState::Paused => Err(conflict("is paused; unpause it instead")),
            _ => local.start(&self.home).map_err(|e| Problem::new(ProblemKind::Engine, e.to_string())),
        })
    }

    async fn attach(&self, name: &str) -> Result<Box<dyn Stream>> {
        let (stdin, listeners) = self.with(name, |local| match (&local.run, local.state) {
            (Some(run), ContainerState::Running) => Ok((Arc::clone(&run.stdin), Arc::clone(&run.listeners))),
            _ => Err(conflict("not running")),
        })?;
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (mut from_host, to_host) = tokio::io::split(theirs);
        listeners.lock().await.push(to_host);
        self.home.spawn(async move {
            let mut buffer = vec![0; 64 << 10];
            while let Ok(count) = from_host.read(&mut buffer).await {
                if count == 0 || stdin.lock().await.write_all(&buffer[..count]).await.is_err() {
                    break;
                }
            }
        });
        Ok(Box::new(match self.with(name, |local| Ok((local.version, local.lies)))? {
            (Some(version), _) => old_runner::as_version(version, ours),
            (None, true) => old_runner::as_liar(ours),
            (None, false) => ours,
        }))
    }

    async fn pause(&self, name: &str) -> Result<()> {
        self.faults.pauses.fetch_add(1, Ordering::SeqCst);
        if self.faults.no_pause.load(Ordering::SeqCst) {
            return Err(Problem::new(ProblemKind::Engine, "the engine does not pause just now"));
        }
        self.with(name, |local| match local.state {
            ContainerState::Paused => Ok(()),
            ContainerState::Running => {
                local.signal("-STOP");
                local.state = ContainerState::Paused;
                Ok(())
            }
            _ => Err(conflict("not running")),
        })
    }

    async fn unpause(&self, name: &str) -> Result<()> {
        self.with(name, |local| {
            if local.state == ContainerState::Paused {
                local.signal("-CONT");
                local.state = ContainerState::Running;
            }
            Ok(())
        })
    }

    async fn stop(&self, name: &str) -> Result<()> {
        self.with(name, |local| {
            local.stop(End::Stopped);
            Ok(())
        })
    }

    async fn remove(&self, name: &str) -> Result<()> {
        self.there()?;
        tokio::time::sleep(Duration::from_millis(self.faults.slow_removal.load(Ordering::SeqCst) as u64)).await;
        // Held to the end, so that a container created meanwhile under this name gets its own files.
        let mut containers = self.containers.lock().unwrap();
        if containers.contains_key(name) && self.faults.keeps() {
            return Err(Problem::new(ProblemKind::Engine, "its files are busy"));
        }
        if let Some(mut local) = containers.remove(name) {
            local.stop(End::Stopped);
            // What it ran is killed with it, a moment later, and may write until then. Whatever has odd permissions in there is
            // the test's; the temporary directory takes the rest.
            for _ in 0..200 {
                if std::fs::remove_dir_all(&local.dir).is_ok() || !local.dir.exists() {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        }
        Ok(())
    }

    async fn inspect(&self, name: &str) -> Result<Option<ContainerInfo>> {
        let all = self.list().await?;
        Ok(all.into_iter().find(|container| container.name == name))
    }

    async fn list(&self) -> Result<Vec<ContainerInfo>> {
        self.there()?;
        let mut containers = self.containers.lock().unwrap();
        let one = |(name, local): (&String, &mut Local)| {
            let ended = local.run.as_mut().is_some_and(|run| run.child.try_wait().is_ok_and(|end| end.is_some()));
            if ended {
                local.stop(End::Itself);
            }
            ContainerInfo {
                name: name.clone(),
                purpose: local.spec.purpose,
                task: local.spec.task,
                state: local.state,
                boot: (local.boots > 0).then(|| local.boots.to_string()),
                address: None,
            }
        };
        let mut all: Vec<ContainerInfo> = containers.iter_mut().map(one).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }

    async fn image(&self, reference: &str) -> Result<Option<ImageInfo>> {
        self.faults.has_image(reference)?;
        // The part of the name after `=` is the image's version.
        let version = reference.split_once('=').map(|(_, version)| version.to_owned());
        Ok((!reference.starts_with("missing")).then(|| ImageInfo { id: "sha256:local".to_owned(), size: 0, version }))
    }

    async fn router_ensure(&self, _spec: &RouterSpec) -> Result<RouterInfo> {
        Err(Problem::new(ProblemKind::Refused, "plain processes have no router"))
    }

    async fn router_attach(&self) -> Result<Box<dyn Stream>> {
        Err(Problem::new(ProblemKind::Refused, "plain processes have no router"))
    }

    async fn router_restart(&self) -> Result<()> {
        Err(Problem::new(ProblemKind::Refused, "plain processes have no router"))
    }

    async fn router_probe(&self, _image: &str, _plan: &str) -> Result<String> {
        Err(Problem::new(ProblemKind::Refused, "plain processes have no router"))
    }

    async fn router_stop(&self) -> Result<()> {
        self.router_restart().await
    }

    async fn host(&self, _image: &str) -> Result<Network> {
        Err(Problem::new(ProblemKind::Refused, "plain processes have no router"))
    }

    async fn host_listen(&self, _image: &str) -> Result<Box<dyn Stream>> {
        Err(Problem::new(ProblemKind::Refused, "plain processes have no router"))
    }

    async fn remove_mirror(&self, name: &str) -> Result<bool> {
        let containers = self.containers.lock().unwrap();
        if containers.values().any(|local| local.spec.mirror.as_deref() == Some(name)) {
            return Ok(false);
        }
        drop(std::fs::remove_dir_all(self.mirror(name)));
        Ok(true)
    }

    async fn reap(&self, keep: &[String], mirrors: &[String]) -> Result<Vec<String>> {
        let names: Vec<String> = self.containers.lock().unwrap().keys().cloned().collect();
        let mut lost: Vec<String> = names.into_iter().filter(|name| !keep.contains(name)).collect();
        for name in &lost {
            self.remove(name).await?;
        }
        for entry in std::fs::read_dir(self.dir.path().join("mirrors")).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if !mirrors.contains(&name) && self.remove_mirror(&name).await? {
                lost.push(name);
            }
        }
        Ok(lost)
    }
}
