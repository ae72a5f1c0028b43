//! `serve` starts a broker as a child process if none is listening (and `broker.start` is not false), so that on one machine nobody has to start it by hand.
//!
//! It is still a process of its own, so that this one never opens the engine's socket. It ends with the process that started it, however
//! that ends, because its standard input then ends. What a task needs (its sandbox and its way out) outlives both, and the next `serve`
//! continues with it. A broker that somebody else started is used and not ended. Tests: below, and `tests/serve.rs`.

use super::printer::Complaint;
use crate::config::Process;
use crate::sandbox::broker::{Broker, SocketBroker};
use anyhow::{Context, Result};
use protocol::broker::{EngineInfo, Problem};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const TRIES: u32 = 100;
const AFTER_ITS_END: u32 = 5;
/// Size of the log at which a new broker begins another one, in bytes.
const LONGEST_LOG: u64 = 16 << 20;
/// The most memory of a container in MiB, unless the configuration asks for more in one.
const USUAL_MEMORY_MIB: u64 = 16 << 10;
const WAIT: Duration = Duration::from_millis(100);
/// What to do where a broker that is started elsewhere does not answer.
pub(super) const ELSEWHERE: &str = "start it where it is to run and read what it says (in compose: `docker compose up -d \
                                    broker`, `docker compose logs broker`), or set broker.start = true";

/// How long the broker may take to greet: where the container engine hangs it never does.
pub(super) const GREETS_WITHIN: Duration = Duration::from_secs(60);

/// Shutdown takes as long as the requests under way (20 s at most) and the removals.
const END: Duration = Duration::from_secs(45);

/// Makes sure that a broker answers on the configured socket; returns the one that had to be started, if any.
///
/// # Errors
/// Where none answers; with `broker.start = false` none is started.
pub(super) async fn ensure(config: &Process, broker: &dyn Broker) -> Result<Option<Started>> {
    ensure_within(config, broker, TRIES).await
}

async fn ensure_within(config: &Process, broker: &dyn Broker, tries: u32) -> Result<Option<Started>> {
    let socket = &config.broker.socket;
    if !config.broker.start {
        return others(config, broker, tries).await.map(|()| None);
    }
    let until = Instant::now() + GREETS_WITHIN;
    for _ in 0..AFTER_ITS_END {
        if let Ok(info) = greeting(broker, until).await {
            return suits(config, &info).map(|()| None);
        }
        // The child of an earlier `serve` may be about to end; it closes the connection when it does.
        if !::broker::is_served(socket) {
            break;
        }
        tokio::time::sleep(WAIT).await;
    }
    let log = config.state_dir.join("broker.log");
    set_aside(&log, LONGEST_LOG)?;
    let mut child = start(config, socket, &log)?;
    own_answer(config, broker, &mut child.0, &log).await?;
    Ok(Some(child))
}

/// Whether a broker that is started elsewhere answers and suits; one of the bot's own is started with it.
///
/// # Errors
/// Why the next start of the bot would fail.
pub(super) async fn answers_elsewhere(config: &Process) -> Result<()> {
    match config.broker.start {
        true => Ok(()),
        false => others(config, &SocketBroker::new(&config.broker.socket), AFTER_ITS_END).await,
    }
}

/// Waits until the broker answers that is started elsewhere.
async fn others(config: &Process, broker: &dyn Broker, tries: u32) -> Result<()> {
    let (mut last, until) = (String::new(), Instant::now() + GREETS_WITHIN);
    for _ in 0..tries {
        match greeting(broker, until).await {
            Ok(info) => return suits(config, &info),
            Err(error) => last = error.to_string(),
        }
        tokio::time::sleep(WAIT).await;
    }
    let socket = config.broker.socket.display();
    let what = format!("no broker answers on {socket}, and `serve` starts none (broker.start = false)");
    Err(Complaint::new(what).because(last).hint(ELSEWHERE).into())
}

/// The broker's greeting, if it comes until then.
pub(super) async fn greeting(broker: &dyn Broker, until: Instant) -> Result<EngineInfo, Problem> {
    let silent = |_| {
        Problem::unavailable("the broker did not answer in time; the engine may hang: does `docker version` answer?")
    };
    tokio::time::timeout_at(until.into(), broker.hello()).await.map_err(silent)?
}

/// Renames a log that has grown long to `<name>.old`, replacing the one before.
fn set_aside(log: &Path, longest: u64) -> Result<()> {
    if std::fs::metadata(log).is_ok_and(|found| found.len() >= longest) {
        let old = log.with_extension("log.old");
        std::fs::rename(log, &old).with_context(|| format!("cannot rename {}", log.display()))?;
    }
    Ok(())
}

