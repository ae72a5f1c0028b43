//! On one machine nobody has to start the broker by hand: where none listens, `serve` starts one beside itself.
//!
//! It is a process of its own all the same: this one never opens the engine's socket. It stays when `serve` ends, for what it holds
//! are containers that outlive both; the next `serve` finds it.

use super::printer::Complaint;
use crate::config::Process;
use crate::sandbox::broker::{Broker, SocketBroker};
use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use protocol::broker::EngineInfo;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

const TRIES: u32 = 100;
const AFTER_ITS_END: u32 = 5;
const WAIT: Duration = Duration::from_millis(100);

/// Makes sure that a broker answers on the configured socket.
pub(super) async fn ensure(config: &Process, broker: &dyn Broker) -> Result<()> {
    if broker.hello().await.is_ok() {
        return Ok(());
    }
    let log = config.state_dir.join("broker.log");
    let mut stays = start(config, &config.broker.socket, &log)?;
    answer(broker, &mut stays, &log).await.map(|_| ())
}

/// Waits until the broker that was just started answers; one that has ended never will.
async fn answer(broker: &dyn Broker, child: &mut Child, log: &Path) -> Result<EngineInfo> {
    let (mut last, mut tries, mut end) = (String::new(), TRIES, None);
    while tries > 0 {
        match broker.hello().await {
            Ok(info) => return Ok(info),
            Err(error) => last = error.to_string(),
        }
        if end.is_none() {
            end = child.try_wait().context("the broker could not be waited for")?;
            // It may have found another one, which is about to answer.
            tries = if end.is_some() { tries.min(AFTER_ITS_END) } else { tries };
        }
        tries -= 1;
        tokio::time::sleep(WAIT).await;
    }
    let attempt = format!("read {}, or start `caisson broker` by hand and see what it says", log.display());
    let what = match end {
        Some(end) => format!("the broker was started and ended with {end}"),
        None => "the broker was started and does not answer".to_owned(),
    };
    Err(Complaint::new(what).because(last).attempt(attempt).into())
}

fn start(config: &Process, socket: &Path, log: &Path) -> Result<Child> {
    // A group of its own: Ctrl-C in this terminal is not meant for it.
    command(config, socket, log)?.process_group(0).spawn().context("the broker could not be started")
}

fn command(config: &Process, socket: &Path, log: &Path) -> Result<Command> {
    let own = std::env::current_exe().context("this program does not know where it lies")?;
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(log)?;
    let mut command = Command::new(own);
    command.arg("broker").arg("--socket").arg(socket).args(["--installation", &config.installation]);
    for image in config.sandbox.all_images() {
        command.args(["--image", &image]);
    }
    command.args(["--router-image", &config.router.image]);
    if !config.broker.runtime.is_empty() {
        command.args(["--runtime", &config.broker.runtime]);
    }
    command.args(["--gpus", &config.broker.gpus]);
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    Ok(command)
}

/// A broker for one look: on a socket of its own, gone with this value. What it finds of the installation stays as it is.
pub(super) struct Lent {
    pub broker: Arc<SocketBroker>,
    pub info: EngineInfo,
    child: Option<Started>,
    dir: TempDir,
}

struct Started(Child);

impl Lent {
    pub async fn start(config: &Process) -> Result<Lent> {
        let dir = tempfile::tempdir().context("no temporary directory can be made")?;
        // Its directory is made by the broker, closed to others.
        let socket = dir.path().join("own/broker.sock");
        let mut child = Started(start(config, &socket, &dir.path().join("broker.log"))?);
        let broker = Arc::new(SocketBroker::new(&socket));
        let info = match answer(broker.as_ref(), &mut child.0, &dir.path().join("broker.log")).await {
            Ok(info) => info,
            // The log goes with the directory: its end is what helps.
            Err(error) => {
                let log = std::fs::read_to_string(dir.path().join("broker.log")).unwrap_or_default();
                return Err(error.context(log.lines().last().unwrap_or("it wrote nothing").to_owned()));
            }
        };
        Ok(Lent { broker, info, child: Some(child), dir })
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
        let attempt = format!("docker ps -a --filter label=caisson.installation={}", config.installation);
        Err(Complaint::new("what was made could not be removed").because(said.trim()).attempt(attempt).into())
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let pid = Pid::from_raw(self.0.id() as i32);
        let _ = kill(pid, Signal::SIGTERM);
        for _ in 0..50 {
            if matches!(self.0.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_broker_that_refused_to_start_is_not_taken_for_a_slow_one() {
        let dir = tempfile::tempdir().expect("a directory");
        let broker = SocketBroker::new(dir.path().join("none.sock"));
        let mut refused = Command::new("false").spawn().expect("started");
        let error = answer(&broker, &mut refused, &dir.path().join("broker.log")).await.expect_err("nobody answers");
        assert!(error.to_string().contains("ended with exit status: 1"), "{error:#}");
    }
}
