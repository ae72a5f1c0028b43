//! The demo's and the bench's installation of Caisson: program and images, from the environment that `make demo` and `make bench` set.

use anyhow::{Context, Result};
use caisson::cli::eval::own::bot::Plan;
pub use caisson::cli::eval::own::{bot::Bot, variable};
use serde_json::Value;
use std::path::Path;

/// `recording` is `None` if `CAISSON_MODEL_*` configures a real model; `more` are variables that replace those set here.
pub fn open(dir: &Path, recording: Option<&Path>, more: Vec<(String, String)>) -> Result<Bot> {
    let image = |name: &str, usual: &str| variable(name).unwrap_or_else(|| usual.to_owned());
    let sandbox = image("CAISSON_SANDBOX_IMAGE", "caisson-sandbox:local");
    let router = image("CAISSON_ROUTER_IMAGE", "caisson-router:local");
    let mut environment = vec![
        ("CAISSON_SANDBOX_IMAGE", sandbox.clone()),
        ("CAISSON_ROUTER_IMAGE", router.clone()),
        ("CAISSON_ROUTER_BERTHS", "2".to_owned()),
        // An installation with the default networks may exist on this engine.
        ("CAISSON_ROUTER_POOL", image("CAISSON_ROUTER_POOL", "10.217.0.0/20")),
        ("CAISSON_FORGE_POLL_S", "5".to_owned()),
    ];
    if let Some(recording) = recording {
        environment.push(("CAISSON_MODEL_KIND", "scripted".to_owned()));
        environment.push(("CAISSON_MODEL_SCRIPT", recording.display().to_string()));
    }
    Bot::new(Plan {
        program: variable("CAISSON_DEMO_PROGRAM").context("start the demo by `make demo`")?.into(),
        installation: variable("CAISSON_DEMO_INSTALLATION").context("start the demo by `make demo`")?,
        dir: dir.to_owned(),
        environment: environment.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(more).collect(),
        without: Vec::new(),
        images: vec![sandbox],
        router_image: router,
        broker: Vec::new(),
    })
}

/// The only task, from `caisson task list --json`.
pub fn task(bot: &Bot) -> Result<Option<Value>> {
    let said = bot.say(&["task", "list", "--json"])?;
    said.lines().next().map(|line| serde_json::from_str(line).context("caisson task list --json")).transpose()
}
