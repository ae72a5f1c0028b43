//! Caisson as somebody would run it: `caisson setup`, `repo add`, a broker, `serve`, and at the end nothing of it.

use super::process::{Beside, run};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// `serve` lets work under way end for 20 s.
const DRAIN: Duration = Duration::from_secs(30);
const START: Duration = Duration::from_secs(120);

pub struct Bot {
    program: PathBuf,
    dir: PathBuf,
    environment: Vec<(&'static str, String)>,
    ops: String,
    serve: Option<Beside>,
    broker: Option<Beside>,
}

impl Bot {
    /// `recording` is none where a real model is configured by `CAISSON_MODEL_*`.
    pub fn new(dir: &Path, recording: Option<&Path>) -> Result<Bot> {
        let program = variable("CAISSON_DEMO_PROGRAM").context("start the demo by `make demo`")?;
        let (hooks, ops) = (free_port()?, free_port()?);
        let image = |name: &str, usual: &str| variable(name).unwrap_or_else(|| usual.to_owned());
        let mut environment = vec![
            ("CAISSON_INSTALLATION", variable("CAISSON_DEMO_INSTALLATION").context("start the demo by `make demo`")?),
            ("CAISSON_LISTEN_WEBHOOKS", format!("127.0.0.1:{hooks}")),
            ("CAISSON_LISTEN_OPS", format!("127.0.0.1:{ops}")),
            ("CAISSON_SANDBOX_IMAGE", image("CAISSON_SANDBOX_IMAGE", "caisson-sandbox:local")),
            ("CAISSON_ROUTER_IMAGE", image("CAISSON_ROUTER_IMAGE", "caisson-router:local")),
            ("CAISSON_ROUTER_BERTHS", "2".to_owned()),
            // Another installation on this engine has the default's networks.
            ("CAISSON_ROUTER_POOL", image("CAISSON_ROUTER_POOL", "10.217.0.0/20")),
            ("CAISSON_FORGE_POLL_S", "5".to_owned()),
        ];
        if let Some(recording) = recording {
            environment.push(("CAISSON_MODEL_KIND", "scripted".to_owned()));
            environment.push(("CAISSON_MODEL_SCRIPT", recording.display().to_string()));
        }
        let ops = format!("http://127.0.0.1:{ops}");
        Ok(Bot { program: program.into(), dir: dir.to_owned(), environment, ops, serve: None, broker: None })
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--config").arg(self.config()).args(words);
        command.envs(self.environment.iter().map(|(name, value)| (*name, value.as_str())));
        command
    }

    pub fn config(&self) -> PathBuf {
        self.dir.join("caisson.toml")
    }

    /// How a person calls `caisson` here.
    #[allow(dead_code, reason = "for the demo alone")]
    pub fn shown(&self) -> String {
        format!("{} --config {}", self.program.display(), self.config().display())
    }

    pub fn say(&self, words: &[&str]) -> Result<String> {
        run(&mut self.command(words))
    }

    fn broker_command(&self, more: &[&str]) -> Command {
        let socket = self.dir.join("state/broker.sock");
        let value = |name: &str| self.environment.iter().find(|(known, _)| *known == name).map_or("", |(_, v)| v);
        let mut command = self.command(&["broker", "--socket"]);
        command.arg(socket).args(["--image", value("CAISSON_SANDBOX_IMAGE")]);
        command.args(["--router-image", value("CAISSON_ROUTER_IMAGE")]).args(more);
        command
    }

    /// Broker and bot, until the bot says that it is ready.
    pub async fn serve(&mut self) -> Result<()> {
        let few = Duration::from_secs(60);
        self.broker =
            Some(Beside::start("caisson broker", &mut self.broker_command(&[]), &self.dir.join("broker.log"), few)?);
        let end = Instant::now() + few;
        while !self.dir.join("state/broker.sock").exists() {
            self.alive()?;
            if Instant::now() > end {
                bail!("the broker does not listen within {few:?}");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        self.start()?;
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(5)).build()?;
        let end = Instant::now() + START;
        loop {
            self.alive()?;
            let answer = http.get(format!("{}/readyz", self.ops)).send().await;
            if answer.is_ok_and(|answer| answer.status().is_success()) {
                return Ok(());
            }
            if Instant::now() > end {
                bail!("the bot is not ready within {START:?}:\n{}", self.tail());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Starts `caisson serve` alone, and does not wait for it.
    pub fn start(&mut self) -> Result<()> {
        let log = self.dir.join("serve.log");
        self.serve = Some(Beside::start("caisson serve", &mut self.command(&["serve"]), &log, DRAIN)?);
        Ok(())
    }

    /// Ends `caisson serve` as a power cut does.
    #[allow(dead_code, reason = "for the bench, which kills it often")]
    pub fn kill(&mut self) {
        if let Some(serve) = self.serve.take() {
            serve.kill();
        }
    }

    /// Where the store is.
    #[allow(dead_code, reason = "for the bench, which reads it")]
    pub fn state(&self) -> PathBuf {
        self.dir.join("state")
    }

    /// An error when one of the two has ended.
    pub fn alive(&mut self) -> Result<()> {
        [&mut self.broker, &mut self.serve].into_iter().flatten().try_for_each(Beside::alive)
    }

    pub fn tail(&self) -> String {
        self.serve.as_ref().map(Beside::tail).unwrap_or_default()
    }

    /// The one task, as `caisson task list --json` tells it.
    pub fn task(&self) -> Result<Option<Value>> {
        let said = self.say(&["task", "list", "--json"])?;
        said.lines().next().map(|line| serde_json::from_str(line).context("caisson task list --json")).transpose()
    }

    /// Ends both, and removes what this installation has in the container engine.
    pub fn end(&mut self) -> Result<()> {
        self.serve = None;
        self.broker = None;
        run(&mut self.broker_command(&["--teardown"])).map(|_| ())
    }
}

impl Drop for Bot {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!(
                "what the demo has in the container engine could not be removed: {error:#}\n`make clean-docker` tries again"
            );
        }
    }
}

/// A variable that is there and not empty.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