/// Checks that a broker that somebody else started accepts sandboxes of this configuration. One of another installation is refused, because
/// that one's sandboxes belong to no task of this store and would be removed.
fn suits(config: &Process, info: &EngineInfo) -> Result<()> {
    is_own(config, info)?;
    if config.sandbox.workspace_mib > 0 || info.plain_workspaces {
        return Ok(());
    }
    let hint = "start it anew without `--plain-workspaces=false`, or set sandbox.workspace_mib above 0";
    let what =
        "the broker that runs allows no workspace on the engine's disk, and sandbox.workspace_mib = 0 asks for one";
    Err(Complaint::new(what).hint(hint).into())
}

fn is_own(config: &Process, info: &EngineInfo) -> Result<()> {
    let (socket, own) = (config.broker.socket.display(), &config.installation);
    if info.installation == *own {
        return Ok(());
    }
    let what = format!("the broker on {socket} is that of the installation {}, not of {own}", info.installation);
    let hint =
        format!("give each installation its own broker.socket, or start that broker with `--installation {own}`");
    Err(Complaint::new(what).hint(hint).into())
}

/// As [`answer`]. Where two start at the same moment, the broker of another installation may have taken the socket meanwhile.
async fn own_answer(config: &Process, broker: &dyn Broker, child: &mut Child, log: &Path) -> Result<()> {
    is_own(config, &answer(broker, child, log).await?)
}

/// Waits until the broker that was just started answers, or has ended.
async fn answer(broker: &dyn Broker, child: &mut Child, log: &Path) -> Result<EngineInfo> {
    answer_until(broker, child, log, Instant::now() + GREETS_WITHIN).await
}

async fn answer_until(broker: &dyn Broker, child: &mut Child, log: &Path, until: Instant) -> Result<EngineInfo> {
    let (mut last, mut tries, mut end) = (String::new(), TRIES, None);
    while tries > 0 {
        match greeting(broker, until).await {
            Ok(info) => return Ok(info),
            Err(error) => last = error.to_string(),
        }
        if end.is_none() {
            end = child.try_wait().context("the broker could not be waited for")?;
            // It may have ended because another one is about to answer.
            tries = if end.is_some() { tries.min(AFTER_ITS_END) } else { tries };
        }
        tries = if Instant::now() < until { tries - 1 } else { 0 };
        tokio::time::sleep(WAIT).await;
    }
    let hint = format!("read {}, or start `caisson broker` by hand and see what it says", log.display());
    let what = match end {
        Some(end) => format!("the broker was started and ended with {end}"),
        None => "the broker was started and does not answer".to_owned(),
    };
    Err(Complaint::new(what).because(last).hint(hint).into())
}

fn start(config: &Process, socket: &Path, log: &Path) -> Result<Started> {
    let mut command = command(config, socket, log)?;
    // In a process group of its own, so that Ctrl-C in this terminal does not reach it.
    command.arg("--beside-serve").stdin(Stdio::piped()).process_group(0);
    command.spawn().map(Started).context("the broker could not be started")
}

fn command(config: &Process, socket: &Path, log: &Path) -> Result<Command> {
    let own = std::env::current_exe().context("this program does not know where it lies")?;
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(log)?;
    let mut command = Command::new(own);
    command.arg("broker").arg("--socket").arg(socket).args(["--installation", &config.installation]);
    for image in config.sandbox_images() {
        command.args(["--image", &image]);
    }
    command.args(["--router-image", &config.router.image]);
    if !config.broker.runtime.is_empty() {
        command.args(["--runtime", &config.broker.runtime]);
    }
    command.args(["--gpus", &config.broker.gpus]);
    command.arg(format!("--plain-workspaces={}", config.broker.plain_workspaces));
    command.args(["--max-memory", &most_memory_mib(config).to_string()]);
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    // The broker has nothing to do with the store.
    command.env_remove("PGPASSWORD");
    Ok(command)
}

/// The most memory of a container: the broker makes none that has more.
pub(super) fn most_memory_mib(config: &Process) -> u64 {
    let asked = config.sandboxes().flat_map(|it| [it.memory_mib, it.tmp_mib, it.workspace_mib]);
    asked.max().unwrap_or_default().max(USUAL_MEMORY_MIB)
}

/// A broker for one command, on a socket of its own; ends when dropped. It leaves what it finds of the installation as it is.
pub(super) struct TemporaryBroker {
    pub broker: Arc<SocketBroker>,
    pub info: EngineInfo,
    child: Option<Started>,
    dir: TempDir,
}

