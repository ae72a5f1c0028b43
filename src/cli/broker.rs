//! `caisson broker`: the process that holds the container engine's socket, so that `caisson serve` need not.
//!
//! Only reads flags and hands them to `broker`. Tests: below, and `broker/tests/docker/`.

use std::path::PathBuf;

use super::printer::Printer;
use crate::telemetry;
use ::broker::toolchain::profiles;
use ::broker::{Broker, Gpus, Settings, teardown};
use anyhow::{Context, Result};
use clap::{ArgAction, Args};
use protocol::broker::ProblemKind;
use tokio::signal::unix::{SignalKind, signal};

/// Talk to the container engine on behalf of `caisson serve`.
///
/// Whoever holds the engine's socket is root on this machine. So this process alone holds it: it takes typed requests
/// over a socket of its own, makes sealed containers from images you list here, and touches nothing without this
/// installation's label.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  caisson broker --socket /run/caisson/broker.sock --installation home \\\n    \
    --image caisson-sandbox:base --router-image caisson-router:latest --runner /usr/lib/caisson/caisson-runner")]
pub struct BrokerArgs {
    /// Where to listen; its directory must be closed to others (made 0700 when it is not there)
    #[arg(long, env = "CAISSON_BROKER_SOCKET", value_name = "PATH")]
    pub socket: PathBuf,
    /// This installation's id on the engine, part of every name and label (a-z, 0-9, -)
    #[arg(long, env = "CAISSON_INSTALLATION", value_name = "ID")]
    pub installation: String,
    /// An image that containers may be made from; give it once for each (default: those of the toolchain profiles)
    #[arg(long = "image", value_name = "REFERENCE", default_values_t = profiles().map(|it| it.tag()), hide_default_value = true)]
    pub images: Vec<String>,
    /// An image that the router may be made from
    #[arg(long = "router-image", value_name = "REFERENCE", default_value = "caisson-router:latest")]
    pub router_images: Vec<String>,
    /// The static runner that becomes process 1 of each container; otherwise `caisson-runner` beside this program
    #[arg(long, env = "CAISSON_RUNNER", value_name = "PATH")]
    pub runner: Option<PathBuf>,
    /// The engine's socket
    #[arg(long, env = "CAISSON_ENGINE_SOCKET", value_name = "PATH", default_value = "/var/run/docker.sock")]
    pub engine: PathBuf,
    /// Another user who may connect, and who gets the socket (`caisson serve` under a user of its own)
    #[arg(long, value_name = "UID")]
    pub client_uid: Option<u32>,
    /// A runtime of the engine other than its default, such as runsc
    #[arg(long, value_name = "NAME")]
    pub runtime: Option<String>,
    /// Graphics processors for tasks' sandboxes (none, all, or ids such as 0,1): the kernel's driver is then within reach of
    /// what runs there
    #[arg(long, value_name = "WHICH", default_value_t = Gpus::None)]
    pub gpus: Gpus,
    /// Whether workspaces and homes may lie on the engine's disk, where no quota bounds them: a watchdog in the sandbox does
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, default_value_t = true, default_missing_value = "true")]
    pub plain_workspaces: bool,
    /// A part of the special address ranges that the router may reach nevertheless (a lab's documentation network)
    #[arg(long = "public-range", value_name = "CIDR")]
    pub public_ranges: Vec<String>,
    /// No container gets more memory than this, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 16 * 1024)]
    pub max_memory: u64,
    /// End when standard input ends, and then remove the way out and whatever else no task needs: how `caisson serve` starts the
    /// broker that is its own
    #[arg(long)]
    pub beside_serve: bool,
    /// Remove everything of this installation from the engine (containers, router, networks, volumes) and end
    #[arg(long)]
    pub teardown: bool,
}

impl BrokerArgs {
    fn settings(self) -> Result<Settings> {
        let runner = match self.runner {
            Some(path) => path,
            None => beside_this_program("caisson-runner")?,
        };
        let mut settings = Settings::new(self.socket, self.installation, runner);
        settings.engine = self.engine;
        settings.images = self.images;
        settings.router_images = self.router_images;
        settings.client_uid = self.client_uid;
        settings.runtime = self.runtime;
        settings.gpus = self.gpus;
        settings.plain_workspaces = self.plain_workspaces;
        settings.public_ranges = self.public_ranges;
        settings.max_memory_bytes = self.max_memory << 20;
        settings.leaves_nothing = self.beside_serve;
        Ok(settings)
    }
}

/// Serves until SIGTERM or Ctrl-C; containers stay. With `--beside-serve`, until standard input ends; then whatever no task needs is
/// removed. With `--teardown`, removes everything of the installation and prints what was removed.
pub async fn run(args: BrokerArgs) -> Result<()> {
    let (tear_down, beside_serve) = (args.teardown, args.beside_serve);
    let settings = args.settings()?;
    if tear_down {
        let printer = Printer::terminal();
        for name in teardown(settings).await? {
            printer.say(&format!("removed {name}"));
        }
        return Ok(());
    }
    telemetry::start()?;
    let socket = settings.socket.clone();
    let broker = Broker::bind(settings)?;
    match broker.check().await {
        Err(problem) if problem.kind == ProblemKind::Unavailable => {
            tracing::warn!(%problem, "whether the engine has the runtime and the GPUs is not known yet");
        }
        checked => checked?,
    }
    let mut term = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?;
    tracing::info!(socket = %socket.display(), "the broker listens");
    broker
        .run(async move {
            tokio::select! {
                _ = term.recv() => {}
                _ = interrupt.recv() => {}
                () = input_ends(), if beside_serve => {}
            }
        })
        .await;
    Ok(())
}

/// Returns when standard input ends, as it does however the other process ends. Read on a separate thread, which nothing waits for.
async fn input_ends() {
    let (ended, end) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        let _ = ended.send(());
    });
    let _ = end.await;
}

fn beside_this_program(name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe().context("this program does not know where it lies; give --runner")?;
    Ok(own.with_file_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, FromArgMatches};

    fn parsed(words: &[&str]) -> BrokerArgs {
        let command = BrokerArgs::augment_args(Command::new("broker").no_binary_name(true));
        BrokerArgs::from_arg_matches(&command.try_get_matches_from(words).unwrap()).unwrap()
    }

    #[test]
    fn images_are_what_is_listed_and_the_profiles_otherwise() {
        let few = ["--socket", "/run/x/b.sock", "--installation", "home"];
        let own = parsed(&few).settings().unwrap().images;
        assert!(own.len() == profiles().count() && own[0] == "caisson-sandbox:base", "{own:?}");
        let more = [&few[..], &["--image", "a:1", "--image", "b:2"]].concat();
        assert_eq!(parsed(&more).settings().unwrap().images, ["a:1", "b:2"]);
    }

    #[test]
    fn workspaces_may_lie_on_disk_unless_that_is_refused() {
        let allowed = |more: &[&str]| {
            let words = [&["--socket", "/run/x/b.sock", "--installation", "home"], more].concat();
            parsed(&words).settings().unwrap().plain_workspaces
        };
        assert!(allowed(&[]) && allowed(&["--plain-workspaces"]) && !allowed(&["--plain-workspaces=false"]));
    }

    #[test]
    fn the_runner_lies_beside_this_program_unless_named() {
        let settings = parsed(&["--socket", "/run/x/b.sock", "--installation", "home"]).settings().unwrap();
        assert!(settings.runner.ends_with("caisson-runner") && settings.runner.is_absolute());
    }
}
