//! The environment of a run: a forge, an installation and a person of its own, with the model of the operator's configuration.
//!
//! Owns what is taken from that configuration (model, sandbox, budget, the router's image) and what never is: names, directories, ports,
//! networks, tokens, allowed hosts. A running installation is not touched. Everything is removed when it is dropped.

use super::drive::TryEnvironment;
use super::own::bot::{Bot, Plan};
use super::own::forge::{HUMAN, Named, OwnForge};
use super::own::person::Person;
use super::own::variable;
use crate::cli::broker_child::most_memory_mib;
use crate::cli::setup::ORGANISATION;
use crate::config::Process;
use crate::config::write::{carry_over, set};
use crate::forge::RepoRef;
use crate::git::{Auth, RemoteUrl};
use anyhow::{Context, Result};
use std::path::Path;

/// Networks outside of the default pools of a running installation and the demo; concurrent runs have different ones.
fn pool() -> String {
    format!("10.219.{}.0/24", std::process::id() % 256)
}

/// Variables about models, sandboxes and the paths of programs; all others of ours are about the operator's installation and are not passed
/// on.
const TAKEN: [&str; 8] = [
    "CAISSON_MODEL_",
    "CAISSON_SANDBOX_",
    "CAISSON_BUDGET_",
    "CAISSON_LOG",
    "CAISSON_ROUTER_IMAGE",
    "CAISSON_ROUTER_UPSTREAM",
    "CAISSON_RUNNER",
    "CAISSON_ENGINE_SOCKET",
];

pub struct Environment {
    bot: Bot,
    forge: OwnForge,
    serving: bool,
}

impl Environment {
    /// Starts a forge and creates an installation, without repositories and without starting the bot.
    pub async fn lay(process: &Process, installation: &str, dir: &Path, named: Option<&Named>) -> Result<Environment> {
        let forge = match named {
            Some(named) => OwnForge::named(named).await?,
            None => OwnForge::start(&dir.join("forge")).await?,
        };
        let home = dir.join("bot");
        std::fs::create_dir(&home)?;
        let bot = Bot::new(plan(process, installation, &home)?)?;
        let (url, admin) = (forge.url.as_str(), forge.admin.display().to_string());
        bot.say(&["setup", "--forge-url", url, "--admin-token-file", &admin])?;
        let file = bot.config();
        carry_over(
            &process.file,
            &file,
            &["model", "commands", "prices", "sandbox", "budget"],
            &["key_file", "script", "file"],
        )?;
        set(&file, "max_tasks", 1)?;
        set(&file, "router.image", process.router.image.as_str())?;
        set(&file, "router.upstream", process.router.upstream.as_str())?;
        set(&file, "router.pool", variable("CAISSON_ROUTER_POOL").unwrap_or_else(pool))?;
        set(&file, "router.subnets", 2)?;
        set(&file, "forge.poll_s", 15)?;
        Ok(Environment { bot, forge, serving: false })
    }

    /// Puts a repository on the forge. Must precede `serve`, which reads the configuration once.
    pub fn add(&self, source: &Path, name: &str) -> Result<()> {
        self.bot
            .say(&["repo", "add", &source.display().to_string(), "--name", name, "--writer", HUMAN, "--no-try"])
            .map(drop)
    }

    /// Starts the bot, again if it has ended.
    pub async fn serve(&mut self) -> Result<()> {
        self.forge.alive()?;
        if self.serving && self.bot.alive().is_ok() {
            return Ok(());
        }
        self.serving = true;
        self.bot.serve().await
    }

    /// The environment of the tries at one repository, whose name is also its key.
    pub fn place<'a>(&'a mut self, person: &'a Person, name: &'a str) -> TryEnvironment<'a> {
        TryEnvironment { bot: &mut self.bot, person, repo: RepoRef::new(ORGANISATION, name), key: name }
    }

    pub fn person(&self, name: &str) -> Result<Person> {
        Person::new(&self.forge.url, &RepoRef::new(ORGANISATION, name), self.forge.token.clone())
    }

    /// Address and credential with which the person reads a repository.
    pub fn remote(&self, name: &str) -> Result<(RemoteUrl, Auth)> {
        let url = format!("{}/{ORGANISATION}/{name}.git", self.forge.url.as_str().trim_end_matches('/'));
        Ok((RemoteUrl::parse(&url)?, Auth::basic(HUMAN, self.forge.token.expose())))
    }
}

fn plan(process: &Process, installation: &str, home: &Path) -> Result<Plan> {
    let ours = std::env::vars().map(|(name, _)| name).filter(|name| name.starts_with("CAISSON_"));
    let without = ours.filter(|name| !TAKEN.iter().any(|taken| name.starts_with(taken))).collect();
    // Relative to the operator's file, so it must be made absolute.
    let worker = process.models.worker();
    let paths = [("CAISSON_MODEL_KEY_FILE", &worker.key_file), ("CAISSON_MODEL_SCRIPT", &worker.script)];
    let named = paths.into_iter().filter(|(name, _)| variable(name).is_some());
    let environment = named.filter_map(|(name, path)| Some((name.to_owned(), path.as_ref()?.display().to_string())));
    let mut broker = vec![
        "--gpus".to_owned(),
        process.broker.gpus.clone(),
        format!("--plain-workspaces={}", process.broker.plain_workspaces),
        format!("--max-memory={}", most_memory_mib(process)),
    ];
    if !process.broker.runtime.is_empty() {
        broker.extend(["--runtime".to_owned(), process.broker.runtime.clone()]);
    }
    Ok(Plan {
        program: std::env::current_exe().context("this program does not know where it lies")?,
        installation: installation.to_owned(),
        dir: home.to_owned(),
        environment: environment.collect(),
        without,
        images: process.sandbox.all_images(),
        router_image: process.router.image.clone(),
        broker,
    })
}
