//! Restarts of the engine under a running task, on a real engine.
//!
//! The one test that starts an engine: its own, in namespaces of its own (mounts, network, processes), so that nothing of it is
//! left however it ends. Needs what `docker.rs` needs, and root with `dockerd` and `unshare`; skipped aloud without them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use caisson::sandbox::broker::SocketBroker;
use caisson::sandbox::{CaptureSpec, Captured, PrepareSpec, SandboxError, Sandboxes, Settings};
use domain::{Action, Loss};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use protocol::broker::ContainerLimits;
use protocol::runner::{Limits, Status};

use crate::docker::{IMAGE, in_containers, runner};
use crate::skipped::skipped;
use crate::world::World;

const PATIENCE: Duration = Duration::from_secs(300);
const CONTAINER: &str = "task-1-1";

/// Packs a few programs with the libraries they load.
const FEW: &str = "cd /; for it in sh bash git sed cat ls rm mkdir touch tail sleep mktemp dd true; do echo usr/bin/$it; \
    ldd usr/bin/$it | grep -o '/[^ ]*' | cut -c 2-; done | sort -u | tar c -h -T - bin/sh";

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < end, "not within {} s: {what}", PATIENCE.as_secs());
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|out| out.status.success())
}

/// An engine for one test, with all of its files.
struct Engine {
    dir: tempfile::TempDir,
    /// `unshare`, whose only child is the engine: the first process of its namespace, without which no other is left.
    child: Option<Child>,
}

