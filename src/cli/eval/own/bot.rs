//! Caisson as a user runs it: `caisson setup`, `repo add`, a broker and `serve`; everything is removed at the end.

use super::process::{BackgroundProgram, run};
use crate::cli::printer::Printer;
use anyhow::{Result, bail};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// `serve` takes up to 20 s to drain.
const DRAIN: Duration = Duration::from_secs(30);
const START: Duration = Duration::from_secs(120);

/// The parameters of an installation.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The program `caisson`.
    pub program: PathBuf,
    /// Its name in the container engine.
    pub installation: String,
    /// Directory of configuration and state.
    pub dir: PathBuf,
    /// Variables that its programs get in addition to ours.
    pub environment: Vec<(String, String)>,
    /// Variables of ours that its programs do not get.
    pub without: Vec<String>,
    /// Images for sandboxes, and the router's.
    pub images: Vec<String>,
    /// Reference of the router's image.
    pub router_image: String,
    /// Further flags of its broker.
    pub broker: Vec<String>,
}

/// An installation with a broker and `caisson serve` as child processes.
pub struct Bot {
    plan: Plan,
    ops: String,
    serve: Option<BackgroundProgram>,
    broker: Option<BackgroundProgram>,
    ended: bool,
}

impl Bot {
    /// Chooses two free loopback ports for the bot's listeners; nothing is started yet.
    ///
    /// # Errors
    /// When no port can be opened.
    pub fn new(mut plan: Plan) -> Result<Bot> {
        let (hooks, ops) = (free_port()?, free_port()?);
        let own = [
            ("CAISSON_INSTALLATION", plan.installation.clone()),
            ("CAISSON_LISTEN_WEBHOOKS", format!("127.0.0.1:{hooks}")),
            ("CAISSON_LISTEN_OPS", format!("127.0.0.1:{ops}")),
        ];
        plan.environment.extend(own.map(|(name, value)| (name.to_owned(), value)));
        Ok(Bot { plan, ops: format!("http://127.0.0.1:{ops}"), serve: None, broker: None, ended: true })
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.plan.program);
        command.arg("--config").arg(self.config()).args(words);
        self.plan.without.iter().for_each(|name| {
            command.env_remove(name);
        });
        command.envs(self.plan.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Path of its configuration file.
    pub fn config(&self) -> PathBuf {
        self.plan.dir.join("caisson.toml")
    }

    /// The call of `caisson` for this installation, as shown to people.
    pub fn shown(&self) -> String {
        format!("{} --config {}", self.plan.program.display(), self.config().display())
    }

    /// Runs a subcommand of `caisson` on this installation, and returns its stdout.
    ///
    /// # Errors
    /// When it cannot be started or fails, with its output.
    pub fn say(&self, words: &[&str]) -> Result<String> {
        run(&mut self.command(words))
    }

    fn broker_command(&self, more: &[&str]) -> Command {
        let socket = self.plan.dir.join("state/broker.sock");
        let mut command = self.command(&["broker", "--socket"]);
        command.arg(socket);
        self.plan.images.iter().for_each(|image| {
            command.args(["--image", image]);
        });
        command.args(["--router-image", &self.plan.router_image]).args(&self.plan.broker).args(more);
        command
    }

    /// Starts broker and bot, and waits until the bot is ready.
    pub async fn serve(&mut self) -> Result<()> {
        let few = Duration::from_secs(60);
        self.ended = false;
        // An earlier broker uses the same socket, so it must end first.
        (self.serve, self.broker) = (None, None);
        let log = self.plan.dir.join("broker.log");
        self.broker = Some(BackgroundProgram::start("caisson broker", &mut self.broker_command(&[]), &log, few)?);
        let end = Instant::now() + few;
        while !self.plan.dir.join("state/broker.sock").exists() {
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

    /// Starts only `caisson serve`, without waiting for it.
    pub fn start(&mut self) -> Result<()> {
        let log = self.plan.dir.join("serve.log");
        self.serve = Some(BackgroundProgram::start("caisson serve", &mut self.command(&["serve"]), &log, DRAIN)?);
        Ok(())
    }

    /// Process id of `caisson serve`; none where it was not started.
    pub fn process(&self) -> Option<u32> {
        self.serve.as_ref().map(BackgroundProgram::id)
    }

    /// Kills `caisson serve` without a shutdown.
    pub fn kill(&mut self) {
        if let Some(serve) = self.serve.take() {
            serve.kill();
        }
    }

    /// Where the store is.
    pub fn state(&self) -> PathBuf {
        self.plan.dir.join("state")
    }

    /// An error if one of the two has ended.
    pub fn alive(&mut self) -> Result<()> {
        [&mut self.broker, &mut self.serve].into_iter().flatten().try_for_each(BackgroundProgram::alive)
    }

    /// The last 25 lines of the log of `caisson serve`; empty if it was not started.
    pub fn tail(&self) -> String {
        self.serve.as_ref().map(BackgroundProgram::tail).unwrap_or_default()
    }

    /// Ends both, and removes everything of this installation from the container engine.
    pub fn end(&mut self) -> Result<()> {
        self.serve = None;
        self.broker = None;
        if std::mem::replace(&mut self.ended, true) {
            return Ok(());
        }
        run(&mut self.broker_command(&["--teardown"])).map(|_| ())
    }
}

impl Drop for Bot {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            let what = format!(
                "what {} has in the container engine could not be removed: {error:#}\n`make clean-docker` tries again",
                self.plan.installation
            );
            Printer::terminal().warn(&what);
        }
    }
}

/// A free loopback port.
pub fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// The path of a program in the same directory as this one, if it exists.
pub fn beside(name: &str) -> Result<Option<PathBuf>> {
    let own = std::env::current_exe()?;
    Ok(own.parent().map(|folder: &Path| folder.join(name)).filter(|path| path.is_file()))
}