/// A broker started by this process; ends when dropped.
pub(super) struct Started(Child);

impl TemporaryBroker {
    pub async fn start(config: &Process) -> Result<TemporaryBroker> {
        let dir = tempfile::tempdir().context("no temporary directory can be made")?;
        // The broker creates the directory, which must be closed to others.
        let socket = dir.path().join("own/broker.sock");
        let mut child = start(config, &socket, &dir.path().join("broker.log"))?;
        let broker = Arc::new(SocketBroker::new(&socket));
        let info = match answer(broker.as_ref(), &mut child.0, &dir.path().join("broker.log")).await {
            Ok(info) => info,
            // The log is removed with the directory, so the error quotes its end.
            Err(error) => {
                let log = std::fs::read_to_string(dir.path().join("broker.log")).unwrap_or_default();
                let last = log.lines().last().unwrap_or("it wrote nothing").to_owned();
                return Err(Complaint::from(&error).because(last).into());
            }
        };
        Ok(TemporaryBroker { broker, info, child: Some(child), dir })
    }

    /// Ends the broker, then removes everything of its installation from the engine.
    pub fn tear_down(&mut self, config: &Process) -> Result<()> {
        self.child = None;
        let log = self.dir.path().join("teardown.log");
        let mut command = command(config, &self.dir.path().join("own/broker.sock"), &log)?;
        let status = command.arg("--teardown").status().context("the broker could not be started")?;
        if status.success() {
            return Ok(());
        }
        let said = std::fs::read_to_string(log).unwrap_or_default();
        let hint = format!("docker ps -a --filter label=caisson.installation={}", config.installation);
        Err(Complaint::new("what was made could not be removed").because(said.trim()).hint(hint).into())
    }
}

impl Started {
    /// Closes its input and waits for its end. If this is cancelled, it still ends.
    pub async fn end(&mut self) {
        drop(self.0.stdin.take());
        let until = tokio::time::Instant::now() + END;
        while !self.is_over() && tokio::time::Instant::now() < until {
            tokio::time::sleep(WAIT).await;
        }
        let _ = self.0.kill();
    }

    /// Does not wait for its end.
    pub fn let_go(mut self) {
        drop(self.0.stdin.take());
        std::mem::forget(self);
    }