impl Engine {
    fn new() -> Engine {
        let mut engine = Engine { dir: tempfile::tempdir().expect("a directory"), child: None };
        engine.start();
        engine
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn socket(&self) -> PathBuf {
        self.at("docker.sock")
    }

    fn docker(&self, words: &[&str]) -> Command {
        let mut command = Command::new("docker");
        command.arg("-H").arg(format!("unix://{}", self.socket().display())).args(words);
        command
    }

    fn says(&self, words: &[&str]) -> String {
        let out = self.docker(words).output().expect("docker runs");
        assert!(out.status.success(), "docker {words:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).trim().to_owned()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.at("log")).unwrap_or_default()
    }

    /// With a bridge, as engines have one: in a network of its own no rule and no route of this machine is touched.
    fn start(&mut self) {
        let log = File::options().create(true).append(true).open(self.at("log")).expect("a log");
        // A killed engine leaves these files, whose process ids may be other processes' by now.
        for file in ["pid", "exec/containerd/containerd.pid"] {
            drop(std::fs::remove_file(self.at(file)));
        }
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--", "dockerd"]);
        for (option, name) in [("--data-root", "data"), ("--exec-root", "exec"), ("--pidfile", "pid")] {
            command.arg(option).arg(self.at(name));
        }
        command.arg("-H").arg(format!("unix://{}", self.socket().display()));
        command.args(["--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"]);
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a log")).stderr(log);
        let mut child = command.spawn().expect("unshare runs");
        let end = Instant::now() + PATIENCE;
        while !self.docker(&["version"]).output().is_ok_and(|out| out.status.success()) {
            let ended = child.try_wait().expect("asked").is_some();
            assert!(!ended && Instant::now() < end, "the test's engine does not come up: {}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
        self.child = Some(child);
    }

    /// Signals the engine's own process, then kills what it leaves running.
    fn end(&mut self, signal: Signal) {
        let Some(mut child) = self.child.take() else { return };
        let below = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap_or_default();
        if let Some(engine) = below.split_whitespace().next().and_then(|pid| pid.parse().ok()) {
            let _ = kill(Pid::from_raw(engine), signal);
        }
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end && matches!(child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = child.kill();
        let _ = child.wait();
    }

    /// Loads the part of the machine's image that this test runs: the whole image takes longer than the rest of the test.
    fn load_image(&self) {
        let words = ["run", "--rm", "--network", "none", "--entrypoint", "sh", IMAGE, "-c", FEW];
        let mut few = Command::new("docker").args(words).stdout(Stdio::piped()).spawn().expect("docker runs");
        let image = few.stdout.take().expect("piped");
        let loaded = self.docker(&["import", "-", IMAGE]).stdin(image).output().expect("docker runs");
        assert!(few.wait().expect("ended").success() && loaded.status.success(), "{loaded:?}");
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.end(Signal::SIGTERM);
    }
}

/// Mounts and process groups that the engine left on this machine.
fn left(dir: &Path, containers: &[String]) -> Vec<String> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").expect("readable");
    let dir = dir.display().to_string();
    let mut left: Vec<String> = mounts.lines().filter(|line| line.contains(&dir)).map(str::to_owned).collect();
    let groups = std::fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten().map(|entry| entry.path());
    for group in groups.chain([PathBuf::from("/sys/fs/cgroup")]) {
        let of = |id: &String| group.join("docker").join(id);
        left.extend(containers.iter().map(of).filter(|path| path.exists()).map(|path| path.display().to_string()));
    }
    left
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_engine_is_told_as_such_and_work_goes_on_from_the_last_commit() {
    if runner().is_none() {
        return;
    }
    if !nix::unistd::geteuid().is_root() || !there("dockerd") || !there("unshare") {
        skipped("docker", "an engine of the test's own needs root, dockerd and unshare");
        return;
    }
    let engine = Arc::new(std::sync::Mutex::new(Engine::new()));
    let (dir, socket) = {
        let engine = engine.lock().expect("whole");
        engine.load_image();
        (engine.dir.path().to_owned(), engine.socket())
    };
    let containers = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (ours, made) = (engine.clone(), containers.clone());
    in_containers(
        "restart",
        |settings| settings.engine = socket,
        |world, broker, installation| async move {
            let container = format!("caisson-{installation}-box-{CONTAINER}");
            road(&world, broker, &ours, &container, &made).await;
        },
    )
    .await;
    let engine = engine.lock();
    let mut engine = engine.expect("whole");
    let standing = ["ps -aq", "volume ls -q"].map(|words| engine.says(&words.split(' ').collect::<Vec<_>>()));
    engine.end(Signal::SIGTERM);
    assert_eq!(standing, ["", ""], "left in the engine");
    assert_eq!(left(&dir, &containers.lock().expect("whole")), Vec::<String>::new(), "left on this machine");
}

async fn road(
    world: &World,
    broker: SocketBroker,
    engine: &Arc<std::sync::Mutex<Engine>>,
    container: &str,
    made: &std::sync::Mutex<Vec<String>>,
) {
    let settings = Settings::new(world.dir.path().join("docker"), IMAGE);
    let sandboxes = Sandboxes::new(Arc::new(broker), None, world.repos.clone(), settings, 1).expect("sandboxes");
    let sandboxes = Arc::new(sandboxes);
    let limits = ContainerLimits { memory_bytes: 512 << 20, tmp_bytes: 32 << 20, ..ContainerLimits::default() };
    let mut spec = PrepareSpec { image: IMAGE.to_owned(), network: false, egress: Vec::new(), limits, ..world.spec(1) };
    let act = |id: u64, command: &str| {
        let (sandboxes, action) = (sandboxes.clone(), Action::Bash { command: command.to_owned() });
        async move { sandboxes.actions.act(1, id, &action, Limits { wall_ms: 60_000, output_bytes: 4000 }).await }
    };
    sandboxes.of_tasks.prepare(&spec).await.expect("prepared");
    act(1, "sed -i 's/a - b/a + b/' sum.py").await.expect("acted");
    let capture = CaptureSpec { protected: Vec::new(), ..world.capture_spec(1, 1, &world.base) };
    let captured = sandboxes.captures.capture(&capture).await.expect("captured");
    let Captured::Commit { commit, .. } = captured else { panic!("{captured:?}") };
    sandboxes.of_tasks.open(1).await.expect("open");
    spec.base = commit;
    // A regular stop, and a sudden end as by a power failure.
    for (id, signal) in [(10, Signal::SIGTERM), (20, Signal::SIGKILL)] {
        let before = tokio::task::block_in_place(|| {
            engine.lock().expect("whole").says(&["inspect", "-f", "{{.Id}}", container])
        });
        made.lock().expect("whole").push(before.clone());
        let acting = tokio::spawn(act(id, "touch /tmp/begun; echo lost >uncommitted; sleep 60"));
        tokio::task::block_in_place(|| {
            let mut engine = engine.lock().expect("whole");
            let begun = ["exec", container, "ls", "/tmp/begun"];
            until("the action began", || engine.docker(&begun).output().is_ok_and(|out| out.status.success()));
            engine.end(signal);
        });
        // An engine that is away loses nothing: the same action is asked again.
        let away = acting.await.expect("joined");
        assert!(matches!(&away, Err(SandboxError::Unavailable(_))), "{signal}: {away:?}");
        tokio::task::block_in_place(|| engine.lock().expect("whole").start());
        let lost = act(id, "touch /tmp/begun; echo lost >uncommitted; sleep 60").await;
        assert_eq!(lost.err(), Some(SandboxError::Gone(Loss::EngineRestarted)), "{signal}");
        assert_eq!(sandboxes.of_tasks.open(1).await.err(), Some(SandboxError::Gone(Loss::EngineRestarted)), "{signal}");

        sandboxes.of_tasks.prepare(&spec).await.expect("made anew");
        let seen = act(id + 1, "tail -1 sum.py; ls uncommitted /tmp/begun 2>/dev/null; true").await.expect("acted");
        assert_eq!((seen.outcome.text.as_str(), seen.outcome.status), ("    return a + b\n", Status::Ok), "{signal}");
        let after = tokio::task::block_in_place(|| {
            engine.lock().expect("whole").says(&["inspect", "-f", "{{.Id}}", container])
        });
        assert_ne!(before, after, "{signal}");
        made.lock().expect("whole").push(after);
    }
    sandboxes.of_tasks.remove(1).await.expect("removed");
    sandboxes.leave().await;
}
