//! One file for each subcommand.

mod approved;
mod barrier;
pub mod broker;
mod broker_child;
mod config;
mod cost;
mod dashboard;
mod deps;
mod doctor;
mod entries;
pub mod eval;
pub mod fetch;
mod image;
mod interruption;
mod lock;
mod model;
mod order;
mod order_machine;
mod outside;
mod own_command;
mod pager;
pub mod printer;
mod reload;
mod repo;
mod running;
mod serve;
mod setup;
pub mod store;
mod task;
mod task_cost;
mod task_export;
mod task_log;
mod test_delivery;

use crate::config::Process;
use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// A coding-agent bot that lives beside your forge: it works in a sealed container, stops after every five actions and
/// goes on only when somebody who may write to the repository says so.
#[derive(Debug, Parser)]
#[command(name = "caisson", version, after_help = AFTER, disable_help_subcommand = true)]
pub struct Cli {
    /// The configuration file; without it `caisson/caisson.toml` in the user's own configuration folder (~/.config).
    #[arg(long, global = true, env = "CAISSON_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

const AFTER: &str = "\
First steps on your own forge:
  caisson setup --forge-url http://localhost:3000 --admin-token-file admin.token
  caisson repo add https://github.com/you/project.git
  caisson doctor      says what is missing; [model] in caisson.toml is yours to fill in
  caisson serve
Then open an issue that says `/fix`, and answer the reviews. `caisson fetch <clone> <branch>` brings the work home.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Prepare a forge: accounts, tokens, organisation, first configuration.
    Setup(setup::Setup),
    /// Bring a repository to the forge, look at them, check them.
    #[command(subcommand)]
    Repo(repo::RepoCommand),
    /// Run the bot: take hooks, work on tasks.
    Serve(serve::Serve),
    /// Check every part, and say what to do for each fault.
    Doctor(doctor::Doctor),
    /// Prove on this machine that a sandbox holds.
    Barrier(barrier::BarrierArgs),
    /// Hold the container engine's socket for the bot: the only process that talks to the engine.
    Broker(broker::BrokerArgs),
    /// Build, list and prune the images of the toolchain profiles.
    #[command(subcommand)]
    Image(image::ImageCommand),
    /// Look at the configured models, try one out.
    #[command(subcommand)]
    Model(model::ModelCommand),
    /// Check the configuration; print every key there is.
    Config(config::Config),
    /// Check the commands that a repository adds to those of the bot.
    #[command(name = "command", subcommand)]
    Own(own_command::CommandCommand),
    /// Bring an approved branch home into your clone, checked.
    Fetch(fetch::FetchArgs),
    /// Solve tasks through the whole product, judged by tests that the bot never saw.
    Eval(eval::EvalArgs),
    /// Bring the store to another place, or see who shares it.
    #[command(subcommand)]
    Store(store::StoreCommand),
    /// What model calls cost: by day, repository, model or task.
    Cost(cost::CostCommand),
    /// Keep the newest versions of what repositories depend on, for `/deps`.
    #[command(subcommand)]
    Deps(deps::DepsCommand),
    /// Look at tasks in a browser, as they work: a code for the page of the running bot.
    Dashboard,
    /// Look at tasks; stop one or let it go on.
    #[command(subcommand)]
    Task(task::TaskCommand),
}

impl Cli {
    /// The path of the configuration: `--config`, `$CAISSON_CONFIG`, or the user's own folder.
    fn config(&self) -> PathBuf {
        self.config.clone().unwrap_or_else(|| {
            let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
            // By the XDG Base Directory Specification, an empty or relative path counts as not set.
            let named = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
            named.unwrap_or_else(|| home.join(".config")).join("caisson/caisson.toml")
        })
    }

    /// Runs the subcommand.
    ///
    /// # Errors
    /// A [`printer::Complaint`], or an error that becomes one.
    pub async fn run(self) -> anyhow::Result<()> {
        let config = self.config();
        match self.command {
            Command::Setup(setup) => setup.run(&config).await,
            Command::Repo(repo) => repo.run(&config).await,
            Command::Serve(serve) => serve.run(&config).await,
            Command::Doctor(doctor) => doctor.run(&config).await,
            Command::Barrier(args) => args.run(&config).await,
            Command::Broker(args) => broker::run(args).await,
            Command::Image(image) => image.run(&config).await,
            Command::Model(model) => model.run(&config).await,
            Command::Config(args) => args.run(&config),
            Command::Own(command) => command.run(&config),
            Command::Fetch(args) => {
                let source = approved::StoreSource::open(Process::load(&config)?).await?;
                args.run(&source).await
            }
            Command::Eval(args) => args.run(&config).await,
            Command::Store(store) => store.run(&config).await,
            Command::Cost(args) => args.run(&config).await,
            Command::Deps(deps) => deps.run(&config).await,
            Command::Dashboard => dashboard::run(&config).await,
            Command::Task(task) => task.run(&config).await,
        }
    }
}