    fn is_over(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(Some(_)) | Err(_))
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let until = Instant::now() + END;
        while !self.is_over() {
            if Instant::now() > until {
                let _ = self.0.kill();
                let _ = self.0.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::broker::BrokerAnswer;
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    use tokio::net::UnixListener;

    #[tokio::test]
    async fn a_broker_that_refused_to_start_is_not_taken_for_a_slow_one() {
        let dir = tempfile::tempdir().expect("a directory");
        let broker = SocketBroker::new(dir.path().join("none.sock"));
        let mut refused = Command::new("false").spawn().expect("started");
        let error = answer(&broker, &mut refused, &dir.path().join("broker.log")).await.expect_err("nobody answers");
        assert!(error.to_string().contains("ended with exit status: 1"), "{error:#}");
    }

    /// As where the container engine hangs.
    #[tokio::test]
    async fn a_broker_that_never_greets_is_not_waited_for_for_ever() {
        let dir = tempfile::tempdir().expect("a directory");
        let (socket, log) = (dir.path().join("broker.sock"), dir.path().join("broker.log"));
        let _silent = UnixListener::bind(&socket).expect("bound");
        let (broker, mut child) = (SocketBroker::new(&socket), reader());
        let answered = answer_until(&broker, &mut child.0, &log, Instant::now());
        let answered = tokio::time::timeout(Duration::from_secs(60), answered).await.expect("it comes to an end");
        let error = Complaint::from(&answered.expect_err("no greeting"));
        assert!(error.what.contains("does not answer") && error.why[0].contains("engine may hang"), "{error:?}");
    }

    #[tokio::test]
    async fn where_the_broker_is_started_elsewhere_none_is_started() {
        let dir = tempfile::tempdir().expect("a directory");
        let text = "installation = \"home\"\nstate_dir = \"state\"\n";
        let variable = |name: &str| (name == "CAISSON_BROKER_START").then(|| "false".to_owned());
        let config = Process::from_layers(&dir.path().join("caisson.toml"), text, &variable).expect("usable");
        let broker = SocketBroker::new(&config.broker.socket);
        let Err(error) = ensure_within(&config, &broker, 1).await else { panic!("nobody answers") };
        assert!(error.to_string().contains("`serve` starts none"), "{error:#}");
        let error = answers_elsewhere(&config).await.expect_err("nor does the next start find one");
        assert!(error.to_string().contains("`serve` starts none"), "{error:#}");
        assert!(!config.state_dir.exists(), "nothing was begun");
        answers_elsewhere(&home()).await.expect("its own is started");
    }

    #[test]
    fn a_long_log_is_set_aside_and_of_those_before_one_is_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        let (log, old) = (dir.path().join("broker.log"), dir.path().join("broker.log.old"));
        set_aside(&log, 3).expect("there is none yet");
        std::fs::write(&log, "ab").expect("written");
        set_aside(&log, 3).expect("a short one stays");
        assert!(log.exists() && !old.exists());
        for text in ["one", "two"] {
            std::fs::write(&log, text).expect("written");
            set_aside(&log, 3).expect("set aside");
        }
        assert!(!log.exists() && std::fs::read_to_string(&old).expect("kept") == "two");
    }

    #[test]
    fn the_broker_makes_the_largest_container_that_is_configured() {
        let dir = tempfile::tempdir().expect("a directory");
        let most = |text: &str| {
            let config = Process::from_layers(Path::new("x"), text, &|_| None).expect("usable");
            let command = command(&config, &dir.path().join("broker.sock"), &dir.path().join("broker.log"));
            let command = command.expect("a command");
            let mut words = command.get_args().map(|word| word.to_string_lossy().into_owned());
            words.find(|word| word == "--max-memory").expect("it is told");
            words.next().expect("how much")
        };
        assert_eq!(most(""), "16384");
        assert_eq!(most("[sandbox]\nmemory_mib = 32768\n"), "32768");
        let own = "[[repositories]]\nkey = \"big\"\n[repositories.sandbox]\nmemory_mib = 65536\n";
        assert_eq!(most(own), "65536");
    }

    /// Stands in for a broker: ends when its input does.
    fn reader() -> Started {
        let command = &mut Command::new("cat");
        Started(command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("started"))
    }

    fn lives(pid: u32) -> bool {
        Path::new(&format!("/proc/{pid}")).exists()
    }

    fn home() -> Process {
        Process::from_layers(Path::new("x"), "installation = \"home\"\n", &|_| None).expect("usable")
    }

    /// What the broker of this installation says of itself.
    fn info(installation: &str) -> serde_json::Value {
        serde_json::json!({
            "version": 1, "installation": installation, "engine": "", "kernel": "", "cgroup": "2", "daemon": "",
            "runner": "", "seccomp": "", "images": [], "plain_workspaces": true, "warnings": [],
        })
    }

    #[test]
    fn a_broker_of_another_installation_is_not_used() {
        let suited =
            |installation: &str| suits(&home(), &serde_json::from_value(info(installation)).expect("an answer"));
        assert!(suited("home").is_ok());
        let error = suited("work").expect_err("refused");
        assert!(error.to_string().contains("that of the installation work, not of home"), "{error:#}");
    }

    /// Two that start at the same moment, whose sockets are one: of their brokers the second ends, and the first answers to both.
    #[tokio::test]
    async fn nor_is_one_that_answers_in_place_of_the_broker_that_was_started() {
        let dir = tempfile::tempdir().expect("a directory");
        let (socket, log) = (dir.path().join("broker.sock"), dir.path().join("broker.log"));
        let listener = UnixListener::bind(&socket).expect("bound");
        let line = serde_json::to_string(&BrokerAnswer::Ok(info("work"))).expect("an answer");
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.expect("asked");
            let mut stream = BufReader::new(stream);
            stream.read_line(&mut String::new()).await.expect("a request");
            stream.write_all(format!("{line}\n").as_bytes()).await.expect("answered");
        });
        let mut refused = Command::new("false").spawn().expect("started");
        let error = own_answer(&home(), &SocketBroker::new(&socket), &mut refused, &log).await.expect_err("refused");
        assert!(error.to_string().contains("that of the installation work, not of home"), "{error:#}");
        refused.wait().expect("ended");
    }

    #[test]
    fn a_panic_ends_the_broker_too() {
        let child = reader();
        let pid = child.0.id();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _child = child;
            panic!("in start-up");
        }));
        assert!(panicked.is_err() && !lives(pid));
    }

    #[tokio::test]
    async fn an_end_waits_for_the_broker() {
        let mut child = reader();
        let pid = child.0.id();
        child.end().await;
        assert!(!lives(pid));
    }
}
